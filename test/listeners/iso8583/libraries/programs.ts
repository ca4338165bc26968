import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Layout } from '../../../../src/listeners/iso8583/codec/layout.ts'
import type { Profile } from '../../../../src/listeners/iso8583/profile-schema.ts'
import { cacheFolder } from '../../../support/folders.ts'
import type { WalkStep, WalkValue } from './walk.ts'

/** Programs that walk a link, each on a library that is not ours. Both read and write this JSON. */

export type WalkDocument = {
  address: string
  /** Where fields are as they are: the layout, or the library's own table of ISO 8583:1987. */
  table: 'layout' | 'library'
  layout: Layout
  framing: Profile['framing']
  tags: Record<string, string[]>
  steps: readonly WalkStep[]
}

export type WalkAnswer = {
  name: string
  /** What stood between the length and the message, in hexadecimal. */
  header: string
  mti: string
  fields: Record<string, WalkValue>
  bytes: string
}

export type Library = {
  name: string
  leftOut: string | false
  /** Whether it comes with a table that has every field of the walk. */
  hasOwnTable: boolean
  /** Makes the program ready. */
  open: () => Promise<(document: WalkDocument) => Promise<readonly WalkAnswer[]>>
}

const run = promisify(execFile)

const leftOutWithout = (variable: string, name: string): string | false =>
  process.env[variable] ? false : `${variable} names no checkout of ${name}.`

const folderOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Runs a program of a walk, which waits 30 seconds for an answer and no longer. */
const walkBy = async (
  document: WalkDocument,
  command: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly WalkAnswer[]> => {
  const options = { env: { ...process.env, ...env }, timeout: 120_000 }
  const running = run(command, words, options)
  running.child.stdin?.end(JSON.stringify(document))
  const { stdout } = await running
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/**
 * Lays checkouts out by their import paths, so that they are compiled as they are and nothing is
 * downloaded: the library, then the modules that it imports. Debian's packages serve beside them.
 */
const makeGoPath = async (checkouts: readonly string[]): Promise<string> => {
  const goPath = await cacheFolder('libraries')
  await rm(join(goPath, 'src'), { recursive: true, force: true })
  for (const checkout of checkouts) {
    const text = await readFile(join(checkout, 'go.mod'), 'utf8')
    const [, name = ''] = /^module\s+(\S+)/m.exec(text) ?? []
    const path = join(goPath, 'src', name)
    await mkdir(dirname(path), { recursive: true })
    await symlink(resolve(checkout), path)
  }
  return goPath
}

const moov: Library = {
  name: 'moov-io/iso8583',
  leftOut: leftOutWithout('MOOV_ISO8583', 'moov-io/iso8583'),
  hasOwnTable: false,
  async open() {
    const checkouts = (process.env.MOOV_ISO8583 ?? '').split(delimiter)
    const goPath = await makeGoPath(checkouts)
    const program = join(goPath, 'walk')
    const env = {
      ...process.env,
      GO111MODULE: 'off',
      GOFLAGS: '',
      GOPATH: [goPath, '/usr/share/gocode'].join(delimiter),
    }
    await run('go', ['build', '-o', program, '.'], {
      cwd: folderOf('moov'),
      env,
      timeout: 300_000,
    })
    return (document) => walkBy(document, program, [])
  },
}

const pyiso8583: Library = {
  name: 'pyiso8583',
  leftOut: leftOutWithout('PYISO8583', 'knovichikhin/pyiso8583'),
  hasOwnTable: true,
  async open() {
    const env = { PYTHONPATH: process.env.PYISO8583 ?? '', PYTHONDONTWRITEBYTECODE: '1' }
    return (document) => walkBy(document, 'python3', [folderOf('pyiso8583/walk.py')], env)
  },
}

export const libraries: readonly Library[] = [moov, pyiso8583]
