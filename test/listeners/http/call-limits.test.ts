import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { Problem } from '../../../src/domain/problem.ts'
import { type AdmissionBounds, createAdmission } from '../../../src/listeners/http/admission.ts'
import { rateLimiter } from '../../../src/listeners/http/rate-limit.ts'
import { ConfigError, readConfig } from '../../../src/service/config/config.ts'
import { openTestService, type TestService } from '../../support/service.ts'

/** Longer than any test runs. */
const forEverMs = 600_000

/** What waits at the end of a test goes away with it: its timer would keep the program. */
const over = new AbortController()
after(() => over.abort())

const unavailable = () => new Problem('unavailable', { retryAfterSeconds: 1 })

/** Calls named by their caller, a letter, and what became of them. */
function calls(bounds: Partial<AdmissionBounds>) {
  const admission = createAdmission({
    atOnce: 100,
    atOncePerCaller: 100,
    waitingPerCaller: 100,
    waitMs: forEverMs,
    refuse: (_caller, isAtOwnBound) => (isAtOwnBound ? new Problem('rate_limited') : unavailable()),
    ...bounds,
  })
  const begun: string[] = []
  const refused = new Map<string, unknown>()
  const ends = new Map<string, () => void>()
  return {
    begun,
    refused,
    load: admission.load,
    async enter(name: string, { weight = 1, gone = over.signal } = {}) {
      const entering = admission.enter(name.slice(0, 1), { weight, gone })
      entering.then(
        (leave) => {
          begun.push(name)
          ends.set(name, leave)
        },
        (reason: unknown) => refused.set(name, reason),
      )
      await settle()
      return entering.then(
        () => undefined,
        () => undefined,
      )
    },
    async end(name: string) {
      ends.get(name)?.()
      await settle()
    },
  }
}

const enterAll = async ({ enter }: ReturnType<typeof calls>, names: readonly string[]) => {
  for (const name of names) {
    void enter(name)
    await settle()
  }
}

const codeOf = (reason: unknown) => (reason instanceof Problem ? reason.code : reason)

test('what a caller has beyond its bound waits in order, while others begin at once', async () => {
  const all = calls({ atOncePerCaller: 2 })
  await enterAll(all, ['a1', 'a2', 'a3', 'a4', 'b1'])
  assert.deepEqual(all.begun, ['a1', 'a2', 'b1'])
  await all.end('a2')
  await all.end('a1')
  assert.deepEqual(all.begun, ['a1', 'a2', 'b1', 'a3', 'a4'])
  assert.deepEqual(all.load(), { running: 3, waiting: 0 })
})

test('of many who wait, each caller is next in its turn, however much one of them asks for', async () => {
  const all = calls({ atOnce: 2 })
  await enterAll(all, ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2'])
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5']) await all.end(name)
  assert.deepEqual(all.begun, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2', 'a5'])
  assert.deepEqual(all.load(), { running: 0, waiting: 0 })
})

test('a call that is done twice frees its place once', async () => {
  const all = calls({ atOnce: 1 })
  await enterAll(all, ['a1', 'b1', 'c1'])
  await all.end('a1')
  await all.end('a1')
  assert.deepEqual(all.begun, ['a1', 'b1'])
})

test('a heavy call counts as several, and light ones do not pass it by for ever', async () => {
  const all = calls({ atOnce: 8, atOncePerCaller: 8 })
  await enterAll(all, ['a1', 'a2'])
  void all.enter('b1', { weight: 7 })
  await enterAll(all, ['c1', 'c2'])
  assert.deepEqual(all.begun, ['a1', 'a2'])
  await all.end('a1')
  assert.deepEqual(all.begun, ['a1', 'a2', 'b1'])
  await all.end('b1')
  assert.deepEqual(all.begun, ['a1', 'a2', 'b1', 'c1', 'c2'])
})

test('what weighs more than a caller may have begins when the caller has nothing else', async () => {
  const all = calls({ atOncePerCaller: 2 })
  await enterAll(all, ['a1'])
  void all.enter('a2', { weight: 8 })
  await settle()
  assert.deepEqual(all.begun, ['a1'])
  await all.end('a1')
  assert.deepEqual(all.begun, ['a1', 'a2'])
})

test('a client that waits for itself is told 429 in the end, one that waits for others 503', async () => {
  const own = calls({ atOncePerCaller: 1, waitMs: 1 })
  void own.enter('a1')
  await own.enter('a2')
  assert.equal(codeOf(own.refused.get('a2')), 'rate_limited')
  const others = calls({ atOnce: 1, waitMs: 1 })
  void others.enter('a1')
  await others.enter('b1')
  const refusal = others.refused.get('b1')
  assert.ok(refusal instanceof Problem)
  assert.equal(refusal.code, 'unavailable')
  assert.equal(refusal.headers['retry-after'], '1')
  await others.end('a1')
  assert.deepEqual(others.begun, ['a1'])
  assert.deepEqual(others.load(), { running: 0, waiting: 0 })
})

test('a card network is never told 429: what waits too long or too many is 503', async () => {
  const late = calls({ atOncePerCaller: 1, waitMs: 1, refuse: unavailable })
  void late.enter('a1')
  await late.enter('a2')
  assert.equal(codeOf(late.refused.get('a2')), 'unavailable')
  const many = calls({ atOncePerCaller: 1, waitingPerCaller: 2, refuse: unavailable })
  await enterAll(many, ['a1', 'a2', 'a3'])
  await many.enter('a4')
  assert.equal(codeOf(many.refused.get('a4')), 'unavailable')
  assert.deepEqual(many.load(), { running: 1, waiting: 2 })
})

test('who goes away while it waits gives its place up, and what it held up begins', async () => {
  const all = calls({ atOnce: 4 })
  const gone = new AbortController()
  await enterAll(all, ['a1'])
  void all.enter('b1', { weight: 4, gone: gone.signal })
  await enterAll(all, ['c1'])
  assert.deepEqual(all.begun, ['a1'])
  gone.abort('gone')
  await settle()
  assert.deepEqual(all.begun, ['a1', 'c1'])
  assert.equal(all.refused.get('b1'), 'gone')
  const late = AbortSignal.abort('gone before')
  await all.enter('d1', { gone: late })
  assert.equal(all.refused.get('d1'), 'gone before')
  assert.deepEqual(all.load(), { running: 2, waiting: 0 })
})

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

test('what other processes count is taken off here, and what is owed is paid back before the next call', () => {
  let nowMs = 0
  const counted: string[] = []
  let takeOff = (_caller: string, _calls: number): void => undefined
  const rate = rateLimiter(
    { perSecond: 2, burst: 4 },
    () => nowMs,
    'calls',
    (take) => {
      takeOff = take
      return (caller) => void counted.push(caller)
    },
  )
  rate.spend('a')
  takeOff('a', 2)
  assert.equal(rate.left('a'), 1)
  rate.spend('a')
  assert.throws(() => rate.spend('a'))
  assert.deepEqual(counted, ['a', 'a'], 'a refused call is not counted')
  takeOff('a', 3)
  assert.equal(rate.left('a'), 0)
  assert.throws(
    () => rate.spend('a'),
    (error) => secondsOf(error) === 2,
  )
  nowMs += 2_000
  assert.match(rate.spend('a').ratelimit, /r=0;/)
  takeOff('b', 1)
  assert.equal(rate.left('b'), 3)
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
