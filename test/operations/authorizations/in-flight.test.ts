import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { recordLostBlocks } from '../../../src/operations/cards/tries.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import type { Answer } from '../../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { ageWhatWasLost } from './killed.ts'
import { attemptsOf, counterOf, typesOf } from './tried.ts'
import { delayComparisons, hsmAway, type Kind, type WatchedHsm, watchHsm } from './watched-hsm.ts'

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  let card: IssuedCard
  before(async () => {
    opened = await engine.open()
    hsm = watchHsm(opened.services)
  })
  beforeEach(async () => {
    hsm.before = () => {}
    card = await issueCard(opened.service)
  })

  const right = (kind: Kind) =>
    ask(opened.service, kind === 'pin' ? pinTry(opened.service, card) : cvvTry(card))
  const wrong = (kind: Kind) =>
    ask(
      opened.services[1],
      kind === 'pin'
        ? pinTry(opened.service, card, otherDigits(card.pin))
        : cvvTry(card, otherDigits(card.cvv2)),
    )

  const change = async (act: 'unblock' | 'block', kind: Kind): Promise<void> => {
    const path = `/card-${kind}/${card.publicToken}/${kind}`
    const body = { status: act === 'block' ? 'Blocked' : 'Unblocked' }
    const { status } =
      kind === 'pin'
        ? await opened.service.call('POST', `${path}/unblock`)
        : await opened.service.call('PUT', `${path}/status`, { body })
    assert.equal(status, 204)
  }

  const statusOf = async (kind: Kind) => {
    const path = `/card-${kind}/${card.publicToken}/${kind}/status`
    return (await opened.service.call('GET', path)).json
  }

  const remainingOf = async (kind: Kind): Promise<number> => (await statusOf(kind)).remainingTries

  const failures = async (): Promise<string[]> =>
    (await typesOf(opened.database, card.publicToken)).filter((type) => /cvv|pin\.[abu]/.test(type))

  /** Starts one question after the other, so that each has its place at the gate. */
  const compareInOrder = async (kind: Kind, values: readonly ('right' | 'wrong')[]) => {
    const gate = delayComparisons(hsm)
    const answers: Promise<Answer>[] = []
    for (const value of values) {
      answers.push(value === 'right' ? right(kind) : wrong(kind))
      await gate.arrived(answers.length)
    }
    return { gate, answers }
  }

  for (const kind of ['pin', 'cvv'] as const) {
    test(`an unblock of the ${kind} is not undone, nor outdone, by a match that was in flight`, async () => {
      await wrong(kind)
      const { answers, gate } = await compareInOrder(kind, ['right'])
      assert.equal(await remainingOf(kind), 1)
      await change('unblock', kind)
      gate.open()
      await wrong(kind)
      await wrong(kind)
      gate.release(0)
      const [answer] = await Promise.all(answers)
      assert.deepEqual(answer?.json[kind], { result: 'match', remainingTries: 1 })
      assert.equal(await remainingOf(kind), 1)
    })

    test(`a wrong last try of the ${kind} that was in flight does not take from an unblock`, async () => {
      await wrong(kind)
      await wrong(kind)
      const { answers, gate } = await compareInOrder(kind, ['wrong'])
      assert.equal((await statusOf(kind)).status, 'Blocked')
      await change('unblock', kind)
      gate.release(0)
      const [answer] = await Promise.all(answers)
      assert.deepEqual(answer?.json[kind], { result: 'mismatch', remainingTries: 3 })
      assert.equal(await remainingOf(kind), 3)
      assert.ok(!(await failures()).includes(`${kind}.blocked`))
    })

    test(`while the last try of the ${kind} may match, its block is not told, and then told once`, async () => {
      const { answers, gate } = await compareInOrder(kind, ['wrong', 'wrong', 'wrong'])
      assert.equal((await statusOf(kind)).status, 'Blocked')
      for (const place of [2, 0]) {
        gate.release(place)
        await answers[place]
        await recordLostBlocks({ database: opened.database })
        assert.ok(!(await failures()).includes(`${kind}.blocked`))
      }
      gate.release(1)
      await Promise.all(answers)
      await recordLostBlocks({ database: opened.database })
      assert.deepEqual(await failures(), [
        ...Array.from({ length: 3 }, () => `${kind}.attempt_failed`),
        `${kind}.blocked`,
      ])
    })

    test(`a match of the ${kind} gives back the tries up to its own, and none that were spent later`, async () => {
      const { answers, gate } = await compareInOrder(kind, ['wrong', 'right', 'wrong'])
      for (const place of [2, 0, 1]) {
        gate.release(place)
        await answers[place]
      }
      const results = (await Promise.all(answers)).map(({ json }) => json[kind])
      assert.deepEqual(results, [
        { result: 'mismatch', remainingTries: 0 },
        { result: 'match', remainingTries: 2 },
        { result: 'mismatch', remainingTries: 0 },
      ])
      assert.equal(await remainingOf(kind), 2)
      assert.ok(!(await failures()).includes(`${kind}.blocked`))
    })

    test(`a silent HSM costs no try of the ${kind}, gives each back once, and tells nobody of a failure`, async () => {
      const { answers, gate } = await compareInOrder(kind, ['wrong', 'right', 'wrong'])
      gate.release(0, hsmAway())
      assert.deepEqual((await answers[0])?.json.responseCode, '96')
      assert.equal(await remainingOf(kind), 1)
      gate.release(1)
      await answers[1]
      assert.equal(await remainingOf(kind), 2)
      gate.release(2, new Error('a fault of another kind'))
      const last = await answers[2]
      assert.deepEqual(last?.json[kind], { result: 'unresolved', remainingTries: 3 })
      const counter = await counterOf(opened.database, card.publicToken, kind)
      assert.deepEqual([counter.spent, counter.restored], [3, 3])
      const attempts = await attemptsOf(opened.database, card.publicToken, kind)
      assert.deepEqual(
        attempts.map(({ result }) => result),
        ['unresolved', 'match', 'unresolved'],
      )
      assert.deepEqual(await failures(), [])
    })

    test(`an HSM that falls silent after an unblock of the ${kind} gives back nothing of the new tries`, async () => {
      const { answers, gate } = await compareInOrder(kind, ['right'])
      await change('unblock', kind)
      gate.open()
      await wrong(kind)
      gate.release(0, hsmAway())
      await Promise.all(answers)
      assert.equal(await remainingOf(kind), 2)
      assert.equal(await remainingOf(kind === 'pin' ? 'cvv' : 'pin'), 3)
    })

    test(`once a block of the ${kind} was told for a lost try, that try gives nothing back any more`, async () => {
      const { answers, gate } = await compareInOrder(kind, ['wrong', 'wrong', 'right'])
      for (const place of [0, 1]) {
        gate.release(place)
        await answers[place]
      }
      await ageWhatWasLost(opened.database)
      await recordLostBlocks({ database: opened.database })
      assert.equal((await failures()).at(-1), `${kind}.blocked`)
      gate.release(2)
      await Promise.all(answers)
      assert.equal((await statusOf(kind)).status, 'Blocked')
    })
  }

  test('a block by the client is not undone by a CVV2 that was in flight and matched', async () => {
    await wrong('cvv')
    const { answers, gate } = await compareInOrder('cvv', ['right'])
    await change('block', 'cvv')
    gate.release(0)
    await Promise.all(answers)
    assert.deepEqual(await statusOf('cvv'), {
      status: 'Blocked',
      description: 'The CVV is blocked by the client.',
      remainingTries: 0,
    })
    assert.equal((await right('cvv')).json.responseCode, 'N7')
  })

  test('a try is on record, spent and unresolved, before anything is compared', async () => {
    const { answers, gate } = await compareInOrder('pin', ['right'])
    assert.equal(hsm.countOf('pin', card.publicToken), 0)
    const listed = await opened.service.call('GET', `/cards/${card.publicToken}/attempts`)
    assert.deepEqual(
      listed.json.map(({ remainingTries, result }: Record<string, unknown>) => [
        result,
        remainingTries,
      ]),
      [['unresolved', 2]],
    )
    gate.release(0)
    await Promise.all(answers)
    assert.equal(await remainingOf('pin'), 3)
  })

  test('comparisons that take long hold no connection: everything else goes on', async () => {
    const others = await Promise.all(Array.from({ length: 15 }, () => issueCard(opened.service)))
    const gate = delayComparisons(hsm)
    const waiting = others.map((other) => ask(opened.service, pinTry(opened.service, other)))
    await gate.arrived(15)
    assert.equal((await statusOf('pin')).remainingTries, 3)
    await change('unblock', 'pin')
    for (const place of others.keys()) gate.release(place)
    const answers = await Promise.all(waiting)
    assert.ok(answers.every(({ json }) => json.approved))
  })
})
