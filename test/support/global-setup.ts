import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, chooseRoot } from './folders.ts'
import { pgliteImage } from './pglite-image.ts'
import { sharePostgres } from './postgres.ts'

/** What all test files share: `node --test --test-global-setup=test/support/global-setup.ts …`. */

// A test that is killed removes nothing; what it leaves goes with the run.
const temporary = await mkdtemp(join(await chooseRoot(), 'pinfold-tests-'))
process.env.TMPDIR = temporary

// Every test file and every program that one starts reads the same sources: they are compiled once.
process.env.NODE_COMPILE_CACHE = await cacheFolder('compiled')

// Programs that are killed leave nothing compiled: this one ends by itself, of a port that is none.
const compile = async (): Promise<void> => {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const env = { ...process.env, PORT: 'none' }
  await once(spawn(process.execPath, [main], { env, stdio: 'ignore' }), 'exit')
}

const [postgres] = await Promise.all([sharePostgres(), pgliteImage('migrated'), compile()])
if (postgres.leftOut) console.log(postgres.leftOut)

export const globalTeardown = async (): Promise<void> => {
  await postgres.stop()
  await rm(temporary, { recursive: true, force: true, maxRetries: 10 })
}
