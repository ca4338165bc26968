import { setTimeout as wait } from 'node:timers/promises'
import { expiryOfDate } from '../../domain/calendar.ts'
import { Problem } from '../../domain/problem.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { EncryptedPinBlock, StoredPin } from '../../hsm/contract/hsm.ts'
import type { AuthorizedCard } from '../../storage/cards/authorizations.ts'
import { type SpentTry, spendTry } from '../../storage/cards/tries.ts'
import { countWrongExpiry } from '../../storage/cards/wrong-expiries.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type RememberedRequest, storeAnswer } from '../../storage/idempotency/idempotency.ts'
import {
  type Answer,
  claimKey,
  findRemembered,
  type KeyedRequest,
  keyedRequest,
  type RepeatableRequest,
  replayAnswer,
  sealAnswer,
} from '../idempotency/idempotency.ts'
import {
  type Authorization,
  type AuthorizationOperations,
  type AuthorizationRequest,
  askHsm,
  type CheckOutcome,
  type ResponseCode,
} from './authorization.ts'
import { type Presented, presentCard } from './present-card.ts'
import { type Comparison, settle } from './settle.ts'

/**
 * Answers a card network: the first objection, or approval when nothing decided here objects. A try
 * is spent, and committed, before its value is compared (docs/authorizations.md, "Tries").
 * @throws `Problem` `unavailable` when the database is away; what `begin` throws.
 */
export async function authorize(
  authorizing: AuthorizationOperations,
  question: AuthorizationRequest,
  repeatable: RepeatableRequest | null,
): Promise<Answer<Authorization>> {
  const request = repeatable && (await keyedRequest(authorizing.hsm, repeatable))
  const presented = await presentCard(authorizing, question)
  const kinds = presented.objection === null ? kindsOf(presented, question) : []
  const beginning = await begin(authorizing, request, async (connection) => {
    const [first] = kinds
    const { card } = presented
    // Where none was left when the card was read, none is asked for: a storm of guesses costs reads alone.
    if (!first || !card || remainingOf(card, first) === 0) return null
    return spendTry(connection, card.publicToken, first, question)
  })
  const recorder = {
    request,
    claimId: beginning.claimId,
    lost: answerOf('96', presented, question),
  }
  if (beginning.remembered && request) {
    const { answer, claimId } = beginning.remembered
    if (answer) return replayAnswer(authorizing.hsm, request, { answer, claimId })
    // The first result was lost with its process: nothing is spent, and nothing is approved.
    return { ...(await record(authorizing, recorder, recorder.lost)), replayed: true }
  }
  if ('isExpiryWrong' in presented) await watchExpiry(authorizing, presented.card, question)
  const result = await check(authorizing, presented, question, kinds, beginning.spent)
  authorizing.observe.checked(result)
  return record(authorizing, recorder, result)
}

/** How an answer is recorded, and what is answered where that cannot be. */
interface Recorder {
  readonly request: KeyedRequest | null
  readonly claimId: string | null
  readonly lost: Authorization
}

/**
 * Records an answer unless one is recorded: the first is what everybody is told. So a question that was
 * merely slow, and whose repeat took it for lost, has one answer.
 */
async function record(
  { database, hsm, observe }: AuthorizationOperations,
  { claimId, lost, request }: Recorder,
  result: Authorization,
): Promise<Answer<Authorization>> {
  if (!request || claimId === null) return firstAnswer(observe, result)
  const sealed = await sealAnswer(hsm, request, claimId, result)
  const stored = await storeAnswer(database, request, claimId, sealed)
  // Its key has been forgotten, and nobody knows what its repeats were told.
  if (!stored) return firstAnswer(observe, lost)
  if (stored.isOwn) return firstAnswer(observe, result)
  return replayAnswer(hsm, request, { answer: stored.answer, claimId })
}

function firstAnswer(
  observe: AuthorizationOperations['observe'],
  result: Authorization,
): Answer<Authorization> {
  observe.answered(result)
  return { result, replayed: false }
}

/** An expiry costs no try, or whoever has a PAN could shut the card; so it is watched who guesses at it. */
const guessing = { mistakes: 10, windowSeconds: 86_400 }

async function watchExpiry(
  { database, observe }: AuthorizationOperations,
  { publicToken }: AuthorizedCard,
  { entryMode, networkId }: AuthorizationRequest,
): Promise<void> {
  const isGuessing = await countWrongExpiry(database, { publicToken, networkId }, guessing)
  observe.expiryWrong({ publicToken, networkId, entryMode, isGuessing })
}

/** What is to be compared, the PIN first. */
const kindsOf = (presented: Presented, { cvv2 }: AuthorizationRequest): TryKind[] => [
  ...('pinBlock' in presented && presented.pinBlock ? (['pin'] as const) : []),
  ...(cvv2 === undefined ? [] : (['cvv'] as const)),
]

const remainingOf = ({ cvvRemaining, pinRemaining }: AuthorizedCard, kind: TryKind): number =>
  kind === 'pin' ? pinRemaining : cvvRemaining

type Outcomes = Record<TryKind, CheckOutcome>

/** Compares one kind after the other until one objects. */
async function check(
  authorizing: AuthorizationOperations,
  presented: Presented,
  question: AuthorizationRequest,
  kinds: readonly TryKind[],
  firstSpent: SpentTry | null,
): Promise<Authorization> {
  if (presented.objection !== null) return answerOf(presented.objection, presented, question)
  const outcomes = unchecked(presented.card)
  for (const [index, kind] of kinds.entries()) {
    const spent =
      index === 0 ? firstSpent : await spend(authorizing, presented.card, kind, question)
    const outcome = spent
      ? await compareAndSettle(authorizing, presented, question, spent)
      : ({ result: 'blocked', remainingTries: 0 } as const)
    outcomes[kind] = outcome
    const objection = objections[kind][outcome.result]
    if (objection) return answerOf(objection, presented, question, outcomes)
  }
  return answerOf('00', presented, question, outcomes)
}

