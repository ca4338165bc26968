import { parseChecks } from '../../domain/authorization-check.ts'
import { type CardStatus, describeCardStatus } from '../../domain/card-status.ts'
import { explainDecline } from '../../domain/decline-reason.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Merchant } from '../../domain/merchant.ts'
import type { Pan } from '../../domain/pan.ts'
import { deriveOpenAmount, derivePaymentState, type PaymentState } from '../../domain/payment.ts'
import { Problem } from '../../domain/problem.ts'
import type { RenewalType } from '../../domain/product.ts'
import type { RecordedTransaction } from '../../domain/transaction.ts'
import { type TryStatus, tryStatus } from '../../domain/tries.ts'
import type { PanFingerprint } from '../../hsm/contract/card.ts'
import { insertAct, type NewAct } from '../../storage/acts/acts.ts'
import { findTokenByPan } from '../../storage/authorizations/begin.ts'
import { searchAuthorizations } from '../../storage/authorizations/records.ts'
import { toTransactionMembers } from '../../storage/authorizations/transaction-columns.ts'
import { computeUseCounting, type Limit } from '../../storage/cards/limits.ts'
import type { CardPosition } from '../../storage/cards/lists.ts'
import * as stored from '../../storage/cards/search.ts'
import {
  findPaymentOfAnyClient,
  type PaymentPosition,
  type PaymentRow,
  searchPayments,
} from '../../storage/payments/payments.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'
import { type CardContext, statusNow } from './cards.ts'
import { spendUse } from './limits.ts'
import type { Operator } from './operator-acts.ts'
import { type StatusReason, statusReason } from './timeline.ts'
import { findUnblockLimit } from './tries.ts'

/** The search criterion of an operator. */
export type CardSearch =
  | { readonly publicToken: PublicToken }
  | { readonly panLastFour: string; readonly after: CardPosition | null }
  | { readonly customerReference: string; readonly after: CardPosition | null }
  /** `before`: the id of the last authorization on the previous page. */
  | { readonly authorizationReference: string; readonly before: string | null }
  | { readonly paymentId: string }
  | { readonly networkTransactionId: string; readonly after: PaymentPosition | null }

/** A card of any client, without sealed data and names of people. */
interface FoundCard extends CardStatus, Omit<stored.FoundCardRow, 'statusCode' | 'validUntil'> {
  /** The authorization by which it was found. */
  readonly authorization?: RecordedTransaction & {
    readonly authorizationId: string
    readonly at: string
    readonly networkId: string
    readonly reference: string
    readonly responseCode: string
  }
  /** The payment by which it was found. */
  readonly payment?: {
    readonly paymentId: string
    readonly state: PaymentState
    readonly currency: string
    readonly open: number
    readonly cleared: number
    readonly openedAt: string
    readonly networkTransactionId?: string
    readonly merchant?: Merchant
  }
}

/**
 * Searches the cards of all clients, newest first; by an authorization's reference, in the order of
 * the authorizations; by a network's id of payments, in the order of tokens.
 * @param limit one more than a page shows.
 */
export const searchAllCards = async (
  context: CardContext,
  search: CardSearch,
  limit: number,
): Promise<NamedCard[]> => nameClients(context, await findCards(context, search, limit))

/** A found card with the name of its client. */
type NamedCard = FoundCard & { readonly clientName: string | null }

async function nameClients(
  { database }: Pick<CardContext, 'database'>,
  cards: readonly FoundCard[],
): Promise<NamedCard[]> {
  const names = await listActorNames(
    database,
    cards.map(({ clientId }) => clientId),
  )
  return cards.map((card) => ({ ...card, clientName: names.get(card.clientId) ?? null }))
}

async function findCards(
  context: CardContext,
  search: CardSearch,
  limit: number,
): Promise<FoundCard[]> {
  const { database } = context
  const found = async (cards: Promise<stored.FoundCardRow[]>) =>
    (await cards).map((card) => foundCard(context, card))
  if ('publicToken' in search) {
    return found(stored.listCardsByTokens(database, [search.publicToken]))
  }
  if ('authorizationReference' in search) return searchByAuthorization(context, search, limit)
  if ('paymentId' in search) {
    const payment = await findPaymentOfAnyClient(database, search.paymentId)
    return withCards(context, payment ? [payment] : [])
  }
  if ('networkTransactionId' in search) {
    const { after, networkTransactionId } = search
    return withCards(
      context,
      await searchPayments(database, networkTransactionId, { after, limit }),
    )
  }
  const { after } = search
  return 'panLastFour' in search
    ? found(stored.searchCards(database, 'panLastFour', search.panLastFour, { after, limit }))
    : found(
        stored.searchCards(database, 'customerReference', search.customerReference, {
          after,
          limit,
        }),
      )
}

