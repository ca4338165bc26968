import type { Connection } from '../../src/storage/engine/database.ts'
import { sql } from './service.ts'

/**
 * The clock of a test's own database, which goes when the test says so: what is reckoned with it is
 * exact, however long the machine takes.
 *
 * ```ts
 * const database = await openEmbedded()
 * const clock = await ownClock(database)
 * await clock.pass(59 * 60)
 * ```
 */

export type DatabaseClock = {
  now: () => Date
  /** Lets so many seconds pass. */
  pass: (seconds: number) => Promise<void>
}

/**
 * Stops the clock of an embedded database at the instant that it is. A function of the name that
 * statements call is found before the engine's own.
 */
export const ownClock = async (database: Connection): Promise<DatabaseClock> => {
  const [now] = await sql<{ ms: number }>(
    database,
    'select (extract(epoch from now()) * 1000)::float8 as ms',
  )
  let ms = Math.floor(now?.ms ?? 0)
  const set = () => sql(database, `select set_config('test.now', $1, false)`, [`${ms}`])
  await set()
  await database.script(`
    create schema test_clock;
    create function test_clock.clock_timestamp() returns timestamptz volatile language sql
      as $$ select to_timestamp(current_setting('test.now')::numeric / 1000) $$;
    set search_path = test_clock, pg_catalog, public`)
  return {
    now: () => new Date(ms),
    pass: async (seconds) => {
      ms += seconds * 1_000
      await set()
    },
  }
}
