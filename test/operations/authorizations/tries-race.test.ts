import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { cases } from '../../support/cases.ts'
import { ask, cvvTry, type IssuedCard, issueCard, otherDigits } from '../../support/network.ts'
import { onEachEngine, type Services } from './engines.ts'
import { counterOf, keepTriesFresh, typesOf } from './tried.ts'
import {
  brokenRules,
  type Comparison,
  enter,
  type Ledger,
  openLedger,
  type RecordedEvent,
  remainingOf,
  type Step,
} from './tries-rules.ts'
import { hsmAway, type WatchedHsm, watchHsm } from './watched-hsm.ts'

type Act = 'right' | 'wrong' | 'silent' | 'unblock' | 'block'

/** What somebody asked for, all at once with the others, and what it was answered. */
type Done = {
  by: string
  act: Act
  outcome: { result: string; remaining: number } | null
  isSpent: boolean
}

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

/**
 * Whether some order of the steps of all of them, in which no rule is broken, ends in what is left.
 */
const isExplained = (
  ledger: Ledger,
  pending: readonly Done[],
  recorded: readonly RecordedEvent[],
  remaining: number,
): boolean => {
  if (pending.length === 0) return recorded.length === 0 && remainingOf(ledger) === remaining
  return pending.some((done) => {
    const others = pending.filter((each) => each !== done)
    return waysOf(done, recorded).some(({ left, step }) => {
      const after = enter(ledger, step)
      const transition = { before: ledger, step, after, view: null, otherKind: null }
      if (brokenRules(transition).length > 0) return false
      const isInFlight = step.act === 'spend' && done.outcome?.result !== 'blocked'
      const still = isInFlight ? [...others, { ...done, isSpent: true }] : others
      return isExplained(after, still, left, remaining)
    })
  })
}

/** What somebody's next step may have been, and the events that it leaves to the others. */
const waysOf = (
  done: Done,
  recorded: readonly RecordedEvent[],
): { step: Step; left: readonly RecordedEvent[] }[] => {
  const { act, by, isSpent, outcome } = done
  if (act === 'unblock' || act === 'block') {
    const own = `${act}ed` as const
    return recorded[0] === own ? [{ step: { act, recorded: [own] }, left: recorded.slice(1) }] : []
  }
  const comparison = comparisons[act]
  if (!comparison || !outcome) return []
  if (outcome.result === 'blocked')
    return [{ step: { act: 'spend', by, number: null }, left: recorded }]
  if (!isSpent) return [{ step: { act: 'spend', by }, left: recorded }]
  if (outcome.result !== comparison) return []
  const { remaining } = outcome
  const settled = { act: 'settle', by, comparison, remaining } as const
  if (comparison !== 'mismatch') return [{ step: { ...settled, recorded: [] }, left: recorded }]
  if (recorded[0] !== 'attempt_failed') return []
  const alone = { step: { ...settled, recorded: recorded.slice(0, 1) }, left: recorded.slice(1) }
  const withBlock = {
    step: { ...settled, recorded: recorded.slice(0, 2) },
    left: recorded.slice(2),
  }
  return recorded[1] === 'blocked' ? [alone, withBlock] : [alone]
}

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  before(async () => {
    opened = await engine.open()
    await keepTriesFresh(opened.database)
    hsm = watchHsm(opened.services)
  })

  test('attempts, blocks and unblocks that race end as some order of them explains', async () => {
    const property = fc.asyncProperty(races, fc.array(fc.nat(6), { minLength: 7 }), race)
    await fc.assert(property, cases(15, 1_000))
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
    const recorded = (await typesOf(opened.database, card.publicToken))
      .filter((type) => type.startsWith('cvv.'))
      .map((type) => type.slice(4) as RecordedEvent)
    const { remaining } = await counterOf(opened.database, card.publicToken, 'cvv')
    assert.ok(
      isExplained(openLedger(3), done, recorded, remaining),
      JSON.stringify({ done, recorded, remaining }),
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
