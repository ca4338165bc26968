import { openPostgres } from './postgres.ts'
import { openServerDatabase, openTestDatabase } from './service.ts'

const postgres = await openPostgres()

/** A migrated database on each engine, for what is to hold on both: `suite(name, { skip }, …)`. */
export const databaseEngines = [
  { name: 'PGlite', skip: false, open: openTestDatabase },
  {
    name: 'PostgreSQL',
    skip: postgres.leftOut,
    open: async () => (await openServerDatabase(postgres)).database,
  },
] as const
