import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { recordLostBlocks } from '../../../src/operations/cards/tries.ts'
import { cases } from '../../support/cases.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import { type Answer, sql } from '../../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { ageWhatWasLost } from './killed.ts'
import { attemptsOf, keepTriesFresh, typesOf } from './tried.ts'
import {
  brokenRules,
  type Comparison,
  enter,
  type Kind,
  type Ledger,
  openLedger,
  type RecordedEvent,
  type Step,
  type View,
} from './tries-rules.ts'
import { delayComparisons, type Gate, hsmAway, type WatchedHsm, watchHsm } from './watched-hsm.ts'

/**
 * What a history is made of. Which of the tries in flight is settled is chosen when it is known.
 */
type Move =
  | { act: 'ask'; right: boolean }
  | { act: 'settle'; which: number; silent: boolean }
  | { act: 'unblock' | 'block' | 'lose' }

const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('ask' as const), right: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant('settle' as const),
      which: fc.nat(20),
      silent: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constantFrom('unblock' as const, 'block' as const, 'lose' as const),
    }),
  },
)

const histories = fc.array(moves, { minLength: 5, maxLength: 25 })

type Flight = {
  by: string
  right: boolean
  place: number
  answer: Promise<Answer>
}

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  let card: IssuedCard
  before(async () => {
    opened = await engine.open()
    await keepTriesFresh(opened.database)
    hsm = watchHsm(opened.services)
    card = await issueCard(opened.service)
  })

  for (const kind of ['pin', 'cvv'] as const) {
    test(`whatever happens to the ${kind} in whatever order ends as the seven rules say`, async () => {
      const property = fc.asyncProperty(histories, async (history) => {
        await startAnew()
        await new Run(opened, hsm, card, kind).play(history)
      })
      await fc.assert(property, cases(15, 1_000))
    })
  }

  /** As a card that was never tried: cheaper than a new one for each history. */
  const startAnew = async (): Promise<void> => {
    const values = [card.publicToken]
    const requests = 'delete from authorization_request where public_token = $1'
    await sql(opened.database, requests, values)
    await sql(opened.database, 'delete from event where public_token = $1', values)
    await sql(opened.database, 'update card set last_sequence = 0 where public_token = $1', values)
    await sql(
      opened.database,
      `update try_counter set spent = 0, restored = 0, epoch = 1, is_withdrawn = false,
         block_reported = false where public_token = $1`,
      values,
    )
  }
})

/** Plays one history against the service, and holds each step of it to the rules. */
class Run {
  readonly #opened: Services
  readonly #card: IssuedCard
  readonly #kind: Kind
  readonly #gate: Gate
  readonly #ledgers: Record<Kind, Ledger> = { pin: openLedger(3), cvv: openLedger(3) }
  readonly #way: string[] = []
  #views: Record<Kind, View> = { pin: fresh, cvv: fresh }
  #flights: Flight[] = []
  #recorded = 0
  #asked = 0
  #arrived = 0

  constructor(opened: Services, hsm: WatchedHsm, card: IssuedCard, kind: Kind) {
    this.#opened = opened
    this.#card = card
    this.#kind = kind
    this.#gate = delayComparisons(hsm)
  }

