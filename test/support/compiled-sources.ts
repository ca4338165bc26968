import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { access, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from './folders.ts'
import { freePorts } from './free-ports.ts'
import { pgliteImage } from './pglite-image.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * How Node starts a program that lives for seconds: the embedded PostgreSQL is compiled once, quickly, and not a
 * second time to run faster. It spares a third of what a start costs.
 */
export const shortLived = ['--liftoff-only'] as const

/** What Node keeps is for one set of flags alone: that of the tests, and that of the programs that they start. */
const waysOfStarting = [[], shortLived] as const

/**
 * The folder where Node keeps what it compiled (`NODE_COMPILE_CACHE`). It keeps of a module what was compiled when the
 * first process with it ended, and never adds to it: that has to be one that did all that a start does, and a fourth of
 * every later one is spared.
 *
 * @param scratch a folder for the data of programs, which goes.
 */
export const compiledSources = async (scratch: string): Promise<string> => {
  const folder = await cacheFolder('compiled')
  const done = join(folder, `${await versionOfSources()}.done`)
  const isDone = await access(done).then(
    () => true,
    () => false,
  )
  if (isDone) return folder
  const image = await pgliteImage('migrated')
  const starts = waysOfStarting.map(async (flags, at) => {
    const dataDir = join(scratch, `compiling-${at}`)
    await cp(image, join(dataDir, 'pgdata'), { recursive: true })
    return startAndStop(flags, dataDir, folder)
  })
  const areReady = await Promise.all(starts)
  if (areReady.every((isReady) => isReady)) await writeFile(done, '')
  return folder
}

/** On a machine with much other work. */
const startMs = 60_000

/** @returns whether it became ready. Where it does not start the tests say why, and are slower. */
const startAndStop = async (
  flags: readonly string[],
  dataDir: string,
  cache: string,
): Promise<boolean> => {
  const [port, privatePort] = await freePorts()
  const program = spawn(process.execPath, [...flags, join(root, 'src/main.ts')], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: startMs,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: cache,
      DATA_DIR: dataDir,
      PORT: String(port),
      PRIVATE_PORT: String(privatePort),
      LINK_PORT: '0',
    },
  })
  let printed = ''
  for await (const text of program.stdout) {
    printed += text
    if (printed.includes('Pinfold is ready')) program.kill('SIGTERM')
  }
  return printed.includes('Pinfold is ready')
}

const versionOfSources = async (): Promise<string> => {
  const hash = createHash('sha256').update(process.version)
  for (const path of globSync('{src,packages,examples,web}/**/*.ts', { cwd: root }).sort()) {
    hash.update(path).update(await readFile(join(root, path)))
  }
  return hash.digest('hex').slice(0, 16)
}
