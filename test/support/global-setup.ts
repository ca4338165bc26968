/** What all test files share: `node --test --test-global-setup=test/support/global-setup.ts …`. */
import { emptyPgliteImage } from './pglite-image.ts'
import { sharePostgres } from './postgres.ts'

const [postgres] = await Promise.all([sharePostgres(), emptyPgliteImage()])
if (postgres.leftOut) console.log(postgres.leftOut)

export const globalTeardown = postgres.stop
