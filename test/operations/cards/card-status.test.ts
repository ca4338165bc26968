import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { type CardContext, findCard, listCards } from '../../../src/operations/cards/cards.ts'
import { revealPin } from '../../../src/operations/cards/pin.ts'
import { changeCardStatus, findCardStatus, sweep } from '../../../src/operations/cards/status.ts'
import { ageIdempotencyKey, expireCard, useTries } from '../../support/builders.ts'
import { computeKeyHash } from '../../support/identifiers.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestService,
  pool,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

/** What each status may become, as it is published. */
const moves: Readonly<Record<string, readonly string[]>> = {
  '02': ['00', '41', '43', '46', '83'],
  '00': ['62', '41', '43', '46', '83'],
  '62': ['00', '41', '43', '46', '83'],
  '41': [],
  '43': [],
  '46': [],
  '54': [],
  '83': [],
}
const names: Readonly<Record<string, string>> = {
  '02': 'Inactive',
  '00': 'Active',
  '62': 'Restricted',
  '41': 'Lost',
  '43': 'Stolen',
  '46': 'Closed',
  '54': 'Expired',
  '83': 'Destroyed',
}
const codes = Object.keys(moves)

const postgres = await openPostgres()
let service: TestService

before(async () => {
  service = await openTestService()
})

/** A card in a status, got there by the paths that there are. */
const cardIn = async (code: string) => {
  const card = await service.createCard({ activateNow: code !== '02' })
  if (code === '54') {
    await expireCard(service.database, card.publicToken)
  } else if (code !== '02' && code !== '00') {
    assert.equal((await move(card.publicToken, code)).status, 204)
  }
  return card
}

const move = (publicToken: string, cardStatusCode: string) =>
  service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

const status = async (publicToken: string) =>
  (await service.call('GET', `/cards/${publicToken}/status`)).json

for (const from of codes) {
  test(`a card in ${from} may become ${moves[from]?.join(', ') || 'nothing else'}`, async () => {
    for (const to of codes) {
      const { publicToken } = await cardIn(from)
      const answer = await move(publicToken, to)
      const isAllowed = to === from || moves[from]?.includes(to)
      const then = isAllowed ? to : from
      assert.deepEqual(await status(publicToken), {
        status: names[then],
        cardStatusCode: then,
        cardStatusDescription: names[then],
      })
      if (isAllowed) {
        assert.equal(answer.status, 204, `${from} to ${to}`)
        continue
      }
      assert.deepEqual([answer.status, answer.json.code], [409, 'card_status_conflict'])
      for (const allowed of moves[from] ?? []) {
        assert.ok(answer.json.detail.includes(`${allowed} (${names[allowed]})`))
      }
    }
  })
}