/**
 * Finds the card of any client with this PAN. The search is first counted for the operator, and
 * recorded with the fingerprint instead of the PAN, before its result is known outside.
 * @throws `Problem` `rate_limited`.
 */
export async function searchByPan(
  context: CardContext,
  { operatorId, requestId }: Operator,
  pan: Pan,
): Promise<NamedCard[]> {
  const { database, hsm, limits } = context
  await spendUse(database, 'client', operatorId, limits.panSearches)
  const known = await hsm.fingerprintPan(pan)
  const publicToken = await findTokenByPan(
    database,
    known.map(({ fingerprint }) => fingerprint),
  )
  const [card] = publicToken ? await stored.listCardsByTokens(database, [publicToken]) : []
  await insertAct(database, {
    act: 'pan.searched',
    ...composeSearchSubject(known, card),
    clientId: operatorId,
    requestId,
  })
  return nameClients(context, card ? [foundCard(context, card)] : [])
}

/**
 * Records a hit with its card, so that the card's entries include it and are erased with it; a miss
 * with the fingerprint only.
 */
function composeSearchSubject(
  [active]: readonly PanFingerprint[],
  card: stored.FoundCardRow | undefined,
): Pick<NewAct, 'subjectKind' | 'subject' | 'details'> {
  if (!active) throw new Error('The HSM gave no fingerprint of a PAN.')
  const { fingerprint, keyVersion } = active
  // In hexadecimal it may contain digits that look like a PAN.
  const panFingerprint = Buffer.from(fingerprint).toString('base64url')
  if (!card) {
    const details = JSON.stringify({ found: false, panFingerprint, keyVersion })
    return { subjectKind: 'pan', subject: panFingerprint, details }
  }
  const { clientId: cardClient, publicToken: subject } = card
  const details = JSON.stringify({ found: true, panFingerprint, keyVersion, cardClient })
  return { subjectKind: 'card', subject, details }
}

async function searchByAuthorization(
  context: CardContext,
  {
    authorizationReference,
    before,
  }: { readonly authorizationReference: string; readonly before: string | null },
  limit: number,
): Promise<FoundCard[]> {
  const { database } = context
  const records = await searchAuthorizations(database, authorizationReference, { before, limit })
  const publicTokens = [...new Set(records.map(({ publicToken }) => publicToken))]
  const cards = await stored.listCardsByTokens(database, publicTokens)
  const byToken = new Map(cards.map((card) => [card.publicToken, foundCard(context, card)]))
  return records.flatMap((record) => {
    const { at, authorizationId, checks, networkId, reference, responseCode } = record
    const card = byToken.get(record.publicToken)
    const decline = explainDecline(responseCode, parseChecks(checks))
    const transaction = toTransactionMembers(record)
    const authorization = {
      authorizationId,
      at,
      networkId,
      reference,
      responseCode,
      ...decline,
      ...transaction,
    }
    return card ? [{ ...card, authorization }] : []
  })
}

/** Adds the card of each payment. */
async function withCards(
  context: CardContext,
  payments: readonly PaymentRow[],
): Promise<FoundCard[]> {
  const publicTokens = [...new Set(payments.map(({ publicToken }) => publicToken))]
  const cards = await stored.listCardsByTokens(context.database, publicTokens)
  const byToken = new Map(cards.map((card) => [card.publicToken, foundCard(context, card)]))
  return payments.flatMap((row) => {
    const card = byToken.get(row.publicToken)
    const payment = {
      paymentId: row.paymentId,
      state: derivePaymentState(row),
      currency: row.currencyCode,
      open: deriveOpenAmount(row),
      cleared: row.cleared,
      openedAt: row.openedAt.toISOString(),
      ...(row.networkTransactionId !== null && { networkTransactionId: row.networkTransactionId }),
      ...(row.merchant !== null && { merchant: JSON.parse(row.merchant) as Merchant }),
    }
    return card ? [{ ...card, payment }] : []
  })
}

