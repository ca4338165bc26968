import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { tellLostBlocks } from '../../src/authorizing/tell-lost-blocks.ts'
import { ask, cvvTry, type IssuedCard, issueCard, otherDigits, pinTry } from '../support/network.ts'
import { type Answer, sql } from '../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { ageWhatWasLost } from './killed.ts'
import { typesOf } from './tried.ts'
import {
  type Comparison,
  freshTries,
  remainingOf,
  type TriesState,
  takeStep,
} from './tries-model.ts'
import {
  type Gate,
  holdComparisons,
  hsmAway,
  type Kind,
  type WatchedHsm,
  watchHsm,
} from './watched-hsm.ts'

/** What a history is made of. Which of the tries in flight is settled is chosen when it is known. */
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

type Flight = { by: string; right: boolean; place: number; answer: Promise<Answer> }

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  let card: IssuedCard
  before(async () => {
    opened = await engine.open()
    hsm = watchHsm(opened.services)
    card = await issueCard(opened.service)
  })

  for (const kind of ['pin', 'cvv'] as const) {
    test(`whatever happens to the ${kind} in whatever order ends as the seven rules say`, async () => {
      const property = fc.asyncProperty(histories, async (history) => {
        await startAnew(kind)
        await new Run(opened, hsm, card, kind).play(history)
      })
      await fc.assert(property, { numRuns: 15 })
    })
  }

  /** As a card that was never tried: cheaper than a new one for each history. */
  const startAnew = async (kind: Kind): Promise<void> => {
    const values = [card.publicToken]
    await sql(opened.database, 'delete from attempt where public_token = $1', values)
    await sql(opened.database, 'delete from event where public_token = $1', values)
    await sql(opened.database, 'update card set last_sequence = 0 where public_token = $1', values)
    await sql(
      opened.database,
      `update try_counter set spent = 0, restored = 0, epoch = 1, blocked_by_client = false,
         block_told = false where public_token = $1`,
      values,
    )
    assert.equal((await told(opened, card, kind)).remainingTries, 3)
  }
})

const told = async ({ service }: Services, { publicToken }: IssuedCard, kind: Kind) =>
  (await service.call('GET', `/card-${kind}/${publicToken}/${kind}/status`)).json

/** Plays one history against the service, and holds every answer against the model. */
class Run {
  readonly #opened: Services
  readonly #card: IssuedCard
  readonly #kind: Kind
  readonly #gate: Gate
  #state: TriesState = freshTries(3)
  #flights: Flight[] = []
  #asked = 0
  #arrived = 0

  constructor(opened: Services, hsm: WatchedHsm, card: IssuedCard, kind: Kind) {
    this.#opened = opened
    this.#card = card
    this.#kind = kind
    this.#gate = holdComparisons(hsm)
  }

  async play(history: readonly Move[]): Promise<void> {
    for (const move of history) {
      if (move.act === 'ask') await this.#ask(move.right)
      else if (move.act === 'settle') await this.#settle(move.which, move.silent)
      else if (move.act === 'lose') await this.#lose()
      else await this.#change(move.act)
      await this.#compare()
    }
    while (this.#flights.length > 0) await this.#settle(0, false)
    await this.#compare()
  }

  async #ask(right: boolean): Promise<void> {
    const by = String(this.#asked++)
    const [state, outcome] = takeStep(this.#state, { act: 'spend', by })
    this.#state = state
    const { service, services } = this.#opened
    const answer = ask(services[this.#asked % 2] ?? service, this.#question(right))
    if (outcome.result === 'blocked') {
      assert.deepEqual((await answer).json[this.#kind], { result: 'blocked', remainingTries: 0 })
      return
    }
    this.#flights.push({ by, right, place: this.#arrived, answer })
    this.#arrived += 1
    await this.#gate.arrived(this.#arrived)
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
    const [state, outcome] = takeStep(this.#state, { act: 'settle', by: flight.by, comparison })
    this.#state = state
    this.#gate.release(flight.place, silent ? hsmAway() : undefined)
    const { json } = await flight.answer
    assert.deepEqual(json[this.#kind], {
      result: outcome.result,
      remainingTries: outcome.remaining,
    })
  }

  async #lose(): Promise<void> {
    const { database } = this.#opened
    await ageWhatWasLost(database)
    await tellLostBlocks({ database })
    this.#state = takeStep(this.#state, { act: 'lose' })[0]
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
    this.#state = takeStep(this.#state, { act })[0]
  }

  /** What is told of the card is what the model says, at every step. */
  async #compare(): Promise<void> {
    const { remainingTries, status } = await told(this.#opened, this.#card, this.#kind)
    assert.equal(remainingTries, remainingOf(this.#state))
    assert.equal(status, remainingTries === 0 ? 'Blocked' : 'Unblocked')
    const types = await typesOf(this.#opened.database, this.#card.publicToken)
    assert.deepEqual(
      types,
      this.#state.told.map((type) => `${this.#kind}.${type}`),
    )
  }
}
