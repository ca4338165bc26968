import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, beforeEach, test } from 'node:test'
import { sweep } from '../../../src/operations/cards/status.ts'
import { ageIdempotencyKey } from '../../support/builders.ts'
import {
  addNetwork,
  ask,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import type { Answer } from '../../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { ageWhatWasLost } from './killed.ts'
import { attemptsOf, counterOf, typesOf } from './tried.ts'
import { delayComparisons, type WatchedHsm, watchHsm } from './watched-hsm.ts'

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  let card: IssuedCard
  let key: string
  before(async () => {
    opened = await engine.open()
    hsm = watchHsm(opened.services)
  })
  beforeEach(async () => {
    hsm.before = () => {}
    card = await issueCard(opened.service)
    key = randomUUID()
  })

  const question = (pin = card.pin, members: object = {}) => ({
    ...pinTry(opened.service, card, pin),
    reference: 'R-1',
    ...members,
  })

  const send = (body: object, on: 0 | 1 = 0): Promise<Answer> =>
    ask(opened.services[on], body, { headers: { 'idempotency-key': key } })

  const spent = async (): Promise<number> =>
    (await counterOf(opened.database, card.publicToken)).spent

  const resultsOf = async () =>
    (await attemptsOf(opened.database, card.publicToken)).map(({ result }) => result)

  const isReplay = ({ headers }: Answer): boolean => headers['idempotency-replayed'] === 'true'

  test('a repeat gets the first answer, from any process, and spends nothing', async () => {
    const wrong = question(otherDigits(card.pin))
    const first = await send(wrong)
    assert.deepEqual([first.json.responseCode, isReplay(first)], ['55', false])
    for (const on of [0, 1] as const) {
      const repeat = await send(wrong, on)
      assert.deepEqual([repeat.status, repeat.text, isReplay(repeat)], [200, first.text, true])
    }
    assert.equal(await spent(), 1)
  })

  test('the first answer stays the answer, whatever has become of the card since', async () => {
    const right = question()
    const first = await send(right)
    await opened.service.call('PUT', `/cards/${card.publicToken}/status`, {
      body: { cardStatusCode: '41' },
    })
    assert.equal((await send(right)).text, first.text)
    assert.equal(first.json.approved, true)
  })

  test('a repeat may leave out what is false by default, and may not change its meaning', async () => {
    const plain = question(card.pin, { amount: 100, currency: 'EUR' })
    const written = { ...plain, partialAllowed: false, isIncrement: false }
    const first = await send(written)
    assert.equal(first.json.responseCode, '00')
    const repeat = await send(plain, 1)
    assert.deepEqual([repeat.status, repeat.text, isReplay(repeat)], [200, first.text, true])
    const other = await send({ ...plain, partialAllowed: true })
    assert.deepEqual([other.status, other.json.code], [422, 'idempotency_key_reused'])
  })

  test('an objection before the try is remembered under the key, too', async () => {
    const unknown = { publicToken: '9999999999', entryMode: 'chip', reference: 'R-1' }
    const first = await send(unknown)
    assert.equal(first.json.responseCode, '14')
    const repeat = await send(unknown, 1)
    assert.deepEqual([repeat.text, isReplay(repeat)], [first.text, true])
  })

  test('one of fifty concurrent requests under one key spends a try, and all return the same answer', async () => {
    const wrong = question(otherDigits(card.pin))
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => send(wrong, index % 2 === 0 ? 0 : 1)),
    )
    assert.equal(await spent(), 1)
    assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1)
    assert.deepEqual([...new Set(answers.map(({ text }) => text))].length, 1)
  })

  test('while the first one is in flight its repeat is told so, and then gets its answer', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    const repeat = await send(right, 1)
    assert.deepEqual([repeat.status, repeat.json.code], [409, 'idempotency_key_in_use'])
    assert.ok(Number(repeat.headers['retry-after']) >= 1)
    const waiting = send(right, 1)
    gate.release(0)
    assert.equal((await waiting).text, (await first).text)
    assert.equal(await spent(), 1)
  })

  test('where the first result was lost a repeat is 96, approves nothing and spends nothing', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    await ageWhatWasLost(opened.database)
    for (const on of [0, 1] as const) {
      const repeat = await send(right, on)
      assert.equal(isReplay(repeat), true)
      assert.deepEqual(repeat.json, {
        approved: false,
        responseCode: '96',
        publicToken: card.publicToken,
        reference: 'R-1',
        pin: { result: 'not_checked', remainingTries: 2 },
        cvv: { result: 'not_checked', remainingTries: 3 },
      })
    }
    gate.release(0)
    await first
    assert.equal(await spent(), 1)
    assert.equal(hsm.countOf('pin', card.publicToken), 1)
  })

  test('a question has one answer: what a repeat recorded as lost, the slow first one answers too', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    await ageWhatWasLost(opened.database)
    const repeat = await send(right, 1)
    assert.equal(repeat.json.responseCode, '96')
    gate.release(0)
    for (const answer of [await first, await send(right), await send(right, 1)]) {
      assert.deepEqual([answer.status, answer.text, isReplay(answer)], [200, repeat.text, true])
    }
    // Its match still counts: the try is given back, and no other was spent.
    const { remaining, restored } = await counterOf(opened.database, card.publicToken)
    assert.deepEqual([await spent(), restored, remaining], [1, 1, 3])
    assert.deepEqual(await resultsOf(), ['match'])
  })

  test('a slow wrong PIN that is answered 96 stays spent, and its failure is told', async () => {
    const gate = delayComparisons(hsm)
    const wrong = question(otherDigits(card.pin))
    const first = send(wrong)
    await gate.arrived(1)
    await ageWhatWasLost(opened.database)
    const repeat = await send(wrong, 1)
    gate.release(0)
    assert.equal((await first).text, repeat.text)
    const { remaining } = await counterOf(opened.database, card.publicToken)
    assert.deepEqual([await spent(), remaining, await resultsOf()], [1, 2, ['mismatch']])
    assert.ok((await typesOf(opened.database, card.publicToken)).includes('pin.attempt_failed'))
  })

  test('of a slow first one and its repeats that end at once all are told the same', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    await ageWhatWasLost(opened.database)
    const repeats = Array.from({ length: 20 }, (_, index) => send(right, index % 2 === 0 ? 0 : 1))
    gate.release(0)
    const answers = await Promise.all([first, ...repeats])
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    assert.equal(await spent(), 1)
  })

  test('a first one that outlives the day of its key approves nothing, and leaves the key to who has it now', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    await ageIdempotencyKey(opened.service, key, '25 hours', 'demo-network')
    await sweep(opened.service.issuing)
    gate.open()
    const wrong = question(otherDigits(card.pin))
    const next = await send(wrong, 1)
    assert.deepEqual([next.json.responseCode, isReplay(next)], ['55', false])
    gate.release(0)
    assert.deepEqual([(await first).status, (await first).json.responseCode], [200, '96'])
    assert.equal((await send(wrong)).text, next.text)
  })

  test('another request under a key retires it: it answers no further request, and discloses no PIN', async () => {
    const right = question()
    assert.equal((await send(right)).json.approved, true)
    const other = await send(question(otherDigits(card.pin)), 1)
    assert.deepEqual([other.status, other.json.code], [422, 'idempotency_key_reused'])
    const again = await send(right)
    assert.deepEqual([again.status, again.json.code], [422, 'idempotency_key_reused'])
    assert.equal(await spent(), 1)
  })

  test('a question retired while it is in flight still ends once, and its key stays retired', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    assert.equal((await send(question(otherDigits(card.pin)), 1)).status, 422)
    gate.release(0)
    assert.equal((await first).json.approved, true)
    assert.equal((await send(right)).json.code, 'idempotency_key_reused')
    assert.equal((await attemptsOf(opened.database, card.publicToken)).length, 1)
  })

  test('a repeat that waits when its key is retired is told so, and spends nothing', async () => {
    const gate = delayComparisons(hsm)
    const right = question()
    const first = send(right)
    await gate.arrived(1)
    const waiting = send(right, 1)
    assert.equal((await send(question(otherDigits(card.pin)), 1)).status, 422)
    const { json, status } = await waiting
    assert.deepEqual([status, json.code], [422, 'idempotency_key_reused'])
    gate.release(0)
    await first
    assert.equal(await spent(), 1)
  })

  test('a key belongs to its network: another one under the same key asks anew', async () => {
    const other = await addNetwork(opened.service)
    const plain = { publicToken: card.publicToken, entryMode: 'chip', reference: 'R-1' }
    const first = await send(plain)
    const headers = { 'idempotency-key': key }
    const answer = await ask(
      opened.service,
      { ...plain, reference: 'R-2' },
      { token: other.token, headers },
    )
    assert.deepEqual([isReplay(first), isReplay(answer), answer.status], [false, false, 200])
  })

  test('a question that was refused for its shape leaves its key free', async () => {
    assert.equal((await send({ ...question(), entryMode: 'swipe' })).status, 422)
    assert.equal((await send(question())).json.approved, true)
  })
})