const objections: Record<TryKind, Partial<Record<CheckOutcome['result'], ResponseCode>>> = {
  pin: { blocked: '75', mismatch: '55', unresolved: '96' },
  cvv: { blocked: 'N7', mismatch: 'N7', unresolved: '96' },
}

const spend = (
  { database }: AuthorizationOperations,
  { publicToken }: AuthorizedCard,
  kind: TryKind,
  question: AuthorizationRequest,
): Promise<SpentTry | null> => spendTry(database, publicToken, kind, question)

type Triable = Extract<Presented, { objection: null }>

async function compareAndSettle(
  authorizing: AuthorizationOperations,
  presented: Triable,
  question: AuthorizationRequest,
  spent: SpentTry,
): Promise<CheckOutcome> {
  const matches = await askHsm(authorizing, () =>
    spent.kind === 'pin'
      ? comparePin(authorizing, presented.card, presented.pinBlock)
      : compareCvv2(authorizing, presented.card, question.cvv2),
  )
  return settle(authorizing, spent, comparisonOf(matches), question)
}

function comparisonOf(matches: boolean | null): Comparison {
  if (matches === null) return 'unresolved'
  return matches ? 'match' : 'mismatch'
}

async function comparePin(
  { hsm }: AuthorizationOperations,
  card: AuthorizedCard,
  pinBlock: EncryptedPinBlock | null,
): Promise<boolean> {
  return pinBlock !== null && hsm.verifyPin(card, storedPinOf(card), card.pinLength, pinBlock)
}

async function compareCvv2(
  { hsm }: AuthorizationOperations,
  card: AuthorizedCard,
  cvv2: string | undefined,
): Promise<boolean> {
  const expiry = expiryOfDate(card.expiryDate)
  return cvv2 !== undefined && hsm.verifyCvv2(card, card.cvk, expiry, cvv2)
}

function storedPinOf({ pinBlock, pinKey, pvv }: AuthorizedCard): StoredPin {
  if (pinBlock) return { pinBlock, pvv: null, pinKey }
  if (pvv !== null) return { pinBlock: null, pvv, pinKey }
  throw new Error('A card has no PIN.')
}

const unchecked = ({ cvvRemaining, pinRemaining }: AuthorizedCard): Outcomes => ({
  pin: { result: 'not_checked', remainingTries: pinRemaining },
  cvv: { result: 'not_checked', remainingTries: cvvRemaining },
})

function answerOf(
  responseCode: ResponseCode,
  { card }: Presented,
  { reference }: AuthorizationRequest,
  outcomes: Outcomes | null = card && unchecked(card),
): Authorization {
  return {
    approved: responseCode === '00',
    responseCode,
    ...(card && { publicToken: card.publicToken }),
    reference,
    ...outcomes,
  }
}

/** A first try that was spent, if one was due; or what is remembered of the same request. */
interface Beginning {
  readonly spent: SpentTry | null
  readonly remembered: RememberedRequest | null
  /** Under which the answer is to be recorded; null without an idempotency key. */
  readonly claimId: string | null
}

/** How long a repeat waits for the first one to finish. */
const waitMs = 2_000
const lookEveryMs = 100
/** A request that has not answered by then was lost with its process. */
const lostAfterSeconds = 30

/**
 * Spends the first try. With an idempotency key the key commits with the spend, so that no repeat
 * ever spends again (docs/authorizations.md, "Repeats").
 * @throws `Problem` `idempotency_key_reused`, `idempotency_key_in_use`.
 */
async function begin(
  authorizing: AuthorizationOperations,
  request: KeyedRequest | null,
  spend: (connection: Connection) => Promise<SpentTry | null>,
): Promise<Beginning> {
  const { database } = authorizing
  if (!request) return { spent: await spend(database), remembered: null, claimId: null }
  const beginning = await claimOrRecall(authorizing, request, spend)
  if (!beginning.remembered) return beginning
  return awaitAnswer(authorizing, request, beginning.remembered)
}

async function claimOrRecall(
  { database }: AuthorizationOperations,
  request: KeyedRequest,
  spend: (connection: Connection) => Promise<SpentTry | null>,
): Promise<Beginning> {
  const beginning = await database.transaction(async (connection) => {
    const claimId = await claimKey(connection, request)
    if (claimId !== null) return { spent: await spend(connection), remembered: null, claimId }
    const remembered = await findRemembered(connection, request)
    return remembered && { spent: null, remembered, claimId: remembered.claimId }
  })
  if (!beginning) throw new Problem('idempotency_key_reused')
  return beginning
}

async function awaitAnswer(
  { database }: AuthorizationOperations,
  request: KeyedRequest,
  first: RememberedRequest,
): Promise<Beginning> {
  let remembered: RememberedRequest | null = first
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += lookEveryMs) {
    if (!remembered) throw new Problem('idempotency_key_reused')
    if (remembered.answer || remembered.ageSeconds >= lostAfterSeconds) {
      return { spent: null, remembered, claimId: remembered.claimId }
    }
    await wait(lookEveryMs)
    remembered = await findRemembered(database, request)
  }
  throw new Problem('idempotency_key_in_use')
}
