import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { product } from '../../support/builders.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  type Answer,
  openServerDatabase,
  openTestService,
  pool,
  sql,
} from '../../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { assertExplained, attemptsOf, counterOf, typesOf } from './tried.ts'
import { type WatchedHsm, watchHsm } from './watched-hsm.ts'

const postgres = await openPostgres()
const generous = 3101
/**
 * More at once than both services have connections for, many times over. On a cluster, where a call
 * takes three to five times as long, a thousand calls exceed the minute that one may wait on a busy
 * machine.
 */
const burst = postgres.isCluster ? 250 : 1_000
/**
 * Those that wait for the row of a card hold it in turn, and on a cluster for both phases of a
 * commit.
 */
const poolSize = postgres.isCluster ? 3 : 10
const called = burst.toLocaleString('en')

/** How often each answer was given. */
const tally = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { json, status } of answers) {
    const name = status === 200 ? json.responseCode : `${status} ${json.code}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  before(async () => {
    // A question waits as long as a machine takes that does much else: what is told here is the
    // answers.
    opened = await engine.open({ env: { CALL_WAIT_MS: '60000' }, poolSize })
    hsm = watchHsm(opened.services)
    await product(opened.service.database, {
      productId: generous,
      pinTryLimit: 15,
      cvvTryLimit: 15,
    })
  })

  /** Asks all questions at once, of both services in turn. */
  const askAll = (
    questions: readonly object[],
    onAnswer: (index: number) => Promise<void> = async () => {},
  ): Promise<Answer[]> =>
    Promise.all(
      questions.map(async (question, index) => {
        const answer = await ask(opened.services[index % 2] ?? opened.service, question)
        await onAnswer(index)
        return answer
      }),
    )

  const repeat = (count: number, make: (index: number) => object): object[] =>
    Array.from({ length: count }, (_, index) => make(index))

  test(`of ${called} wrong PINs at once the try limit is compared, and the rest are told it is blocked`, async () => {
    const card = await issueCard(opened.service)
    const answers = await askAll(
      repeat(burst, (index) =>
        pinTry(opened.service, card, otherDigits(card.pin, 1 + (index % 9))),
      ),
    )
    assert.deepEqual(tally(answers), { 55: 3, 75: burst - 3 })
    assert.equal(hsm.countOf('pin', card.publicToken), 3)
    assertExplained(
      await attemptsOf(opened.database, card.publicToken),
      await counterOf(opened.database, card.publicToken),
    )
    assert.deepEqual(await typesOf(opened.database, card.publicToken), [
      'card.created',
      'pin.revealed',
      ...Array.from({ length: 3 }, () => 'pin.attempt_failed'),
      'pin.blocked',
    ])
    const late = await ask(opened.service, pinTry(opened.service, card))
    assert.deepEqual([late.json.responseCode, late.json.pin.result], ['75', 'blocked'])
  })

  test(`of ${called} wrong CVV2s at once the try limit is compared, and the rest cost nothing`, async () => {
    const card = await issueCard(opened.service)
    // What finding out the right one took.
    const known = hsm.countOf('cvv', card.publicToken)
    const answers = await askAll(
      repeat(burst, (index) => cvvTry(card, otherDigits(card.cvv2, 1 + (index % 9)))),
    )
    const results = answers.map(({ json }) => json.cvv.result)
    assert.deepEqual(tally(answers), { N7: burst })
    assert.equal(results.filter((result) => result === 'mismatch').length, 3)
    assert.equal(results.filter((result) => result === 'blocked').length, burst - 3)
    assert.equal(hsm.countOf('cvv', card.publicToken), known + 3)
    assert.equal((await attemptsOf(opened.database, card.publicToken, 'cvv')).length, 3)
    const pin = await counterOf(opened.database, card.publicToken, 'pin')
    assert.equal(pin.spent, 0, 'the PIN counts apart')
  })

  test(`of ${called} PINs at once, every other one wrong, never more go wrong in a row than the limit`, async () => {
    const limit = 15
    const card = await issueCard(opened.service, { cardProduct: generous })
    const samples: number[] = []
    const answers = await askAll(
      repeat(burst, (index) =>
        pinTry(opened.service, card, index % 2 === 0 ? card.pin : otherDigits(card.pin)),
      ),
      async (index) => {
        if (index % (burst / 50) === 0) samples.push(await remainingOf(card))
      },
    )
    assert.equal(samples.length, 50)
    for (const sample of samples) assert.ok(sample >= 0 && sample <= limit, `${sample} remain`)
    const attempts = await attemptsOf(opened.database, card.publicToken)
    assertExplained(attempts, await counterOf(opened.database, card.publicToken))
    const counts = tally(answers)
    const ofResult = (result: string) =>
      attempts.filter((attempt) => attempt.result === result).length
    assert.equal(counts['00'] ?? 0, ofResult('match'))
    assert.equal(counts['55'] ?? 0, ofResult('mismatch'))
    assert.equal((counts['00'] ?? 0) + (counts['55'] ?? 0) + (counts['75'] ?? 0), burst)
    assert.equal(hsm.countOf('pin', card.publicToken), attempts.length)
  })

  const remainingOf = async ({ publicToken }: IssuedCard): Promise<number> => {
    const { json } = await opened.service.call('GET', `/card-pin/${publicToken}/pin/status`)
    assert.equal(json.status === 'Blocked', json.remainingTries === 0)
    return json.remainingTries
  }
})

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('while the database is away an authorization is 503, and it is answered when it is back', async () => {
    const { database, url } = await openServerDatabase(postgres)
    const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
    const card = await issueCard(service)
    await ask(service, pinTry(service, card))
    const operator = pool(postgres.url ?? '', 1)
    const name = new URL(url).pathname.slice(1)
    const away = async (isAway: boolean): Promise<void> => {
      await operator.script(`alter database "${name}" with allow_connections ${!isAway}`)
      if (!isAway) return
      await sql(
        operator,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
        [name],
      )
    }
    await away(true)
    for (const headers of [{}, { 'idempotency-key': 'K-1' }]) {
      const answer = await ask(service, pinTry(service, card), { headers })
      assert.deepEqual([answer.status, answer.json.code], [503, 'unavailable'])
      assert.ok(Number(answer.headers['retry-after']) >= 1)
      assert.doesNotMatch(answer.text, /select|connect|database "/)
    }
    await away(false)
    await operator.close()
    const headers = { 'idempotency-key': 'K-1' }
    const again = await ask(service, pinTry(service, card), { headers })
    assert.equal(again.json.approved, true)
  })

  test(`of ${called} questions at once on two connections none is refused for their number`, async () => {
    const { database } = await openServerDatabase(postgres, 2)
    // They wait as long as a machine takes that does much else.
    const service = await openTestService({ database, env: { CALL_WAIT_MS: '60000' } })
    const cards = await Promise.all(Array.from({ length: 10 }, () => issueCard(service)))
    const answers = await Promise.all(
      Array.from({ length: burst }, (_, index) => {
        const card = cards[index % 10]
        return card ? ask(service, pinTry(service, card)) : null
      }),
    )
    assert.deepEqual(new Set(answers.map((answer) => answer?.status)), new Set([200]))
    const codes = new Set(answers.map((answer) => answer?.json.responseCode))
    for (const code of codes) assert.ok(code === '00' || code === '75', code)
    const compared = answers.filter((answer) => answer?.json.responseCode === '00')
    const [spent] = await sql<{ tries: number }>(
      database,
      'select count(*)::integer as tries from attempt',
    )
    assert.equal(spent?.tries, compared.length)
  })
})