  async play(history: readonly Move[]): Promise<void> {
    for (const move of history) {
      if (move.act === 'ask') await this.#ask(move.right)
      else if (move.act === 'settle') await this.#settle(move.which, move.silent)
      else if (move.act === 'lose') await this.#lose()
      else await this.#change(move.act)
    }
    while (this.#flights.length > 0) await this.#settle(0, false)
  }

  async #ask(right: boolean): Promise<void> {
    const by = String(this.#asked++)
    const { service, services } = this.#opened
    const answer = ask(services[this.#asked % 2] ?? service, this.#question(right))
    // Answered without a comparison, or at the HSM.
    const early = await Promise.race([answer, this.#gate.arrived(this.#arrived + 1)])
    if (early) {
      assert.deepEqual(early.json[this.#kind], { result: 'blocked', remainingTries: 0 })
      return this.#record({ act: 'spend', by, number: null })
    }
    this.#flights.push({ by, right, place: this.#arrived, answer })
    this.#arrived += 1
    const attempts = await attemptsOf(this.#opened.database, this.#card.publicToken, this.#kind)
    const number = attempts.at(-1)?.tryNumber
    await this.#record(number === undefined ? { act: 'spend', by } : { act: 'spend', by, number })
    await this.#record({ act: 'compare', by })
  }

  #question(right: boolean): object {
    const { service } = this.#opened
    if (this.#kind === 'cvv') {
      return cvvTry(this.#card, right ? this.#card.cvv2 : otherDigits(this.#card.cvv2))
    }
    return pinTry(service, this.#card, right ? this.#card.pin : otherDigits(this.#card.pin))
  }

  async #settle(which: number, silent: boolean): Promise<void> {
    const [flight] = this.#flights.splice(which % Math.max(1, this.#flights.length), 1)
    if (!flight) return
    const comparison: Comparison = silent ? 'unresolved' : flight.right ? 'match' : 'mismatch'
    this.#gate.release(flight.place, silent ? hsmAway() : undefined)
    const { json } = await flight.answer
    const { remainingTries: remaining, result } = json[this.#kind]
    assert.equal(result, comparison)
    const recorded = await this.#newlyRecorded()
    assert.equal(recorded.includes('attempt_failed'), comparison === 'mismatch')
    await this.#record({ act: 'settle', by: flight.by, comparison, remaining, recorded })
  }

  async #lose(): Promise<void> {
    const { database } = this.#opened
    await ageWhatWasLost(database)
    for (const { by } of this.#flights) await this.#record({ act: 'lapse', by })
    await recordLostBlocks({ database })
    await this.#record({ act: 'sweep', recorded: await this.#newlyRecorded() })
  }

  /** Only the CVV can be blocked by the client. */
  async #change(act: 'unblock' | 'block'): Promise<void> {
    const { service } = this.#opened
    const path = `/card-${this.#kind}/${this.#card.publicToken}/${this.#kind}`
    if (this.#kind === 'pin') {
      if (act === 'block') return
      await service.call('POST', `${path}/unblock`)
    } else {
      const body = { status: act === 'block' ? 'Blocked' : 'Unblocked' }
      await service.call('PUT', `${path}/status`, { body })
    }
    const recorded = await this.#newlyRecorded()
    assert.deepEqual(recorded, [`${act}ed`])
    await this.#record({ act, recorded })
  }

  async #newlyRecorded(): Promise<RecordedEvent[]> {
    const types = await typesOf(this.#opened.database, this.#card.publicToken)
    const recorded = types
      .slice(this.#recorded)
      .map((type) => type.replace(`${this.#kind}.`, '') as RecordedEvent)
    this.#recorded = types.length
    return recorded
  }

  async #record(step: Step): Promise<void> {
    const before = this.#ledgers[this.#kind]
    const after = enter(before, step)
    const views = { pin: await this.#view('pin'), cvv: await this.#view('cvv') }
    const other = this.#kind === 'pin' ? 'cvv' : 'pin'
    const otherKind = { before: this.#views[other], after: views[other] }
    this.#way.push(JSON.stringify(step))
    const broken = brokenRules({ before, step, after, view: views[this.#kind], otherKind })
    assert.deepEqual(broken, [], `${this.#way.join('\n')}\n${JSON.stringify(views)}`)
    this.#ledgers[this.#kind] = after
    this.#views = views
  }

  /** What the client is told, with what is on record. */
  async #view(kind: Kind): Promise<View> {
    const { database, service } = this.#opened
    const { publicToken } = this.#card
    const { json } = await service.call('GET', `/card-${kind}/${publicToken}/${kind}/status`)
    assert.equal(json.status, json.remainingTries === 0 ? 'Blocked' : 'Unblocked')
    const attempts = await attemptsOf(database, publicToken, kind)
    return {
      remaining: json.remainingTries,
      attempts: attempts.map(({ result, tryNumber: number }) => ({ number, result })),
    }
  }
}

const fresh: View = { remaining: 3, attempts: [] }
