import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder, chooseRoot } from './folders.ts'
import { pgliteImage } from './pglite-image.ts'
import { sharePostgres } from './postgres.ts'

/** What all test files share: `node --test --test-global-setup=test/support/global-setup.ts …`. */

// A test that is killed removes nothing; what it leaves goes with the run.
const temporary = await mkdtemp(join(await chooseRoot(), 'pinfold-tests-'))
process.env.TMPDIR = temporary
process.env.NODE_COMPILE_CACHE = await cacheFolder('compiled')

// Without the image here, every test file that wants one would make its own.
const [postgres] = await Promise.all([sharePostgres(), pgliteImage('migrated')])

export const globalTeardown = async (): Promise<void> => {
  await postgres.stop()
  await rm(temporary, { recursive: true, force: true, maxRetries: 10 })
}
