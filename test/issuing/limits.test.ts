import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  type Answer,
  type CallOptions,
  openEmbedded,
  openTestService,
  sql,
  type TestService,
} from '../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
})

const reveal = (publicToken: string, options: CallOptions = {}, on = service): Promise<Answer> =>
  on.call('GET', `/card-pin/${publicToken}/pin`, options)
const unblockPin = (publicToken: string): Promise<Answer> =>
  service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
const unblockCvv = (publicToken: string): Promise<Answer> =>
  service.call('PUT', `/card-cvv/${publicToken}/cvv/status`, { body: { status: 'Unblocked' } })

const ten = async (ask: () => Promise<Answer>, status: number): Promise<void> => {
  for (let use = 1; use <= 10; use += 1) assert.equal((await ask()).status, status, `use ${use}`)
}

const assertLimited = ({ headers, json, status }: Answer, windowSeconds: number): void => {
  assert.deepEqual([status, json.code], [429, 'rate_limited'])
  const waitSeconds = Number(headers['retry-after'])
  assert.ok(Number.isInteger(waitSeconds) && waitSeconds >= 1 && waitSeconds <= windowSeconds)
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

const moveWindow = async (publicToken: string, back: string): Promise<void> => {
  await sql(
    service.database,
    'update card_limit set window_start = window_start - $2::interval where public_token = $1',
    [publicToken, back],
  )
}

test('a PIN is told ten times an hour per card; the eleventh tells nothing and is no event', async () => {
  const { publicToken } = await service.createCard()
  await ten(() => reveal(publicToken), 200)
  const before = await events(publicToken)
  const refused = await reveal(publicToken)
  assertLimited(refused, 3_600)
  assert.equal(await events(publicToken), before)
  const { publicToken: other } = await service.createCard()
  assert.equal((await reveal(other)).status, 200)
})

test('the limit of a card is back when its hour has passed, and not a minute before', async () => {
  const { publicToken } = await service.createCard()
  await ten(() => reveal(publicToken), 200)
  await moveWindow(publicToken, '59 minutes')
  const refused = await reveal(publicToken)
  assertLimited(refused, 60)
  await moveWindow(publicToken, '1 minute')
  await ten(() => reveal(publicToken), 200)
  assertLimited(await reveal(publicToken), 3_600)
})

test('an unblock is accepted ten times a day per card, the PIN and the CVV counted apart', async () => {
  const { publicToken } = await service.createCard()
  await ten(() => unblockPin(publicToken), 204)
  assertLimited(await unblockPin(publicToken), 86_400)
  await ten(() => unblockCvv(publicToken), 204)
  assertLimited(await unblockCvv(publicToken), 86_400)
  await moveWindow(publicToken, '24 hours')
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

test('what was refused for the state of the card uses nothing up', async () => {
  const { publicToken } = await service.createCard({ cardProduct: 1002 })
  for (let time = 1; time <= 11; time += 1) {
    assert.equal((await reveal(publicToken)).json.code, 'pin_not_revealable')
  }
})

test('of a hundred requests at once, ten are told the PIN', async () => {
  const { publicToken } = await service.createCard()
  const answers = await Promise.all(Array.from({ length: 100 }, () => reveal(publicToken)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 10)
  assert.equal(answers.filter(({ status }) => status === 429).length, 90)
})

test('a client is told so many PINs an hour over all its cards, and another one is not held to it', async () => {
  const limited = await openTestService({ env: { REVEALS_PER_CLIENT_HOUR: '4' } })
  const cards = await Promise.all([1, 2, 3].map(() => limited.createCard()))
  const [first, second, third] = cards.map(({ publicToken }) => publicToken)
  for (const token of [first, second, first, third]) {
    assert.equal((await reveal(String(token), {}, limited)).status, 200)
  }
  assertLimited(await reveal(String(second), {}, limited), 3_600)
  const other = await limited.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  const answer = await reveal(other.publicToken, { as: 'otherClient' }, limited)
  assert.equal(answer.status, 200)
  await sql(limited.database, `update client_limit set window_start = now() - interval '1 hour'`)
  assert.equal((await reveal(String(second), {}, limited)).status, 200)
  await limited.close()
})

test('limits of a card survive a restart of the service', async () => {
  const database = await openEmbedded()
  const first = await openTestService({ database })
  const { publicToken } = await first.createCard()
  await ten(() => reveal(publicToken, {}, first), 200)
  const second = await openTestService({ database, dataDir: first.dataDir })
  assertLimited(await reveal(publicToken, {}, second), 3_600)
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
