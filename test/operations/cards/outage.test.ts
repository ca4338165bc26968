import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import pg from 'pg'
import { Pin } from '../../../src/domain/pin.ts'
import { Problem } from '../../../src/domain/problem.ts'
import { Secret } from '../../../src/domain/secret.ts'
import type { Hsm } from '../../../src/hsm/contract/hsm.ts'
import type { CardContext } from '../../../src/operations/cards/cards.ts'
import { createCard } from '../../../src/operations/cards/create-card.ts'
import { revealPin, setPin } from '../../../src/operations/cards/pin.ts'
import { openPostgres as openPool } from '../../../src/storage/engine/postgres.ts'
import { operations } from '../../listeners/public/operations.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import { openPostgres } from '../../support/postgres.ts'
import { signalAll } from '../../support/replicated-postgres.ts'
import {
  type CreatedCard,
  newCard,
  openServerDatabase,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()
const caller = { clientId: 'demo-client', requestId: 'test' }

suite('while the HSM gives no answer', () => {
  let service: TestService
  let card: CreatedCard

  before(async () => {
    service = await openTestService()
    card = await service.createCard()
  })

  /** The operations on an HSM of which one verb gives no answer. */
  const without = (verb: keyof Hsm): CardContext => {
    const fail = () => Promise.reject(new Problem('unavailable'))
    return { ...service.issuing, hsm: { ...service.issuing.hsm, [verb]: fail } }
  }

  const counted = async (): Promise<unknown> => {
    const [row] = await sql(
      service.database,
      `select (select count(*)::int from card) as cards, (select count(*)::int from event) as events,
         (select count(*)::int from pan_fingerprint) as pans,
         (select count(*)::int from idempotency_record) as keys`,
    )
    return row
  }

  test('a disclosure that failed is on record all the same, because it was put there first', async () => {
    const before = (await counted()) as { events: number }
    const revealing = revealPin(without('revealPin'), caller, card.publicToken)
    await assert.rejects(revealing, { code: 'unavailable' })
    assert.equal(((await counted()) as { events: number }).events, before.events + 1)
  })

  const verbs = ['generateCardNumber', 'generatePin', 'sealRecord', 'fingerprintRequest'] as const
  for (const verb of verbs) {
    test(`no card is made and nothing is left of it when ${verb} fails`, async () => {
      const before = await counted()
      const request = {
        clientId: 'demo-client',
        idempotencyKey: verb,
        request: new Secret('r'),
        bearsSecret: false,
      }
      const making = createCard(
        without(verb),
        caller,
        { ...newCard(), cardType: 'Virtual' } as never,
        request,
      )
      await assert.rejects(making, { code: 'unavailable' })
      assert.deepEqual(await counted(), before)
    })
  }

  test('a PIN that could not be taken in leaves the old one, and no event', async () => {
    const path = `/card-pin/${card.publicToken}/pin`
    const { pin } = (await service.call('GET', path)).json
    const before = await counted()
    const chosen = { pin: new Pin(strongPins(card)[0]), pointer: '/pin' }
    for (const verb of ['importPin', 'revealRecord'] as const) {
      const setting = setPin(
        without(verb),
        caller,
        { publicToken: card.publicToken, chosen, note: {} },
        null,
      )
      await assert.rejects(setting, { code: 'unavailable' })
    }
    assert.deepEqual(await counted(), before)
    assert.equal((await service.call('GET', path)).json.pin, pin)
  })
})

suite('while the database is away', { skip: postgres.leftOut }, () => {
  test('every operation is 503 with the time to wait, the service lives, and works when it is back', async () => {
    const { database, url } = await openServerDatabase(postgres)
    const service = await openTestService({ database })
    const { publicToken } = await service.createCard()
    await service.token()
    const open = { listener: 'private', token: null } as const
    await allowSessions(url, false)
    for (const { body, method, name, path } of operations) {
      const answer = await service.call(method, path(publicToken), { body })
      assert.deepEqual([answer.status, answer.json.code], [503, 'unavailable'], name)
      assert.ok(Number(answer.headers['retry-after']) >= 1, name)
    }
    const unknown = await service.call('GET', '/products', { token: await service.token() })
    assert.equal(unknown.status, 503)
    assert.equal((await service.call('GET', '//readyz', open)).status, 503)
    assert.equal((await service.call('GET', '//livez', open)).status, 200)
    await assert.rejects(service.token('cards.read'), /temporarily_unavailable/)
    await allowSessions(url, true)
    assert.equal((await service.call('GET', '//readyz', open)).status, 200)
    assert.equal((await service.call('GET', `/cards/${publicToken}`)).status, 200)
  })
})

suite('while the database hangs, and closes nothing', { skip: postgres.leftOut }, () => {
  test('in an outage every call and /readyz are 503, and all work again after it', async () => {
    const server = await openPostgres({ fsync: true })
    atEndOfFile(server.stop)
    const { url } = await openServerDatabase(server, 1)
    const options = { poolSize: 3, statementTimeoutMs: 5_000, onIdleError: () => undefined }
    const database = openPool({ connectionString: url, ...options })
    const service = await openTestService({ database })
    const { publicToken } = await service.createCard()
    const open = { listener: 'private', token: null } as const
    signalAll(server, 'SIGSTOP')
    const paths = Array.from({ length: 12 }, () => `/cards/${publicToken}/status`)
    const [ready, ...answers] = await Promise.all([
      service.call('GET', '//readyz', open),
      ...paths.map((path) => service.call('GET', path)),
    ])
    signalAll(server, 'SIGCONT')
    assert.equal(ready.status, 503)
    for (const { json, status } of answers) {
      assert.deepEqual([status, json.code], [503, 'unavailable'])
    }
    while ((await service.call('GET', '//readyz', open)).status !== 200);
    assert.equal((await service.call('GET', `/cards/${publicToken}/status`)).status, 200)
    await database.close()
  })
})

/** Ends every session on a database and takes none; or takes them again. */
async function allowSessions(url: string, allowed: boolean): Promise<void> {
  const elsewhere = new URL(url)
  const name = elsewhere.pathname.slice(1)
  elsewhere.pathname = '/postgres'
  const client = new pg.Client({ connectionString: elsewhere.href })
  await client.connect()
  await client.query(`alter database ${name} allow_connections ${allowed}`)
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
    name,
  ])
  await client.end()
}
