/**
 * Test files that run one after the other in one process. A process of its own costs each of them four
 * seconds of a processor before its first test: the program's modules, and an embedded PostgreSQL that is
 * compiled as it is used. What a file leaves open is closed before the next one begins.
 */
import { mkdir, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, mock, test } from 'node:test'
import { endFile } from './end-of-file.ts'
import { filesFor, type TestProgram } from './programs.ts'
import { followPromises } from './runner-hook.ts'

/** A file takes seconds, on the busiest machine a few minutes: after this time it hangs, and the run says which. */
const hangMs = 15 * 60_000

/** Every file that none of the other programs of this run has taken. */
export const runTogether = (name: TestProgram): void => {
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, endOfAll)
  // One test around all: without one that goes on, the runner takes the end of a file for that of the process.
  test(name, async (program) => {
    for (const file of filesFor(name)) {
      if (!(await takes(file))) continue
      followPromises(true)
      await program.test(file, { timeout: hangMs }, async () => {
        try {
          await import(new URL(`../../${file}`, import.meta.url).href)
        } finally {
          // After what the file does itself when its tests are through.
          after(endFile)
          after(() => mock.reset())
          followPromises(false)
        }
      })
    }
  })
}

/** The first that makes a mark in the folder of this run has the file. */
const takes = async (file: string): Promise<boolean> => {
  const folder = join(tmpdir(), 'taken')
  await mkdir(folder, { recursive: true })
  try {
    await (await open(join(folder, file.replaceAll('/', '.')), 'wx')).close()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** What no test awaits may keep one waiting for ever, and which one cannot be told while nobody follows promises. */
const endOfAll = (error: unknown): void => {
  console.error('Thrown where no test awaits it:', error)
  process.exit(1)
}
