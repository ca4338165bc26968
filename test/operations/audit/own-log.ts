import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestService,
  type TestService,
  type TestServiceOptions,
} from '../../support/service.ts'

const postgres = await openPostgres()

/**
 * A service with an audit log that no other test has written in: a database of a server where there is one, which
 * is fresh for a tenth of what an embedded one costs. What differs between the two is proven on both elsewhere.
 */
export const openOwnLog = async (env?: TestServiceOptions['env']): Promise<TestService> => {
  if (postgres.leftOut) return openTestService({ ...(env && { env }) })
  const { database } = await openServerDatabase(postgres, 4)
  return openTestService({ database, ...(env && { env }) })
}