const foundCard = <Card extends stored.FoundCardRow>(
  context: CardContext,
  { statusCode, validUntil, ...card }: Card,
): Omit<Card, 'statusCode' | 'validUntil'> & CardStatus => ({
  ...card,
  ...describeCardStatus(statusNow(context, { statusCode, validUntil })),
})

/** A limit on a card and its present uses. */
interface LimitInUse {
  readonly limitName: string
  readonly used: number
  /** Null if the limit is off. */
  readonly allowed: number | null
  readonly windowSeconds: number | null
  /** The seconds until a use becomes free; 0 if one is free. */
  readonly freeInSeconds: number
}

/** A card as an operator needs it for support, without names, PAN, PIN or CVV. */
interface SupportedCard extends FoundCard {
  readonly clientName: string
  readonly productName: string
  readonly schemeName: string
  readonly pinRevealable: boolean
  readonly renewalType: RenewalType
  /** Whether a successor took its place, or it was reported as compromised. */
  readonly retired: boolean
  readonly designId: string | null
  readonly pinStatus: TryStatus
  readonly cvvStatus: TryStatus
  /** The event that set its status; null if it is not among the newest events, or was deleted. */
  readonly statusReason: StatusReason | null
  readonly limits: readonly LimitInUse[]
}

/**
 * Returns a card of any client.
 * @throws `Problem` `card_not_found`.
 */
export async function findSupportedCard(
  context: CardContext,
  publicToken: PublicToken,
): Promise<SupportedCard> {
  const { database } = context
  const card = await stored.findCardOfAnyClient(database, publicToken)
  if (!card) throw new Problem('card_not_found')
  const [reason, used] = await Promise.all([
    statusReason(context, card),
    stored.listCardLimits(database, card.lineToken),
  ])
  const limits = collectCardLimits(context)
  return {
    ...foundCard(context, card),
    retired: card.isRetired,
    pinStatus: tryStatus('pin', {
      limit: card.pinLimit,
      spent: card.pinSpent,
      restored: card.pinRestored,
      isWithdrawn: card.isPinWithdrawn,
    }),
    cvvStatus: tryStatus('cvv', {
      limit: card.cvvLimit,
      spent: card.cvvSpent,
      restored: card.cvvRestored,
      isWithdrawn: card.isCvvWithdrawn,
    }),
    statusReason: reason,
    limits: used.map((each) => limitInUse(each, limits.get(each.limitName) ?? null)),
  }
}

/** Collects every limit of a card, by the name under which its uses are stored. */
export function collectCardLimits(
  context: Pick<CardContext, 'limits'>,
): ReadonlyMap<string, Limit> {
  const { badSessionKeys, reveals } = context.limits
  const unblocks = (['pin', 'cvv'] as const).map((kind) => findUnblockLimit(context, kind))
  const all = [reveals?.perCard, badSessionKeys?.perCard, ...unblocks].filter((each) => !!each)
  return new Map(all.map((limit) => [limit.limitName, limit]))
}

/** Returns the uses of a limit. A limit that is off allows everything. */
export function limitInUse(
  { agesSeconds, limitName, newestUses }: stored.LimitInUse,
  limit: Limit | null,
): LimitInUse {
  if (!limit) {
    return {
      limitName,
      used: agesSeconds.length,
      allowed: null,
      windowSeconds: null,
      freeInSeconds: 0,
    }
  }
  const { uses: allowed, windowSeconds } = limit
  const { usesEach } = computeUseCounting(limit)
  const counting = agesSeconds.filter((age) => age < windowSeconds)
  // For a limit with many uses, each instant stands for several uses, so it may seem used up
  // slightly early.
  const used =
    counting.length === 0 ? 0 : Math.min(allowed, newestUses + (counting.length - 1) * usesEach)
  const oldest = counting.at(-1) ?? 0
  const freeInSeconds = used < allowed ? 0 : Math.max(1, Math.ceil(windowSeconds - oldest))
  return { limitName, used, allowed, windowSeconds, freeInSeconds }
}
