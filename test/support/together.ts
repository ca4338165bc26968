/**
 * Test files that run one after the other in one process. A process of its own costs each of them four
 * seconds of a processor before its first test: the program's modules, and an embedded PostgreSQL that is
 * compiled as it is used. What a file leaves open is closed before the next one begins.
 */
import { after, mock, test } from 'node:test'
import { endFile } from './end-of-file.ts'
import { filesOf, type Together } from './programs.ts'
import { followingPromises } from './runner-hook.ts'

export const runTogether = (name: Together): void => {
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, endOfAll)
  for (const file of filesOf(name)) {
    test(file, () =>
      followingPromises(async () => {
        try {
          await import(new URL(`../../${file}`, import.meta.url).href)
        } finally {
          // After what the file does itself when its tests are through.
          after(endFile)
          after(() => mock.reset())
        }
      }),
    )
  }
}

/** What no test awaits may keep one waiting for ever, and which one cannot be told while nobody follows promises. */
const endOfAll = (error: unknown): void => {
  console.error('Thrown where no test awaits it:', error)
  process.exit(1)
}
