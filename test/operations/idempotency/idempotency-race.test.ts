import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { computeKeyHash } from '../../support/identifiers.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  newCard,
  openServerDatabase,
  openTestService,
  pool,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

/** Two services on one database, as two processes would be. */
const openTwo = async (): Promise<readonly [TestService, TestService]> => {
  const { database, url } = await openServerDatabase(postgres)
  const first = await openTestService({ database })
  const second = await openTestService({ database: pool(url, 10), dataDir: first.dataDir })
  return [first, second]
}

const createUnder = (service: TestService, key: string) =>
  service.call('POST', '/cards', { body: newCard(), headers: { 'idempotency-key': key } })

const count = async (service: TestService): Promise<number> => {
  const [row] = await sql<{ n: number }>(service.database, 'select count(*)::int as n from card')
  return row?.n ?? 0
}

/** Fifty requests under one key, spread over the services. */
async function proveOneCard(services: readonly TestService[]): Promise<void> {
  const [first] = services
  if (!first) throw new Error('There is no service.')
  const cards = await count(first)
  const key = randomUUID()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      createUnder(services[index % services.length] ?? first, key),
    ),
  )
  const made = answers.filter(({ headers }) => headers['idempotency-replayed'] !== 'true')
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  assert.equal(new Set(answers.map(({ json }) => json.publicToken)).size, 1)
  assert.equal(made.length, 1)
  assert.equal(await count(first), cards + 1)
}

test('fifty requests under one key at once make one card, on the embedded database', async () => {
  await proveOneCard([await openTestService()])
})

suite('on a PostgreSQL server', { skip }, () => {
  test('fifty requests under one key at once make one card, with two services', async () => {
    await proveOneCard(await openTwo())
  })

  test('while the first request runs, another under its key is told so, and then gets its answer', async () => {
    const [service] = await openTwo()
    const { publicToken } = await service.createCard()
    const path = `/card-pin/${publicToken}/pin/unblock`
    const headers = { 'idempotency-key': randomUUID() }
    const ask = () => service.call('POST', path, { headers })
    const [first, second] = await service.database.transaction(async (holder) => {
      // The card is held elsewhere: the first request has its key, and cannot go on.
      await sql(holder, 'select from card where public_token = $1 for update', [publicToken])
      return Promise.all([ask(), ask()])
    })
    const codes = [first, second].map(({ json, status }) => json?.code ?? status)
    assert.ok(codes.every((code) => code === 'unavailable' || code === 'idempotency_key_in_use'))
    for (const { headers: given } of [first, second]) assert.ok(Number(given['retry-after']) >= 1)
    const done = await ask()
    assert.deepEqual([done.status, done.headers['idempotency-replayed']], [204, undefined])
    assert.equal((await ask()).headers['idempotency-replayed'], 'true')
  })

  test('a key that another process holds for long is 409, and free when that process lets go', async () => {
    const [service] = await openTwo()
    const key = randomUUID()
    const claim = `insert into idempotency_record (client_id, key_hash, request_fingerprint)
      values ('demo-client', $1, 'x')`
    const keyHash = await computeKeyHash(service, key)
    const held = service.database.transaction(async (holder) => {
      await sql(holder, claim, [keyHash])
      const { headers, json, status } = await createUnder(service, key)
      assert.deepEqual([status, json.code], [409, 'idempotency_key_in_use'])
      assert.ok(Number(headers['retry-after']) >= 1)
      throw new Error('the other process failed')
    })
    await assert.rejects(held, /the other process failed/)
    assert.equal((await createUnder(service, key)).status, 201)
  })

  test('two PINs under one key at once: one is set, and the key is retired', async () => {
    const [first, second] = await openTwo()
    const card = await first.createCard({ cardProduct: 1003 })
    const { publicToken } = card
    const [one, other] = strongPins(card, 6)
    const headers = { 'idempotency-key': randomUUID() }
    const path = `/card-pin/${publicToken}/pin`
    const answers = await Promise.all([
      first.call('POST', path, { body: { pin: one }, headers }),
      second.call('POST', path, { body: { pin: other }, headers }),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 422])
    const { json } = await first.call('GET', path)
    assert.equal(json.pin, answers[0]?.status === 204 ? one : other)
    const again = await first.call('POST', path, { body: { pin: json.pin }, headers })
    assert.equal(again.json.code, 'idempotency_key_reused')
  })
})
