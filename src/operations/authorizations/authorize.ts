import { toExpiry } from '../../domain/calendar.ts'
import { statusAt } from '../../domain/card-status.ts'
import type { ChipFinding } from '../../domain/chip-findings.ts'
import { Problem } from '../../domain/problem.ts'
import { type DeclineCode, statusObjections } from '../../domain/response-code.ts'
import { isInCurrency } from '../../domain/transaction.ts'
import {
  type AuthorizedCard,
  type Beginning,
  beginAuthorization,
  type NewAuthorization,
  type SpentTry,
} from '../../storage/authorizations/begin.ts'
import type { MistakeKind } from '../../storage/authorizations/mistakes.ts'
import { LockTimeout } from '../../storage/engine/database.ts'
import { newEventId } from '../../storage/events/events.ts'
import { findRememberedRequest } from '../../storage/idempotency/idempotency.ts'
import type { PresentedChip } from '../chips/presented-chip.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { answerUnspent, createClaim } from './answer.ts'
import type { Authorization, AuthorizationContext, AuthorizationRequest } from './authorization.ts'
import {
  listMissingData,
  objectToChip,
  presentChip,
  readRequestChip,
  recordResults,
  toChipUse,
} from './chip.ts'
import {
  answerBlocked,
  compareAll,
  composeBlockedAnswer,
  listKinds,
  pickOrigin,
} from './compare.ts'
import { compareCardAddress } from './compare-address.ts'
import { composeAnswer, uncheckedOutcomes } from './compose-answer.ts'
import { meetLimits, noteControls } from './controls.ts'
import { isPlasticUsed, objectToPlastic } from './plastic.ts'
import {
  deleteCachedZoneKey,
  nameCard,
  type PresentedPinBlock,
  presentPinBlock,
} from './present.ts'
import { answerRepeat } from './repeats.ts'
import { type TracedRequest, traceRequest } from './trace.ts'

/**
 * Answers a card network with the first objection, or approves if no check objects. A try is spent
 * and committed before its value is compared (docs/reference/authorizations.md, "Tries").
 * @throws `Problem` `unavailable` during a database outage; the errors of `answerRepeat`.
 */
export async function authorize(
  context: AuthorizationContext,
  request: AuthorizationRequest,
  repeatable: idempotency.RepeatableRequest | null,
): Promise<idempotency.Answer<Authorization>> {
  const traced = traceRequest(request, context.now())
  const keyed = repeatable && (await idempotency.keyedRequest(context.hsm, repeatable))
  const begun = await begin(context, traced, keyed)
  const compared = await compareGivenAddress(context, traced, begun)
  const answer = await decide(
    context,
    presentChip(compared, begun.chip, begun.outcome),
    keyed,
    begun,
  )
  if (answer) {
    await recordResults(context, begun.chip, answer)
    return answer
  }
  if (!keyed) throw new Error('An authorization without a key was not the first.')
  // A repeat only returns the first answer; its own checks are not recorded.
  return answerRepeat(context, keyed, request, begun.card)
}

/** Adds what the comparison of the address found. It spends nothing, and decides nothing. */
async function compareGivenAddress(
  context: AuthorizationContext,
  traced: TracedRequest,
  { card, outcome }: Begun,
): Promise<TracedRequest> {
  const { cardholderAddress } = traced
  if (!cardholderAddress || !card || outcome === 'taken') return traced
  const address = await compareCardAddress(context, card.publicToken, cardholderAddress)
  return { ...traced, address }
}

/** A begun authorization. */
interface Begun {
  readonly outcome: Exclude<Beginning['outcome'], 'stale_zone_key'> | 'unknown' | 'silent'
  readonly card: AuthorizedCard | null
  readonly spent: SpentTry | null
  readonly authorizationId: string
  readonly claimId: string | null
  readonly presented: PresentedPinBlock | null
  readonly chip: PresentedChip | null
}

/** Only a balance could answer an inquiry, so nothing is compared for it. */
const isInquiry = ({ transaction }: AuthorizationRequest): boolean =>
  transaction.transactionType === 'inquiry'

/** A cash machine must send a PIN block. */
const lacksPinBlock = ({ entryMode, pinBlock }: AuthorizationRequest): boolean =>
  entryMode === 'atm' && !pinBlock

