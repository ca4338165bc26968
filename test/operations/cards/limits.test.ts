import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { type DatabaseClock, ownClock } from '../../support/database-clock.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  type Answer,
  type CallOptions,
  type CreatedCard,
  openEmbedded,
  openServerDatabase,
  openTestService,
  pool,
  sql,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()

/** A service whose database has a clock of the test's own: no time passes unless it says so. */
const openOnClock = async (env: Readonly<Record<string, string>> = {}) => {
  const database = await openEmbedded()
  const clock = await ownClock(database)
  return { clock, service: await openTestService({ database, env }) }
}

let service: TestService
let clock: DatabaseClock

before(async () => {
  const opened = await openOnClock()
  service = opened.service
  clock = opened.clock
})

const minute = 60
const hour = 60 * minute
const day = 24 * hour

const reveal = (publicToken: string, options: CallOptions = {}, on = service): Promise<Answer> =>
  on.call('GET', `/card-pin/${publicToken}/pin`, options)
const unblockPin = (publicToken: string): Promise<Answer> =>
  service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
const unblockCvv = (publicToken: string): Promise<Answer> =>
  service.call('PUT', `/card-cvv/${publicToken}/cvv/status`, { body: { status: 'Unblocked' } })

const ten = async (ask: () => Promise<Answer>, status: number): Promise<void> => {
  for (let use = 1; use <= 10; use += 1) assert.equal((await ask()).status, status, `use ${use}`)
}

const assertLimited = ({ headers, json, status }: Answer, waitSeconds: number): void => {
  assert.deepEqual([status, json.code], [429, 'rate_limited'])
  assert.equal(headers['retry-after'], String(waitSeconds))
  assert.match(String(headers['ratelimit-policy']), /^"\w+";q=\d+;w=\d+/)
  assert.match(String(headers.ratelimit), /^"\w+";r=\d+;t=\d+/)
}

const events = async (publicToken: string): Promise<number> => {
  const [row] = await sql<{ n: number }>(
    service.database,
    'select count(*)::int as n from event where public_token = $1',
    [publicToken],
  )
  return row?.n ?? 0
}

test('a PIN is told ten times an hour per card; the eleventh tells nothing and is no event', async () => {
  const { publicToken } = await service.createCard()
  await ten(() => reveal(publicToken), 200)
  const before = await events(publicToken)
  const refused = await reveal(publicToken)
  assertLimited(refused, hour)
  assert.equal(await events(publicToken), before)
  const { publicToken: other } = await service.createCard()
  assert.equal((await reveal(other)).status, 200)
})

test('the limit of a card is back when its hour has passed, and not a second before', async () => {
  const { publicToken } = await service.createCard()
  await ten(() => reveal(publicToken), 200)
  await clock.pass(hour - 1)
  assertLimited(await reveal(publicToken), 1)
  await clock.pass(1)
  await ten(() => reveal(publicToken), 200)
  assertLimited(await reveal(publicToken), hour)
})

test('twenty disclosures do not fit around the end of an hour: each use is back an hour after it was made', async () => {
  const { publicToken } = await service.createCard()
  assert.equal((await reveal(publicToken)).status, 200)
  await clock.pass(59 * minute)
  for (let use = 2; use <= 10; use += 1) assert.equal((await reveal(publicToken)).status, 200)
  await clock.pass(minute)
  assert.equal((await reveal(publicToken)).status, 200)
  // The nine of a minute ago are back in 59 minutes.
  assertLimited(await reveal(publicToken), 59 * minute)
  await clock.pass(59 * minute)
  for (let use = 1; use <= 9; use += 1) assert.equal((await reveal(publicToken)).status, 200)
  assertLimited(await reveal(publicToken), minute)
})

test('an unblock is accepted ten times a day per card, the PIN and the CVV counted apart', async () => {
  const { publicToken } = await service.createCard()
  await ten(() => unblockPin(publicToken), 204)
  assertLimited(await unblockPin(publicToken), day)
  await ten(() => unblockCvv(publicToken), 204)
  assertLimited(await unblockCvv(publicToken), day)
  await clock.pass(day)
  assert.equal((await unblockPin(publicToken)).status, 204)
  assert.equal((await unblockCvv(publicToken)).status, 204)
})

test('to block a CVV is never refused for having been done often', async () => {
  const { publicToken } = await service.createCard()
  const path = `/card-cvv/${publicToken}/cvv/status`
  for (let time = 1; time <= 12; time += 1) {
    const { status } = await service.call('PUT', path, { body: { status: 'Blocked' } })
    assert.equal(status, 204, `time ${time}`)
  }
})

test('another client cannot use up the limit of a card, nor learn of it', async () => {
  const { publicToken } = await service.createCard()
  for (let time = 1; time <= 11; time += 1) {
    assert.equal((await reveal(publicToken, { as: 'otherClient' })).status, 404)
  }
  await ten(() => reveal(publicToken), 200)
  assert.equal((await reveal(publicToken, { as: 'otherClient' })).status, 404)
})

