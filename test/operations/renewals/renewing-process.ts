import { doRenewals } from '../../../src/operations/renewals/jobs.ts'
import { openPostgres } from '../../../src/storage/engine/postgres.ts'

/**
 * Does the renewals of a database until none is left, on the day that it is told: the process that
 * jobs.test.ts kills.
 */
const [connectionString = '', now = ''] = process.argv.slice(2)
const database = openPostgres({ connectionString, poolSize: 8, onIdleError: () => undefined })
await doRenewals({ database, now: () => new Date(now) })
await database.close()