/** Whether a value of the request may be compared. */
const isTriable = (
  traced: TracedRequest,
  chip: PresentedChip | null,
  presented: PresentedPinBlock | null,
): boolean =>
  !chip?.objection && !isInquiry(traced) && !presented?.objection && !lacksPinBlock(traced)

/** The maximum number of reads of a replaced zone key. */
const zoneKeyReadsMost = 3

/**
 * Reads the chip, lets the HSM open the PIN block, reads the card and, if the card can be tried,
 * spends the try of the first value to compare.
 */
async function begin(
  context: AuthorizationContext,
  traced: TracedRequest,
  keyed: idempotency.KeyedRequest | null,
): Promise<Begun> {
  const claim = keyed && createClaim(keyed)
  const { at } = traced
  const authorizationId = newEventId()
  const known = { card: null, spent: null, authorizationId, claimId: claim?.claimId ?? null }
  const unread = { ...known, presented: null, chip: null }
  if (!traced.card) return { ...unread, outcome: 'unknown' }
  const card = await nameCard(context, traced.card)
  if (!card) return { ...unread, outcome: 'silent' }
  const chip = await readRequestChip(context, traced, card)
  for (let reads = 0; reads < zoneKeyReadsMost; reads += 1) {
    // The PIN of a request with a wrong cryptogram is not even read.
    const presented = chip?.objection ? null : await presentPinBlock(context, traced)
    const [kind = null] = isTriable(traced, chip, presented) ? listKinds(traced) : []
    const authorization = {
      ...pickOrigin(traced),
      authorizationId,
      card,
      kind,
      currentMonth: at.toISOString().slice(0, 7),
      expiryMonth: traced.expiryDate ?? null,
      zoneKey: presented?.zoneKey ?? null,
      chip: toChipUse(chip),
      missingData: listMissingData(traced),
      isPlasticUsed: isPlasticUsed(traced),
    }
    const beginning = await beginAuthorization(context.database, authorization, claim).catch(
      (error: unknown) => takenOrThrow(context, keyed, authorization, error),
    )
    const { outcome } = beginning
    if (outcome !== 'stale_zone_key') {
      return { ...known, presented, chip, spent: null, ...beginning, outcome }
    }
    if (traced.pinBlock) deleteCachedZoneKey(context, traced.networkId, traced.pinBlock.key)
  }
  throw new Problem('unavailable', { detail: 'The zone key is being replaced.' })
}

/**
 * A lock timed out. Returns `taken` if the lock was that of the key and another request has it by
 * now; otherwise throws the error.
 */
async function takenOrThrow(
  { database }: AuthorizationContext,
  keyed: idempotency.KeyedRequest | null,
  authorization: NewAuthorization,
  error: unknown,
): Promise<Beginning> {
  const isTimeout = keyed !== null && error instanceof LockTimeout
  if (!isTimeout || !(await findRememberedRequest(database, keyed, keyed.fingerprints))) throw error
  // Without a value to compare, the card is only read.
  const reading = { ...authorization, kind: null }
  return { ...(await beginAuthorization(database, reading, null)), outcome: 'taken' }
}

/** Returns the answer, or null if the key was not free. In that case nothing was spent. */
async function decide(
  context: AuthorizationContext,
  traced: TracedRequest,
  keyed: idempotency.KeyedRequest | null,
  begun: Begun,
): Promise<idempotency.Answer<Authorization> | null> {
  const { authorizationId, card, outcome, spent } = begun
  if (outcome === 'taken') return null
  const objection = objectTo(traced, begun)
  if (!card || objection) {
    const responseCode = objection ?? '14'
    const mistake = findMistake(traced)
    const result = composeAnswer(responseCode, card, traced, authorizationId)
    return answerUnspent(context, keyed, traced, { result, card, mistake })
  }
  const { claimId } = begun
  const answerClaim = { keyed, claimId, lost: composeAnswer('96', card, traced, authorizationId) }
  if (spent) {
    const opened = begun.presented?.opened ?? null
    return compareAll(context, traced, { card, spent, authorizationId, opened }, answerClaim)
  }
  const [kind] = listKinds(traced)
  if (!kind) {
    const { spending, verdict } = meetLimits(traced, card)
    const result = composeAnswer(verdict, card, traced, authorizationId)
    return answerUnspent(context, keyed, traced, { result, card, mistake: null, spending })
  }
  const result = composeBlockedAnswer(
    traced,
    { authorizationId, card },
    kind,
    uncheckedOutcomes(card),
  )
  // Concurrent requests spent the last try after the card was read, or none was left then.
  return outcome === 'none_left'
    ? answerBlocked(context, traced, card, answerClaim, result)
    : answerUnspent(context, keyed, traced, { result, card, mistake: null })
}