const operationsOn = (token: string, pin: string) =>
  [
    ['Set PIN', 'POST', `/card-pin/${token}/pin`, { pin }, 204],
    ['Get current PIN', 'GET', `/card-pin/${token}/pin`, undefined, 200],
    ['Unblock PIN', 'POST', `/card-pin/${token}/pin/unblock`, undefined, 204],
    ['Unblock CVV', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Unblocked' }, 204],
    ['Block CVV', 'PUT', `/card-cvv/${token}/cvv/status`, { status: 'Blocked' }, 204],
  ] as const

for (const code of codes) {
  const isFinal = moves[code]?.length === 0
  test(`on a card in ${code} PIN and CVV ${isFinal ? 'are closed' : 'can be changed and read'}`, async () => {
    const card = await cardIn(code)
    for (const [name, method, path, body, ok] of operationsOn(
      card.publicToken,
      strongPins(card)[0],
    )) {
      const answer = await service.call(method, path, { body })
      if (isFinal) assert.deepEqual([answer.status, answer.json.code], [409, 'card_closed'], name)
      else assert.equal(answer.status, ok, name)
    }
    for (const kind of ['pin', 'cvv']) {
      const path = `/card-${kind}/${card.publicToken}/${kind}/status`
      assert.equal((await service.call('GET', path)).status, 200, path)
    }
    assert.equal((await service.call('GET', `/cards/${card.publicToken}`)).status, 200)
  })
}

test('whatever the PIN and CVV status, PIN and CVV can be changed and read', async () => {
  const card = await service.createCard()
  const { publicToken } = card
  for (const kind of ['pin', 'cvv'] as const) await useTries(service.database, publicToken, kind)
  for (const kind of ['pin', 'cvv']) {
    const { json } = await service.call('GET', `/card-${kind}/${publicToken}/${kind}/status`)
    const description = `The ${kind.toUpperCase()} is blocked: tries used up.`
    assert.deepEqual(json, { status: 'Blocked', description, remainingTries: 0 })
  }
  const path = `/card-pin/${publicToken}/pin`
  const [pin] = strongPins(card)
  assert.equal((await service.call('POST', path, { body: { pin } })).status, 204)
  assert.equal((await service.call('GET', path)).json.pin, pin)
  const unmoved = (await service.call('GET', `${path}/status`)).json
  assert.equal(unmoved.remainingTries, 0, 'setting a PIN restores no tries')
  await service.call('POST', `${path}/unblock`)
  assert.equal((await service.call('GET', `${path}/status`)).json.remainingTries, 3)
})

test('a code that is none is refused with the list of those that are', async () => {
  const { publicToken } = await service.createCard()
  for (const code of ['', '0', '99', 'Active']) {
    const { json, status: answered } = await move(publicToken, code)
    assert.equal(answered, 422)
    assert.equal(json.errors[0].pointer, '/cardStatusCode')
    for (const known of codes) assert.ok(json.errors[0].detail.includes(known))
  }
})

const caller = { clientId: 'demo-client', requestId: 'test' }
const lastInstant = '2031-02-28T23:59:59.999Z'
const firstInstant = '2031-03-01T00:00:00.000Z'

/** The operations at another instant than now. */
const at = ({ issuing }: TestService, instant: string): CardContext => ({
  ...issuing,
  now: () => new Date(instant),
})

/** A card whose last day is 28 February 2031. */
const expiringCard = async (on = service, code = '00'): Promise<PublicToken> => {
  const { publicToken } = await on.createCard({ activateNow: code !== '02' })
  const update = `update card set expiry_date = '2031-02-28', start_date = '2026-01-01',
    status_code = $2 where public_token = $1`
  await sql(on.database, update, [publicToken, code])
  return publicToken
}

const statusEvents = (on: TestService, publicToken: string) =>
  sql<{ sequence: number; details: string; clientId: string }>(
    on.database,
    `select sequence, details, client_id as "clientId" from event
     where public_token = $1 and type = 'card.status_changed'`,
    [publicToken],
  )

for (const code of ['02', '00', '62'] as const) {
  test(`a card in ${code} is expired from 00:00 UTC after its last day, before any sweep`, async () => {
    const publicToken = await expiringCard(service, code)
    const before = at(service, lastInstant)
    const after = at(service, firstInstant)
    assert.equal((await findCardStatus(before, caller, publicToken)).cardStatusCode, code)
    assert.equal((await findCardStatus(after, caller, publicToken)).cardStatusCode, '54')
    assert.equal((await findCard(before, caller, publicToken)).status !== 'Expired', true)
    assert.equal((await findCard(after, caller, publicToken)).status, 'Expired')
    assert.deepEqual(await statusEvents(service, publicToken), [])
  })
}

test('a filter by status finds a card as expired from the same instant', async () => {
  const publicToken = await expiringCard()
  const found = async (instant: string, statusCode: '00' | '54'): Promise<boolean> => {
    const filter = { customerReference: null, statusCode, after: null, limit: 100 }
    const { cards } = await listCards(at(service, instant), caller, filter)
    return cards.some((card) => card.publicToken === publicToken)
  }
  assert.deepEqual([await found(lastInstant, '00'), await found(lastInstant, '54')], [true, false])
  assert.deepEqual(
    [await found(firstInstant, '00'), await found(firstInstant, '54')],
    [false, true],
  )
})

test('decisions hold a card for expired from the same instant', async () => {
  const publicToken = await expiringCard()
  const [before, after] = [at(service, lastInstant), at(service, firstInstant)]
  assert.equal((await revealPin(before, caller, publicToken)).pin.length, 4)
  await assert.rejects(revealPin(after, caller, publicToken), { code: 'card_closed' })
  const restrict = (operations: CardContext) =>
    changeCardStatus(operations, caller, { publicToken, to: '62', note: {} }, null)
  await assert.rejects(restrict(after), { code: 'card_status_conflict' })
  await restrict(before)
})

test('a card that had a final status keeps it beyond its last day', async () => {
  const publicToken = await expiringCard(service, '41')
  const after = at(service, firstInstant)
  await sweep(after)
  assert.equal((await findCardStatus(after, caller, publicToken)).cardStatusCode, '41')
  assert.deepEqual(await statusEvents(service, publicToken), [])
})

test('a sweep on the last day moves nothing; one after it tells of the expiry once', async () => {
  const publicToken = await expiringCard(service, '62')
  await sweep(at(service, lastInstant))
  assert.deepEqual(await statusEvents(service, publicToken), [])
  await sweep(at(service, firstInstant))
  await sweep(at(service, firstInstant))
  const events = await statusEvents(service, publicToken)
  assert.deepEqual(
    events.map(({ details, ...event }) => ({ ...event, details: JSON.parse(details) })),
    [{ sequence: 2, clientId: 'demo-client', details: { from: '62', to: '54' } }],
  )
})

test('a sweep forgets idempotency keys after 24 hours and keeps the younger ones', async () => {
  const body = { status: 'Blocked' }
  const { publicToken } = await service.createCard()
  for (const key of ['old', 'young']) {
    const headers = { 'idempotency-key': key }
    await service.call('PUT', `/card-cvv/${publicToken}/cvv/status`, { body, headers })
  }
  await ageIdempotencyKey(service, 'old', '25 hours')
  await sweep(service.issuing)
  const left = await sql<{ hash: Uint8Array }>(
    service.database,
    'select key_hash as "hash" from idempotency_record where key_hash in ($1, $2)',
    [await computeKeyHash(service, 'old'), await computeKeyHash(service, 'young')],
  )
  assert.deepEqual(
    left.map(({ hash }) => Buffer.from(hash)),
    [Buffer.from(await computeKeyHash(service, 'young'))],
  )
})

test('many processes that sweep at once tell of each expiry once', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres)
  const first = await openTestService({ database })
  const cards = await Promise.all(Array.from({ length: 250 }, () => first.createCard()))
  await sql(database, `update card set expiry_date = '2031-02-28', start_date = '2026-01-01'`)
  const operations = at(first, firstInstant)
  const others = Array.from({ length: 4 }, () => pool(url, 2))
  await Promise.all([
    sweep(operations),
    ...others.map((each) => sweep({ ...operations, database: each })),
  ])
  await Promise.all(others.map((each) => each.close()))
  const [told] = await sql(
    database,
    `select count(*)::int as events, count(distinct public_token)::int as cards,
       min(sequence) as least, max(sequence) as most
     from event where type = 'card.status_changed'`,
  )
  assert.deepEqual(told, { events: cards.length, cards: cards.length, least: 2, most: 2 })
})
