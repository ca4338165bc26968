import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { ask, cvvTry, type IssuedCard, issueCard, otherDigits } from '../support/network.ts'
import { onEachEngine, type Services } from './engines.ts'
import { counterOf, typesOf } from './tried.ts'
import {
  type Comparison,
  freshTries,
  type Outcome,
  remainingOf,
  type TriesState,
  takeStep,
} from './tries-model.ts'
import { hsmAway, type WatchedHsm, watchHsm } from './watched-hsm.ts'

type Act = 'right' | 'wrong' | 'silent' | 'unblock' | 'block'

/** What somebody asked for, all at once with the others, and what it was answered. */
type Done = { by: string; act: Act; outcome: Outcome | null; isSpent: boolean }

const races = fc.array(
  fc.record({
    act: fc.constantFrom<Act>('right', 'wrong', 'wrong', 'wrong', 'silent', 'unblock', 'block'),
    /** Turns of the event loop before it begins. */
    delay: fc.nat(12),
  }),
  { minLength: 3, maxLength: 7 },
)

const comparisons: Partial<Record<Act, Comparison>> = {
  right: 'match',
  wrong: 'mismatch',
  silent: 'unresolved',
}

/** Whether some order of the steps of all of them gives what was answered, told and left. */
const isExplained = (
  state: TriesState,
  pending: readonly Done[],
  told: readonly string[],
  remaining: number,
): boolean => {
  if (state.told.some((type, at) => type !== told[at])) return false
  if (pending.length === 0)
    return state.told.length === told.length && remainingOf(state) === remaining
  return pending.some((done) => {
    const comparison = comparisons[done.act]
    const others = pending.filter((each) => each !== done)
    if (done.act === 'unblock' || done.act === 'block') {
      return isExplained(takeStep(state, { act: done.act })[0], others, told, remaining)
    }
    if (!comparison) return false
    const step = done.isSpent
      ? ({ act: 'settle', by: done.by, comparison } as const)
      : ({ act: 'spend', by: done.by } as const)
    const [after, outcome] = takeStep(state, step)
    const isDone = done.isSpent || outcome.result === 'blocked'
    if (isDone) return isSame(outcome, done.outcome) && isExplained(after, others, told, remaining)
    if (done.outcome?.result === 'blocked') return false
    return isExplained(after, [...others, { ...done, isSpent: true }], told, remaining)
  })
}

const isSame = (one: Outcome, other: Outcome | null): boolean =>
  one.result === other?.result && one.remaining === other.remaining

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  before(async () => {
    opened = await engine.open()
    hsm = watchHsm(opened.services)
  })

  test('attempts, blocks and unblocks that race end as some order of them explains', async () => {
    const property = fc.asyncProperty(races, fc.array(fc.nat(6), { minLength: 7 }), race)
    await fc.assert(property, { numRuns: 15 })
  })

  const race = async (acts: { act: Act; delay: number }[], slowness: number[]): Promise<void> => {
    hsm.before = () => {}
    const card = await issueCard(opened.service)
    let compared = 0
    const silent = otherDigits(card.cvv2, 2)
    hsm.before = async (_, cvv2) => {
      if (cvv2 === silent) throw hsmAway()
      for (let turns = slowness[compared++] ?? 0; turns > 0; turns -= 1) await turn()
    }
    const done = await Promise.all(
      acts.map(async ({ act, delay }, index) => {
        for (let turns = delay; turns > 0; turns -= 1) await turn()
        return perform(card, act, index)
      }),
    )
    const told = (await typesOf(opened.database, card.publicToken))
      .filter((type) => type.startsWith('cvv.'))
      .map((type) => type.slice(4))
    const { remaining } = await counterOf(opened.database, card.publicToken, 'cvv')
    assert.ok(
      isExplained(freshTries(3), done, told, remaining),
      JSON.stringify({ done, told, remaining }),
    )
  }

  const perform = async (card: IssuedCard, act: Act, index: number): Promise<Done> => {
    const service = opened.services[index % 2] ?? opened.service
    const by = String(index)
    if (act === 'unblock' || act === 'block') {
      const body = { status: act === 'block' ? 'Blocked' : 'Unblocked' }
      const path = `/card-cvv/${card.publicToken}/cvv/status`
      assert.equal((await service.call('PUT', path, { body })).status, 204)
      return { by, act, outcome: null, isSpent: false }
    }
    const tried = act === 'right' ? card.cvv2 : otherDigits(card.cvv2, act === 'wrong' ? 1 : 2)
    const { json } = await ask(service, cvvTry(card, tried))
    const { remainingTries: remaining, result } = json.cvv
    return { by, act, outcome: { result, remaining }, isSpent: false }
  }
})