/** The checks of values that prove a card or an authentication, and could be guessed. */
const provingChecks = ['cryptogram', 'card_value', 'cavv'] as const

/** A value that was not compared, or that the product only records. */
const notCounted: readonly ChipFinding[] = [
  'wrong_card_value',
  'wrong_cavv',
  'cryptogram_replayed',
  'atc_jump',
  'data_disagreement',
  'guessing',
]

/** Finds what costs no try, and so is counted instead. */
function findMistake({ presentedChip, trail }: TracedRequest): MistakeKind | null {
  // Also where the status of the card or a control objected first: a guess is a guess.
  const guesses = presentedChip?.checks.filter(
    ({ findings, result }) =>
      result === 'failed' && !findings?.some((finding) => notCounted.includes(finding)),
  )
  const guessed = provingChecks.find((kind) => guesses?.some(({ check }) => check === kind))
  // A wrong expiry does not hide a guess, which is the rarer mistake.
  return guessed ?? (trail.checks.at(-1)?.check === 'expiry' ? 'expiry' : null)
}

const addressVerdicts = { match: 'passed', mismatch: 'failed', not_checked: 'not_given' } as const

/** Notes what the comparison of the address found, which objects to nothing. */
function noteAddress({ address, trail }: TracedRequest): void {
  if (!address) return
  trail.note({ check: 'postal_code', result: addressVerdicts[address.postalCode] })
  trail.note({ check: 'address_line', result: addressVerdicts[address.addressLine] })
}

/** Finds what no card of this product can be charged for. */
const findFaultyMember = (
  request: AuthorizationRequest,
  { currencyCode }: AuthorizedCard,
): 'transaction_type' | 'currency' | null => {
  if (isInquiry(request)) return 'transaction_type'
  return isInCurrency(request.transaction, currencyCode) ? null : 'currency'
}

/** Returns the first objection to the transaction alone, independent of its cardholder. */
function objectToTransaction(traced: TracedRequest, card: AuthorizedCard): DeclineCode | null {
  const faulty = findFaultyMember(traced, card)
  if (!faulty) return noteControls(traced, card)
  traced.trail.note({ check: faulty, result: 'failed', responseCode: '57' })
  return '57'
}

/** Returns the first objection before a try is spent, in the order that networks expect. */
function objectTo(traced: TracedRequest, begun: Begun): DeclineCode | null {
  const { card, outcome, presented } = begun
  const { at, trail } = traced
  const { note } = trail
  if (outcome === 'silent') return '96'
  if (!card) return '14'
  note({ check: 'card', result: 'passed' })
  noteAddress(traced)
  const status = statusAt(card.statusCode, toExpiry(card.validUntil), at)
  const objection = statusObjections[status]
  const result = objection ? 'failed' : 'passed'
  note({ check: 'status', result, cardStatusCode: status, responseCode: objection })
  if (objection) return objection
  const plasticObjection = objectToPlastic(traced, card)
  if (plasticObjection) return plasticObjection
  const transactionObjection = objectToTransaction(traced, card)
  if (transactionObjection) return transactionObjection
  const chipObjection = objectToChip(traced, card)
  if (chipObjection) return chipObjection
  return objectToPinBlock(traced, presented)
}

function objectToPinBlock(
  traced: TracedRequest,
  presented: PresentedPinBlock | null,
): '86' | '96' | null {
  // The record does not state more about a faulty block than the answer does.
  const objection = presented ? presented.objection : lacksPinBlock(traced) ? '86' : null
  const results = { '86': 'failed', '96': 'unresolved' } as const
  traced.trail.note({
    check: 'pin_block',
    result: presented ? (objection ? results[objection] : 'passed') : 'not_given',
    responseCode: objection ?? undefined,
  })
  return objection
}
