import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { ask, type IssuedCard, issueCard, pinTry } from '../support/network.ts'
import { makeFolder, startProgram } from '../support/process.ts'
import {
  type Answer,
  newCard,
  openTestDatabase,
  openTestService,
  sql,
  type TestService,
} from '../support/service.ts'

const start = '2031-03-15T10:00:00Z'

let service: TestService
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off', SANDBOX_CLOCK: start } })
})

const clock = (now?: unknown, as: 'admin' | 'network' | 'client' = 'admin'): Promise<Answer> =>
  service.call(now === undefined ? 'GET' : 'POST', '//sandbox/clock', {
    as,
    listener: 'private',
    ...(now !== undefined && { body: { now } }),
  })

const moveTo = async (now: string): Promise<void> => {
  const { json, status } = await clock(now)
  assert.equal(status, 200)
  assert.ok(new Date(json.now) >= new Date(now))
}

const authorize = async (card: IssuedCard): Promise<string> =>
  (await ask(service, pinTry(service, card))).json.responseCode

const statusOf = async ({ publicToken }: IssuedCard): Promise<string> =>
  (await service.call('GET', `/cards/${publicToken}/status`)).json.cardStatusCode

test('the clock begins where it is told to, and dates cards', async () => {
  assert.equal((await clock()).json.now.slice(0, 10), '2031-03-15')
  const { expiryDate, startDate } = await service.createCard()
  assert.deepEqual([startDate, expiryDate], ['2031-03-15', '2035-03-31'])
})

test('only the administrator moves or reads it, and on the private listener only', async () => {
  assert.equal((await clock('2031-03-16T00:00:00Z', 'network')).status, 403)
  assert.equal((await clock('2031-03-16T00:00:00Z', 'client')).status, 401)
  assert.equal((await clock(undefined, 'network')).status, 403)
  assert.equal((await clock()).json.now.slice(0, 10), '2031-03-15')
})

test('it is never moved back, and takes nothing but an instant', async () => {
  for (const now of ['2031-03-15T09:59:59Z', '2020-01-01T00:00:00Z']) {
    const { json, status } = await clock(now)
    assert.deepEqual([status, json.errors[0].pointer], [422, '/now'])
  }
  for (const now of [
    '2031-02-30T00:00:00Z',
    '2031-03-16',
    '2031-03-16T00:00:00+01:00',
    1,
    null,
    '',
  ]) {
    assert.equal((await clock(now)).status, 422, String(now))
  }
  assert.equal((await clock()).json.now.slice(0, 10), '2031-03-15')
})

test('a card expires as the clock passes its last day: in what is decided, read, and told once', async () => {
  const card = await issueCard(service, { expiryDate: '2031-06' })
  const other = await issueCard(service)
  await moveTo('2031-06-30T23:59:50Z')
  assert.deepEqual([await authorize(card), await statusOf(card)], ['00', '00'])
  await moveTo('2031-07-01T00:00:00Z')
  assert.deepEqual([await authorize(card), await statusOf(card)], ['54', '54'])
  assert.deepEqual([await authorize(other), await statusOf(other)], ['00', '00'])
  await moveTo('2031-07-02T00:00:00Z')
  const { json } = await service.call('GET', '/cards?cardStatusCode=54')
  assert.deepEqual(
    json.map(({ publicToken }: IssuedCard) => publicToken),
    [card.publicToken],
  )
  const told = await sql(
    service.database,
    "select from event where public_token = $1 and type = 'card.status_changed'",
    [card.publicToken],
  )
  assert.equal(told.length, 1)
})

test('a birth date is held against the clock', async () => {
  const today = (await clock()).json.now.slice(0, 10)
  const born = (dateOfBirth: string) =>
    service.call('POST', '/cards', {
      body: newCard({ cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth } }),
    })
  assert.equal((await born(today)).status, 422)
  await moveTo(`${today.slice(0, 4)}-12-31T00:00:00Z`)
  assert.equal((await born(today)).status, 201)
})

test('tokens and idempotency keys live by the real clock', async () => {
  const token = await service.token('cards.write cards.read')
  const headers = { 'idempotency-key': randomUUID() }
  const first = await service.call('POST', '/cards', { body: newCard(), headers, token })
  await moveTo('2033-01-01T00:00:00Z')
  const second = await service.call('POST', '/cards', { body: newCard(), headers, token })
  assert.equal(second.status, 201)
  assert.equal(second.headers['idempotency-replayed'], 'true')
  assert.equal(second.text, first.text)
})

test('it runs to a year in which cards can still be made, and no further', async () => {
  const { json, status } = await clock('9998-12-31T00:00:00Z')
  assert.deepEqual([status, json.errors[0].pointer], [422, '/now'])
  await moveTo('9899-12-31T00:00:00Z')
  const cardHolder = { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '9880-04-17' }
  assert.match((await service.createCard({ cardHolder })).expiryDate, /^9903-12-/)
})

test('a moved clock goes on from there when the sandbox starts again', async () => {
  const database = await openTestDatabase()
  const dataDir = await makeFolder()
  const open = () => openTestService({ database, dataDir })
  const first = await open()
  const read = async ({ call }: TestService) =>
    (await call('GET', '//sandbox/clock', { as: 'admin', listener: 'private' })).json.now
  const now = '2033-01-01T00:00:00Z'
  await first.call('POST', '//sandbox/clock', { as: 'admin', listener: 'private', body: { now } })
  assert.ok(new Date(await read(await open())) >= new Date(now))
})

test('the start of a sandbox whose clock was moved prints the clock', async () => {
  const program = await startProgram({ env: { SANDBOX_CLOCK: '2031-03-15T08:00:00Z' } })
  assert.match(program.stdout(), /^ {2}Clock {13}2031-03-15T08:0\S+Z \(sandbox\)$/m)
})
