import { suite } from 'node:test'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openEmbedded,
  openServerDatabase,
  openTestService,
  pgliteLeftOut,
  pool,
  type TestService,
} from '../../support/service.ts'

/** The two engines that every guarantee about tries is proven on, each with two services. */

export type Services = {
  /** Both on one database, as two processes would be. */
  services: readonly [TestService, TestService]
  /** The first of them. */
  service: TestService
  database: Database
}

type OpenOptions = {
  env?: Readonly<Record<string, string>>
  poolSize?: number
}

export type Engine = {
  name: 'PGlite' | 'PostgreSQL' | 'Citus'
  skip: string | false
  open: (options?: OpenOptions) => Promise<Services>
  /** One service alone, for what does not race. */
  openOne: (env?: OpenOptions['env']) => Promise<TestService>
}

const postgres = await openPostgres()

const unlimited = { RATE_LIMIT: 'off' }

const openTwo = async (
  databases: readonly [Database, Database],
  env: OpenOptions['env'],
): Promise<Services> => {
  const given = { env: { ...unlimited, ...env } }
  const first = await openTestService({ ...given, database: databases[0] })
  const second = await openTestService({
    ...given,
    database: databases[1],
    dataDir: first.dataDir,
  })
  return { services: [first, second], service: first, database: databases[0] }
}

const engines: readonly Engine[] = [
  {
    name: 'PGlite',
    skip: pgliteLeftOut,
    open: async ({ env } = {}) => {
      const database = await openEmbedded()
      return openTwo([database, database], env)
    },
    openOne: async (env) => openTestService({ env: { ...unlimited, ...env } }),
  },
  {
    name: postgres.isCluster ? 'Citus' : 'PostgreSQL',
    skip: postgres.leftOut,
    open: async ({ env, poolSize = 10 } = {}) => {
      const { database, url } = await openServerDatabase(postgres, poolSize)
      return openTwo([database, pool(url, poolSize)], env)
    },
    openOne: async (env) => {
      const { database } = await openServerDatabase(postgres)
      return openTestService({ database, env: { ...unlimited, ...env } })
    },
  },
]

/** Declares the same tests once on each engine. */
export const onEachEngine = (declare: (engine: Engine) => void): void => {
  for (const engine of engines) {
    suite(`on ${engine.name}`, { skip: engine.skip }, () => declare(engine))
  }
}
