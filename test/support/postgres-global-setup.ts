/** One PostgreSQL server for all test files: `node --test --test-global-setup=<this file>`. */
import { sharePostgres } from './postgres.ts'

const postgres = await sharePostgres()
if (postgres.leftOut) console.log(postgres.leftOut)

export const globalTeardown = postgres.stop
