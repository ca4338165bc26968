import assert from 'node:assert/strict'
import childProcess from 'node:child_process'
import { createHash } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { before, mock, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import {
  expireOneTimeRecords,
  keyMakingJob,
  startBackground,
  startJobs,
} from '../../src/service/background.ts'
import { rememberAssertion } from '../../src/storage/clients/assertions.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { expireCard, useTries } from '../support/builders.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

/** Of each part of the sweep, something that a program which was lost has left to it. */
const leaveBehind = async (database: Database, tried: string, expired: string): Promise<void> => {
  await useTries(database, tried, 'pin')
  await expireCard(database, expired)
  await sql(
    database,
    `insert into pin_envelope (public_token, jti_hash, expires_at)
     values ($1, decode(repeat('00', 32), 'hex'), '2020-01-01')`,
    [tried],
  )
}

const cardsOf = async (service: TestService, type: string): Promise<string[]> => {
  const { json } = await service.call('GET', `/events?types=${type}`)
  return json.map(({ data }: { data: { publicToken: string } }) => data.publicToken)
}

test('a service that starts finishes the background work of a lost one', {
  timeout: 240_000,
}, async () => {
  const lost = await openTestService()
  const { database, dataDir } = lost
  const { publicToken: tried } = await lost.createCard()
  const { publicToken: expired } = await lost.createCard()
  await leaveBehind(database, tried, expired)
  await lost.close()

  const next = await openTestService({ database, dataDir })
  const settings = { audit: { retentionDays: 400, erasureLeastDays: 7 }, tlsRefreshMs: 1_000 }
  const { stop } = startBackground(next, database, settings, pino({ level: 'silent' }))
  for (const [type, publicToken] of [
    ['card.status_changed', expired],
    ['pin.blocked', tried],
  ] as const) {
    while (!(await cardsOf(next, type)).includes(publicToken)) await wait(20)
    assert.deepEqual(await cardsOf(next, type), [publicToken], type)
  }
  // Stopping waits for the turn that runs.
  await stop()
  assert.deepEqual(await sql(database, 'select public_token from pin_envelope'), [])
})

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

test('records of one-time values are deleted in one turn, and not before they expire', async () => {
  const { publicToken } = await service.createCard()
  const ends = [...Array.from({ length: 230 }, () => minutesAgo(6)), minutesAgo(4)]
  for (const [index, expiresAt] of ends.entries()) {
    const jtiHash = createHash('sha256').update(String(index)).digest()
    await rememberAssertion(service.database, { clientId: 'old', jtiHash, expiresAt })
    await sql(
      service.database,
      'insert into pin_envelope (public_token, jti_hash, expires_at) values ($1, $2, $3)',
      [publicToken, jtiHash, expiresAt],
    )
  }
  await expireOneTimeRecords(service.database, now)
  const kept = [minutesAgo(4).getTime()]
  assert.deepEqual(await remembered('client_assertion'), kept)
  assert.deepEqual(await remembered('pin_envelope'), kept)
})

/** Nothing until they are there. */
const publishedKeys = async (service: TestService): Promise<object[]> => {
  const { json, status } = await service.call('GET', '//.well-known/jwks.json', { token: null })
  return status === 200 ? json.keys : []
}

test('of processes that start for the first time at once, one draws the RSA keys, and all have them', async () => {
  const first = await openTestService()
  const { database, dataDir } = first
  const services = [first, await openTestService({ database, dataDir })]
  const spawn = mock.method(childProcess, 'spawn')
  syncBuiltinESMExports()
  const log = pino({ level: 'silent' })
  const making = services.map(({ issuing: { hsm } }) =>
    startJobs([keyMakingJob(database, hsm)], log),
  )
  for (const service of services) {
    while ((await publishedKeys(service)).length === 0) await wait(100)
  }
  await Promise.all(making.map(({ stop }) => stop()))
  const drawn = spawn.mock.calls.filter((call) =>
    String(call.arguments[1]).endsWith('rsa-key-process.ts'),
  )
  spawn.mock.restore()
  syncBuiltinESMExports()
  assert.equal(drawn.length, 2)
  const [keys, others] = await Promise.all(services.map(publishedKeys))
  assert.equal(keys?.length, 4)
  assert.deepEqual(keys, others)
})
