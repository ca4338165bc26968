import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { forgetUsedOnce } from '../../src/service/background.ts'
import { rememberPinEnvelope } from '../../src/storage/cards/changes.ts'
import { rememberAssertion } from '../../src/storage/clients/assertions.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

let service: TestService
before(async () => {
  service = await openTestService()
})

const now = new Date('2020-01-01T00:00:00Z')
const minutesAgo = (minutes: number): Date => new Date(now.getTime() - minutes * 60_000)

/** What is remembered for a test that expired by then. */
const remembered = async (table: string) => {
  const rows = await sql<{ expiresAt: Date }>(
    service.database,
    `select expires_at as "expiresAt" from ${table} where expires_at < '2020-01-02'`,
  )
  return rows.map(({ expiresAt }) => new Date(expiresAt).getTime())
}

test('what was taken once is forgotten in one turn however much there is, and not while a clock that is behind would take it', async () => {
  const { publicToken } = await service.createCard()
  const ends = [...Array.from({ length: 230 }, () => minutesAgo(6)), minutesAgo(4)]
  for (const [index, expiresAt] of ends.entries()) {
    const jtiHash = createHash('sha256').update(String(index)).digest()
    await rememberAssertion(service.database, { clientId: 'old', jtiHash, expiresAt })
    await rememberPinEnvelope(service.database, { publicToken, jtiHash, expiresAt })
  }
  await forgetUsedOnce(service.database, now)
  const kept = [minutesAgo(4).getTime()]
  assert.deepEqual(await remembered('client_assertion'), kept)
  assert.deepEqual(await remembered('pin_envelope'), kept)
})
