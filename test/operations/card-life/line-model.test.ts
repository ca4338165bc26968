import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { CardStatusCode } from '../../../src/domain/card-status.ts'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { type ReplacementReason, replacementReasons } from '../../../src/domain/replacement.ts'
import { sweep } from '../../../src/operations/cards/status.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../../src/storage/engine/functions.ts'
import { product } from '../../support/builders.ts'
import { databaseEngines } from '../../support/engines.ts'
import { ask, issueCard, otherDigits, pinBlock, recoverPan } from '../../support/network.ts'
import { type Answer, openTestService, sql, type TestService } from '../../support/service.ts'
import * as model from './line-model.ts'

/** Random acts on a line of cards, through the front door, beside a plain program. */

const productId = 2400
/** PINs that the rules for weak ones accept, whatever the last digits of the card are. */
const pins = ['7193', '0739', '6284', '8406'] as const

const act = fc.record({
  do: fc.constantFrom<model.ModelStep['do']>(
    'renew',
    'renewSame',
    'migrate',
    'cancel',
    'convert',
    'replace',
    'replace',
    'complete',
    'setStatus',
    'setStatus',
    'setStatus',
    'setPin',
    'pay',
    'pay',
  ),
  chosen: fc.nat(2),
  activateNow: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
  isRight: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
  reason: fc.constantFrom<ReplacementReason>(...replacementReasons, 'Damaged', 'Damaged'),
  to: fc.constantFrom<CardStatusCode>('00', '00', '00', '00', '62', '41', '43', '46', '83'),
})
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('act' as const), act }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('both' as const), act, other: act }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      days: fc.integer({ min: 10, max: 80 }),
      isSwept: fc.boolean(),
    }),
  },
)
type DrawnFrom<Source> = Source extends fc.Arbitrary<infer Value> ? Value : never
type DrawnAct = DrawnFrom<typeof act>

const plan = fc.record({
  cardType: fc.constantFrom<'Virtual' | 'Physical'>('Physical', 'Physical', 'Virtual'),
  steps: fc.array(step, { minLength: 4, maxLength: 16 }),
})
type Plan = DrawnFrom<typeof plan>

/** Chooses the card of an act among the newest of the line. */
function toStep(line: model.ModelLine, drawn: DrawnAct, pin: number): model.ModelStep {
  const card = Math.max(0, line.cards.length - 1 - drawn.chosen)
  return { ...drawn, card, pin }
}

/** The cards of a line as a service has them. */
interface PlayedLine {
  readonly service: TestService
  readonly publicTokens: PublicToken[]
  readonly pans: string[]
  /** The PIN that each name in the model stands for. */
  readonly pins: Map<number, string>
}

async function openLine(service: TestService, cardType: string): Promise<PlayedLine> {
  const today = await readToday(service)
  const [card] = model.openLine(today, 'Physical').cards
  const members = { cardProduct: productId, cardType, activateNow: true, expiryDate: card?.expiry }
  const { pan, pin, publicToken } = await issueCard(service, members)
  return { service, publicTokens: [publicToken], pans: [pan], pins: new Map([[0, pin]]) }
}

const clock = { as: 'admin', listener: 'private' } as const

const readToday = async (service: TestService): Promise<string> =>
  (await service.call('GET', '//sandbox/clock', clock)).json.now.slice(0, 10)

/** Plays a step. @returns the answer as the model tells it. */
async function play(played: PlayedLine, line: model.ModelLine, step: model.ModelStep) {
  const { publicTokens, service } = played
  const path = `/cards/${publicTokens[step.card]}`
  const send = async (method: string, url: string, body?: object): Promise<string> =>
    tell(await service.call(method, url, body ? { body } : {}))
  const { activateNow } = step
  if (step.do === 'renew') return send('POST', `${path}/renew`, { activateNow })
  if (step.do === 'renewSame') {
    return send('POST', `${path}/renew`, { renewStep: 'RenewWithSameExpiry', activateNow })
  }
  if (step.do === 'migrate') return send('POST', `${path}/renew`, { renewStep: 'Migrate' })
  if (step.do === 'cancel') return send('DELETE', `${path}/renewal`)
  if (step.do === 'convert') {
    return send('PUT', `${path}/card-type`, { cardType: 'Physical' })
  }
  if (step.do === 'complete') return send('PUT', `${path}/complete-replacement`)
  if (step.do === 'replace') {
    // A virtual card is active at once, which the member cannot change here.
    const body = { reason: step.reason, ...(step.activateNow && { activateNow: true }) }
    return send('POST', `${path}/replace`, body)
  }
  if (step.do === 'setStatus') return send('PUT', `${path}/status`, { cardStatusCode: step.to })
  if (step.do === 'setPin') {
    const pin = pins[step.pin % pins.length] ?? ''
    played.pins.set(step.pin, pin)
    return send('POST', `/card-pin/${publicTokens[step.card]}/pin`, { pin })
  }
  const right = played.pins.get(line.cards[step.card]?.pin ?? 0) ?? ''
  const pan = played.pans[step.card] ?? ''
  const tried = step.isRight ? right : otherDigits(right)
  const pinned = pinBlock(service, { pan, pin: tried })
  const answer = await ask(service, { publicToken: publicTokens[step.card], pinBlock: pinned })
  return answer.json.responseCode
}

