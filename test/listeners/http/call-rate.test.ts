import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { rateLimiter } from '../../../src/listeners/http/rate-limit.ts'
import { ConfigError, readConfig } from '../../../src/service/config/config.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService({
    env: {
      // Refilled so slowly that no machine is slow enough to see it.
      RATE_PER_SECOND: '1',
      RATE_BURST: '5000',
    },
  })
})

const secondsOf = (error: unknown): number =>
  error instanceof Problem && error.code === 'rate_limited'
    ? Number(error.headers['retry-after'])
    : assert.fail('It was not refused for its number.')

test('a caller has a burst, then so many calls a second, and is told when to come back', () => {
  let nowMs = 0
  const rate = rateLimiter({ perSecond: 2, burst: 4 }, () => nowMs)
  for (const left of [3, 2, 1, 0]) {
    const headers = rate.spend('a')
    assert.equal(headers['ratelimit-policy'], '"calls";q=4;w=2')
    assert.match(headers.ratelimit, new RegExp(`^"calls";r=${left};t=`))
  }
  assert.throws(
    () => rate.spend('a'),
    (error) => secondsOf(error) === 1,
  )
  assert.match(rate.spend('b').ratelimit, /r=3;/)
  nowMs += 499
  assert.throws(() => rate.spend('a'))
  nowMs += 1
  rate.spend('a')
  nowMs += 3_600_000
  for (const _ of [1, 2, 3, 4]) rate.spend('a')
  assert.throws(() => rate.spend('a'))
})

test('every answer to a client says how many calls are left, also those that refuse it', async () => {
  const left = async (path: string): Promise<number> => {
    const { headers } = await service.call('GET', path)
    assert.equal(headers['ratelimit-policy'], '"calls";q=5000;w=5000')
    return Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])
  }
  for (const path of ['/products', '/cards/9999999999', '/cards?limit=x']) {
    const calls = await left(path)
    assert.ok(calls >= 0 && calls < 5000, path)
  }
})

/** Asks until the answer is 429; a slow machine gets more answers of the other status before it. */
const untilRefused = async <Given extends { status: number }>(
  ask: (time: number) => Promise<Given>,
  otherwise: number,
): Promise<Given & { time: number }> => {
  for (let time = 1; time <= 250; time += 1) {
    const answer = await ask(time)
    if (answer.status === 429) return { ...answer, time }
    assert.equal(answer.status, otherwise)
  }
  return assert.fail('It was never refused.')
}

test('calls over the rate are 429 with the wait, for this client alone, before the body is read', async () => {
  const narrow = await openTestService({ env: { RATE_PER_SECOND: '1', RATE_BURST: '1' } })
  const refused = await untilRefused(() => narrow.call('POST', '/cards', { payload: '{' }), 415)
  assert.equal(refused.json.code, 'rate_limited')
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.match(String(refused.headers.ratelimit), /^"calls";r=0;t=\d+$/)
  assert.equal((await narrow.call('GET', '/products', { as: 'otherClient' })).status, 200)
  await narrow.close()
})

test('production refuses to start without limits', () => {
  const production = { SANDBOX: 'false', RATE_LIMIT: 'off' }
  assert.throws(
    () => readConfig(production),
    (error) =>
      error instanceof ConfigError &&
      error.faults.some((fault) => fault.startsWith('RATE_LIMIT is off.')),
  )
})
