import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { compiledSources } from './compiled-sources.ts'
import { chooseRoot } from './folders.ts'
import { pgliteImage } from './pglite-image.ts'
import { sharePostgres } from './postgres.ts'

/** What all test files share: `node --test --test-global-setup=test/support/global-setup.ts …`. */

// A test that is killed removes nothing; what it leaves goes with the run.
const temporary = await mkdtemp(join(await chooseRoot(), 'pinfold-tests-'))
process.env.TMPDIR = temporary

const [postgres, compiled] = await Promise.all([
  sharePostgres(),
  compiledSources(temporary),
  // Or every program that wants one would make its own.
  pgliteImage('migrated'),
])
process.env.NODE_COMPILE_CACHE = compiled
if (postgres.leftOut) console.log(postgres.leftOut)

export const globalTeardown = async (): Promise<void> => {
  await postgres.stop()
  await rm(temporary, { recursive: true, force: true, maxRetries: 10 })
}