const tell = ({ json, status }: Answer): string => (status < 300 ? String(status) : json.code)

interface StoredCard {
  readonly publicToken: PublicToken
  readonly maskedPan: string
  readonly encryptedPan: Uint8Array
  readonly pinBlock: Uint8Array
  readonly pinKey: string
  readonly cardType: string
  readonly statusCode: string
  readonly isRetired: boolean
  readonly expiryDate: string
  readonly waiting: string | null
  readonly validUntil: string
  readonly plasticNumber: number
  readonly newestNumber: number
  readonly isPlasticInactive: boolean
  readonly spent: number
  readonly missingEvents: number
  readonly strayPlastics: number
}

/** Everything that is stored of a line. */
const readLine = ({ publicTokens, service: { database } }: PlayedLine): Promise<StoredCard[]> =>
  sql<StoredCard>(
    database,
    `select card.public_token as "publicToken", masked_pan as "maskedPan",
       encrypted_pan as "encryptedPan", pin_block as "pinBlock", pin_key as "pinKey", card_type as "cardType",
       status_code as "statusCode", retired_at is not null as "isRetired",
       expiry_date::text as "expiryDate", waiting_expiry_date::text as "waiting",
       valid_until::text as "validUntil", plastic_number as "plasticNumber",
       is_plastic_inactive as "isPlasticInactive",
       last_plastic_number as "newestNumber",
       (
         select spent - restored from try_counter
         where try_counter.public_token = card.public_token and kind = 'pin'
       ) as "spent",
       last_sequence - (
         select count(*)::integer from event where event.public_token = card.public_token
       ) as "missingEvents",
       abs(1 - (
         select count(*)::integer from plastic
         where plastic.public_token = card.public_token and state = 'Current'
           and plastic.expiry_date = card.expiry_date
           and plastic.plastic_number = card.plastic_number
       )) as "strayPlastics"
     from card
     where line_token = $1
     order by generation`,
    [publicTokens[0] ?? ''],
  )

/** Finds the cards and PINs that the line has since the last step. */
async function learn(played: PlayedLine, line: model.ModelLine, rows: readonly StoredCard[]) {
  const { pans, publicTokens, service } = played
  for (const [at, row] of rows.entries()) {
    publicTokens[at] = row.publicToken
    pans[at] ??= await recoverPan(service, row.publicToken, row.maskedPan)
    const name = line.cards[at]?.pin ?? 0
    if (!played.pins.has(name)) played.pins.set(name, await readPin(service, row))
  }
}

/** The PIN itself, because a client may read it a few times only. */
async function readPin({ issuing: { hsm } }: TestService, row: StoredCard): Promise<string> {
  const { encryptedPan, pinBlock: block, pinKey, publicToken } = row
  const pin = await hsm.revealPin(
    { publicToken, encryptedPan },
    { pinBlock: block, pvv: null, pinKey },
  )
  return pin.reveal()
}

async function assertSame(
  played: PlayedLine,
  line: model.ModelLine,
  rows: readonly StoredCard[],
): Promise<void> {
  const { today } = line
  assert.equal(rows.length, line.cards.length)
  for (const [at, row] of rows.entries()) {
    const card = line.cards[at]
    assert.ok(card)
    const isOpen = ['00', '02', '62'].includes(row.statusCode)
    const stored = {
      cardType: row.cardType,
      status: isOpen && row.validUntil < today ? '54' : row.statusCode,
      isRetired: row.isRetired,
      expiry: row.expiryDate.slice(0, 7),
      waiting: row.waiting?.slice(0, 7) ?? null,
      currentNumber: row.plasticNumber,
      newestNumber: row.newestNumber,
      isPlasticInactive: row.isPlasticInactive,
      spentTries: row.spent,
      pin: await readPin(played.service, row),
    }
    assert.deepEqual(stored, {
      cardType: card.cardType,
      status: model.tellStatus(card, today),
      isRetired: card.isRetired,
      expiry: card.expiry,
      waiting: card.waiting,
      currentNumber: card.currentNumber,
      newestNumber: card.newestNumber,
      isPlasticInactive: card.isPlasticInactive,
      spentTries: card.spentTries,
      pin: played.pins.get(card.pin),
    })
    assert.deepEqual([row.missingEvents, row.strayPlastics], [0, 0])
  }
  const active = rows.filter(({ statusCode }) => statusCode === '00')
  assert.ok(active.length <= 1, 'at most one card of a line is active')
}