test('a refusal because of the card status uses up no limit', async () => {
  const { publicToken } = await service.createCard({ cardProduct: 1002 })
  for (let time = 1; time <= 11; time += 1) {
    assert.equal((await reveal(publicToken)).json.code, 'pin_not_revealable')
  }
})

test('ten of a hundred concurrent requests reveal the PIN', async () => {
  const { publicToken } = await service.createCard()
  const answers = await Promise.all(Array.from({ length: 100 }, () => reveal(publicToken)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 10)
  assert.equal(answers.filter(({ status }) => status === 429).length, 90)
})

test('a client is told so many PINs an hour over all its cards, and another one is not held to it', async () => {
  const { clock: ownTime, service: limited } = await openOnClock({ REVEALS_PER_CLIENT_HOUR: '4' })
  const cards = await Promise.all([1, 2, 3].map(() => limited.createCard()))
  const [first, second, third] = cards.map(({ publicToken }) => publicToken)
  for (const token of [first, second, first, third]) {
    assert.equal((await reveal(String(token), {}, limited)).status, 200)
  }
  assertLimited(await reveal(String(second), {}, limited), hour)
  const other = await limited.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const answer = await reveal(other.publicToken, { as: 'otherClient' }, limited)
  assert.equal(answer.status, 200)
  await ownTime.pass(hour)
  assert.equal((await reveal(String(second), {}, limited)).status, 200)
  await limited.close()
})

test('when the card or its client has no use left, neither loses one and no event is written', async () => {
  const limited = await openTestService({ env: { REVEALS_PER_CLIENT_HOUR: '11' } })
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => limited.createCard()))
  const usesOf = async (card: CreatedCard | undefined) => {
    const rows = await sql<{ used: number }>(
      limited.database,
      'select cardinality(last_uses) as used from card_limit where public_token = $1',
      [card?.publicToken ?? ''],
    )
    return rows.map(({ used }) => used)
  }
  const ask = async (card: CreatedCard | undefined) =>
    (await reveal(card?.publicToken ?? '', {}, limited)).status
  await ten(async () => reveal(first?.publicToken ?? '', {}, limited), 200)
  assert.equal(await ask(first), 429)
  // What the card refused has cost its client nothing: the eleventh use is there.
  assert.equal(await ask(second), 200)
  assert.equal(await ask(third), 429)
  assert.deepEqual([await usesOf(second), await usesOf(third)], [[1], []])
  const [told] = await sql(
    limited.database,
    `select count(*)::int as count from event where type = 'pin.revealed'`,
  )
  assert.deepEqual(told, { count: 11 })
  await limited.close()
})

test('what the HSM then does not tell has been counted and is on record', async () => {
  const { publicToken } = await service.createCard()
  const { hsm } = service.issuing
  const { revealPin } = hsm
  hsm.revealPin = async () => {
    throw new Problem('unavailable')
  }
  assert.equal((await reveal(publicToken)).status, 503)
  hsm.revealPin = revealPin
  for (let use = 2; use <= 10; use += 1) assert.equal((await reveal(publicToken)).status, 200)
  assertLimited(await reveal(publicToken), hour)
})

test('of a hundred requests at two processes for ten cards, as many are told as the client has uses', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres)
  const env = { REVEALS_PER_CLIENT_HOUR: '25', RATE_BURST: '1000' }
  const first = await openTestService({ database, env })
  const second = await openTestService({ database: pool(url, 10), dataDir: first.dataDir, env })
  const cards = await Promise.all(Array.from({ length: 10 }, () => first.createCard()))
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      reveal(cards[at % 10]?.publicToken ?? '', {}, at % 20 < 10 ? first : second),
    ),
  )
  const counted = (status: number) => answers.filter((each) => each.status === status).length
  assert.deepEqual([counted(200), counted(429)], [25, 75])
  const [left] = await sql(
    database,
    `select (select sum(cardinality(last_uses))::int from card_limit) as uses,
       (select count(*)::int from event where type = 'pin.revealed') as events`,
  )
  assert.deepEqual(left, { uses: 25, events: 25 })
})

test('limits of a card survive a restart of the service', async () => {
  const { service: first } = await openOnClock()
  const { database } = first
  const { publicToken } = await first.createCard()
  await ten(() => reveal(publicToken, {}, first), 200)
  const second = await openTestService({ database, dataDir: first.dataDir })
  assertLimited(await reveal(publicToken, {}, second), hour)
})

test('with RATE_LIMIT=off nothing is refused for its number, and no RateLimit header is sent', async () => {
  const unlimited = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { publicToken } = await unlimited.createCard()
  for (let time = 1; time <= 11; time += 1) {
    const { headers, status } = await reveal(publicToken, {}, unlimited)
    assert.equal(status, 200)
    assert.equal(headers.ratelimit, undefined)
  }
  await unlimited.close()
})
