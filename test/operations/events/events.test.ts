import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openEmbedded,
  openServerDatabase,
  openTestService,
  pool,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()
const skip = postgres.leftOut

interface EventRow {
  sequence: number
  type: string
  details: Record<string, unknown>
  requestId: string | null
  clientId: string
  note: Uint8Array | null
}

const eventsOf = async (database: Database, publicToken: string): Promise<EventRow[]> => {
  const rows = await sql<EventRow & { details: string }>(
    database,
    `select sequence, type, details, request_id as "requestId", client_id as "clientId", note
     from event where public_token = $1 order by sequence`,
    [publicToken],
  )
  return rows.map((row) => ({ ...row, details: JSON.parse(row.details) }))
}

const acts = (token: string, pin: string) =>
  [
    ['pin.set', 'POST', `/card-pin/${token}/pin`, { pin, description: 'Chosen in the app.' }],
    ['pin.revealed', 'GET', `/card-pin/${token}/pin`, undefined],
    ['pin.unblocked', 'POST', `/card-pin/${token}/pin/unblock`, undefined],
    ['cvv.blocked', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Blocked' }],
    ['cvv.blocked', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Blocked' }],
    ['cvv.unblocked', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Unblocked' }],
    ['cvv.unblocked', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Unblocked' }],
    ['card.status_changed', 'PUT', `/cards/${token}/status`, { cardStatusCode: '62' }],
  ] as const

suite('on the embedded database', () => {
  let service: TestService

  before(async () => {
    service = await openTestService({ database: await openEmbedded() })
  })

  test('every act is told once, in its order, with the request and the client it came from', async () => {
    const card = await service.createCard({}, { headers: { 'x-request-id': 'req-1' } })
    const { publicToken } = card
    const told = acts(publicToken, strongPins(card)[0])
    for (const [index, [type, method, path, body]] of told.entries()) {
      const headers = { 'x-request-id': `req-${index + 2}` }
      assert.ok((await service.call(method, path, { body, headers })).status < 300, type)
    }
    const events = await eventsOf(service.database, publicToken)
    assert.deepEqual(
      events.map(({ clientId, requestId, sequence, type }) => [
        sequence,
        type,
        requestId,
        clientId,
      ]),
      ['card.created', ...told.map(([type]) => type)].map((type, index) => [
        index + 1,
        type,
        `req-${index + 1}`,
        'demo-client',
      ]),
    )
    assert.deepEqual(events.at(-1)?.details, { from: '00', to: '62' })
    assert.deepEqual(events[0]?.details, {
      cardProduct: 1001,
      cardType: 'Virtual',
      cardStatusCode: '00',
    })
  })

  test('reads, and changes that were refused, are not told', async () => {
    const card = await service.createCard({ cardProduct: 1002 })
    const { publicToken } = card
    const refused: readonly (readonly [number, string, string, object?])[] = [
      [422, 'POST', `/card-pin/${publicToken}/pin`, { pin: '1234' }],
      [422, 'POST', `/card-pin/${publicToken}/pin`, { pin: '719340' }],
      [422, 'PUT', `/card-cvv/${publicToken}/cvv/status`, { status: 'blocked' }],
      [409, 'PUT', `/cards/${publicToken}/status`, { cardStatusCode: '02' }],
      [409, 'GET', `/card-pin/${publicToken}/pin`],
      [200, 'GET', `/cards/${publicToken}`],
      [200, 'GET', `/cards/${publicToken}/status`],
      [200, 'GET', `/card-pin/${publicToken}/pin/status`],
      [200, 'GET', `/card-cvv/${publicToken}/cvv/status`],
    ]
    for (const [status, method, path, body] of refused) {
      assert.equal((await service.call(method, path, { body })).status, status, path)
    }
    assert.equal((await eventsOf(service.database, publicToken)).length, 1)
  })

  test('to set the status that a card has is 204 and is not told', async () => {
    const { publicToken } = await service.createCard()
    const body = { cardStatusCode: '00' }
    const answer = await service.call('PUT', `/cards/${publicToken}/status`, { body })
    assert.equal(answer.status, 204)
    assert.equal((await eventsOf(service.database, publicToken)).length, 1)
  })

  test('what a client says of a change is kept enciphered, and is no part of what is told', async () => {
    const { publicToken } = await service.createCard()
    const body = { cardStatusCode: '41', description: 'Lost at Atocha.', updatedBy: 'M. Ruiz' }
    await service.call('PUT', `/cards/${publicToken}/status`, { body })
    const event = (await eventsOf(service.database, publicToken)).at(-1)
    const note = Buffer.from(event?.note ?? '')
    assert.ok(note.length > 0)
    const told = JSON.stringify([event?.details, event?.requestId, event?.type])
    for (const text of ['Atocha', 'Ruiz']) {
      assert.ok(!note.includes(text))
      assert.ok(!told.includes(text))
    }
    const { hsm } = service.issuing
    assert.deepEqual(JSON.parse(await hsm.revealRecord('note', publicToken, note)), {
      description: 'Lost at Atocha.',
      updatedBy: 'M. Ruiz',
    })
  })

  test('an event and its change are there together or not at all', async () => {
    const card = await service.createCard()
    const { publicToken } = card
    await sql(
      service.database,
      `alter table event add constraint closed check (type <> 'pin.set') not valid`,
    )
    const path = `/card-pin/${publicToken}/pin`
    const pin = (await service.call('GET', path)).json.pin
    const answer = await service.call('POST', path, { body: { pin: strongPins(card)[0] } })
    assert.deepEqual([answer.status, answer.json.code], [500, 'internal_error'])
    assert.equal((await service.call('GET', path)).json.pin, pin)
    await sql(service.database, 'alter table event drop constraint closed')
  })
})

suite('on a PostgreSQL server', { skip }, () => {
  test('acts of two services at once number the events of a card from 1 without a gap', async () => {
    const { database, url } = await openServerDatabase(postgres)
    const env = { RATE_LIMIT: 'off' }
    const first = await openTestService({ database, env })
    const { dataDir } = first
    const second = await openTestService({ database: pool(url, 10), dataDir, env })
    const card = await first.createCard()
    const told = acts(card.publicToken, strongPins(card)[0]).slice(0, 7)
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => told)
        .flat()
        .map(([, method, path, body], index) =>
          (index % 2 ? first : second).call(method, path, { body }),
        ),
    )
    assert.ok(answers.every(({ status }) => status < 300))
    const events = await eventsOf(database, card.publicToken)
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      Array.from({ length: 1 + 8 * told.length }, (_, index) => index + 1),
    )
    for (const type of new Set(told.map(([each]) => each))) {
      const expected = 8 * told.filter(([each]) => each === type).length
      assert.equal(events.filter((event) => event.type === type).length, expected, type)
    }
  })
})