/** Runs the steps on a new line, and compares both after each. */
async function runPlan(service: TestService, { cardType, steps }: Plan): Promise<void> {
  const played = await openLine(service, cardType)
  let line = model.openLine(await readToday(service), cardType)
  let nextPin = 1
  const draw = (drawn: DrawnAct): model.ModelStep => {
    nextPin += 1
    return toStep(line, drawn, nextPin)
  }
  for (const each of steps) {
    if (each.do === 'wait') {
      line = model.wait(line, each.days)
      const now = `${line.today}T12:00:00Z`
      const { status } = await service.call('POST', '//sandbox/clock', { ...clock, body: { now } })
      assert.equal(status, 200)
      if (each.isSwept) {
        await sweep(service.issuing)
        line = model.sweepLine(line)
      }
    }
    if (each.do === 'act') {
      const one = draw(each.act)
      const { answer, line: after } = model.apply(line, one)
      assert.equal(await play(played, line, one), answer, JSON.stringify(one))
      line = after
    }
    if (each.do === 'both') line = await playBoth(draw(each.act), draw(each.other))
    const rows = await readLine(played)
    await learn(played, line, rows)
    await assertSame(played, line, rows)
  }

  /** Two callers at once: the answers and the line are those of one order. */
  async function playBoth(one: model.ModelStep, other: model.ModelStep): Promise<model.ModelLine> {
    // The comparison of a PIN takes more than one transaction, which another act may come between.
    const before = line
    if (one.do === 'pay' || other.do === 'pay') {
      const { answer, line: middle } = model.apply(before, one)
      assert.equal(await play(played, before, one), answer)
      await learn(played, middle, await readLine(played))
      const second = model.apply(middle, other)
      assert.equal(await play(played, middle, other), second.answer)
      return second.line
    }
    const answers = await Promise.all([play(played, before, one), play(played, before, other)])
    const rows = await readLine(played)
    const faults: unknown[] = []
    for (const isReverse of [false, true]) {
      const [first, second] = isReverse ? [other, one] : [one, other]
      const middle = model.apply(before, first)
      const end = model.apply(middle.line, second)
      const told = [middle.answer, end.answer]
      try {
        assert.deepEqual(answers, isReverse ? told.toReversed() : told)
        await learn(played, end.line, rows)
        await assertSame(played, end.line, rows)
        return end.line
      } catch (fault) {
        faults.push(fault)
      }
    }
    const named = JSON.stringify([one, other])
    throw new AggregateError(faults, `${named} have the result of neither order: ${faults[0]}`)
  }
}

const check = (service: TestService, numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(plan, (drawn) => runPlan(service, drawn)),
    { numRuns, seed: 47, endOnFailure: true },
  )

async function openService(database: Database): Promise<TestService> {
  const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' }
  const service = await openTestService({ database, env })
  await product(database, { productId, bin: '40000224' })
  return service
}

/** Faults, as changes of the functions' texts, or of what a product says. */
const faults: Readonly<
  Record<string, { readonly from?: string; readonly to?: string; readonly also?: string }>
> = {
  'no retiring at activation': {
    from: 'v_is_retired_now := retire_card(\n      v_public_token, v_successor_token, p_today, p_request_id, p_operator_id\n    );',
    to: 'v_is_retired_now := false;',
  },
  'tries that are not carried': {
    from: 'perform carry_tries(p_pin_source_token, v_successor_token, v_is_source_retired_now);',
    to: 'null;',
  },
  'a second replacement under a race': {
    from: '\n    or find_successor(p_public_token, v_card.generation, p_today) is not null',
    to: '',
  },
  'a PIN that was changed meanwhile, and is lost': {
    from: 'else coalesce(p_pin_block, v_card.pin_block)',
    to: 'else v_card.pin_block',
  },
  'months of grace that are ignored': {
    also: `update product set renewal_grace_months = 0 where product_id = ${productId}`,
  },
}

const lines = Number(process.env.MODEL_LINES ?? 40)

for (const { name, open, skip } of databaseEngines) {
  suite(`lines of random acts on ${name}`, { skip }, () => {
    test('a line comes to what a plain program comes to, with two callers', async () => {
      await check(await openService(await open()), lines)
    })

    // The functions are the same on both engines, so that their faults are planted on one.
    if (name !== 'PGlite') return
    for (const [fault, { also, from, to = '' }] of Object.entries(faults)) {
      test(`${fault}: the fault is found`, async () => {
        const database = await open()
        if (from !== undefined) {
          const found = (await readFunctionFiles()).filter(({ text }) => text.includes(from))
          assert.equal(found.length, 1)
          for (const { text } of found) await database.script(text.replaceAll(from, to))
        }
        const service = await openService(database)
        if (also !== undefined) await database.script(also)
        await assert.rejects(check(service, 400))
      })
    }
  })
}
