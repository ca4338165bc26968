import { parseChecks } from '../../domain/authorization-check.ts'
import { type CardStatus, describeCardStatus } from '../../domain/card-status.ts'
import { explainDecline } from '../../domain/decline-reason.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Pan } from '../../domain/pan.ts'
import { Problem } from '../../domain/problem.ts'
import { type TryStatus, tryStatus } from '../../domain/tries.ts'
import type { PanFingerprint } from '../../hsm/contract/card.ts'
import { insertAct, type NewAct } from '../../storage/acts/acts.ts'
import { findTokenByPan } from '../../storage/authorizations/begin.ts'
import { searchAuthorizations } from '../../storage/authorizations/records.ts'
import { type Limit, limitValues } from '../../storage/cards/limits.ts'
import type { CardPosition } from '../../storage/cards/lists.ts'
import * as stored from '../../storage/cards/search.ts'
import { type CardContext, statusNow } from './cards.ts'
import { spendUse } from './limits.ts'
import type { Operator } from './operator-acts.ts'
import { type StatusReason, statusReason } from './timeline.ts'

/** What an operator knows of the card that is looked for. */
export type CardSearch =
  | { readonly publicToken: PublicToken }
  | { readonly panLastFour: string; readonly after: CardPosition | null }
  | { readonly customerReference: string; readonly after: CardPosition | null }
  /** `before`: the id of the authorization that a page before ended with. */
  | { readonly authorizationReference: string; readonly before: string | null }

/** A card of any client: nothing that is sealed, and nobody's name. */
interface FoundCard extends CardStatus, Omit<stored.FoundCardRow, 'statusCode'> {
  /** The authorization that it was found by. */
  readonly authorization?: {
    readonly authorizationId: string
    readonly at: string
    readonly networkId: string
    readonly reference: string
    readonly responseCode: string
  }
}

/**
 * Cards of all clients, newest first; by an authorization's reference in the order of the
 * authorizations.
 * @param limit one more than a page shows.
 */
export async function searchAllCards(
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
 * The card of any client that has this PAN. The search is counted for the operator before anything
 * is looked for, and is on record, with the fingerprint in place of the PAN, before its result is
 * known outside.
 * @throws `Problem` `rate_limited`.
 */
export async function searchByPan(
  context: CardContext,
  { operatorId, requestId }: Operator,
  pan: Pan,
): Promise<FoundCard[]> {
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
  return card ? [foundCard(context, card)] : []
}

/**
 * A hit is on its card, so that the entries of the card are listed and erased with it; a miss is on
 * the fingerprint alone.
 */
function composeSearchSubject(
  [active]: readonly PanFingerprint[],
  card: stored.FoundCardRow | undefined,
): Pick<NewAct, 'subjectKind' | 'subject' | 'details'> {
  if (!active) throw new Error('The HSM gave no fingerprint of a PAN.')
  const { fingerprint, keyVersion } = active
  // In hexadecimal it may have a run of digits that looks like a PAN.
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
  return records.flatMap(
    ({ at, authorizationId, checks, networkId, publicToken, reference, responseCode }) => {
      const card = byToken.get(publicToken)
      const decline = explainDecline(responseCode, parseChecks(checks))
      const authorization = { authorizationId, at, networkId, reference, responseCode, ...decline }
      return card ? [{ ...card, authorization }] : []
    },
  )
}

const foundCard = <Card extends stored.FoundCardRow>(
  context: CardContext,
  { statusCode, ...card }: Card,
): Omit<Card, 'statusCode'> & CardStatus => ({
  ...card,
  ...describeCardStatus(statusNow(context, { statusCode, expiryDate: card.expiryDate })),
})

/** A limit on a card that has uses left or not, as it stands now. */
interface LimitInUse {
  readonly limitName: string
  readonly used: number
  /** Null where the limit is turned off. */
  readonly allowed: number | null
  readonly windowSeconds: number | null
  /** Seconds until there is a use again; 0 where there is one. */
  readonly freeInSeconds: number
}

/** A card as an operator needs it to answer its holder. Nobody's name, no PAN, PIN or CVV. */
interface SupportedCard extends FoundCard {
  readonly clientName: string
  readonly productName: string
  readonly schemeName: string
  readonly pinRevealable: boolean
  readonly designId: string | null
  readonly pinStatus: TryStatus
  readonly cvvStatus: TryStatus
  /**
   * What gave it its status; null where that is not among its newest events, or they are not kept.
   */
  readonly statusReason: StatusReason | null
  readonly limits: readonly LimitInUse[]
}

/** A card of any client. @throws `Problem` `card_not_found`. */
export async function findSupportedCard(
  context: CardContext,
  publicToken: PublicToken,
): Promise<SupportedCard> {
  const { database } = context
  const card = await stored.findCardOfAnyClient(database, publicToken)
  if (!card) throw new Problem('card_not_found')
  const [reason, used] = await Promise.all([
    statusReason(context, card),
    stored.listCardLimits(database, publicToken),
  ])
  const limits = collectCardLimits(context)
  return {
    ...foundCard(context, card),
    pinStatus: tryStatus('pin', {
      limit: card.pinLimit,
      spent: card.pinSpent,
      restored: card.pinRestored,
      blockedByClient: card.pinBlockedByClient,
    }),
    cvvStatus: tryStatus('cvv', {
      limit: card.cvvLimit,
      spent: card.cvvSpent,
      restored: card.cvvRestored,
      blockedByClient: card.cvvBlockedByClient,
    }),
    statusReason: reason,
    limits: used.map((each) => limitInUse(each, limits.get(each.limitName) ?? null)),
  }
}

/** Collects every limit that a card may have, by the name under which its uses are stored. */
export function collectCardLimits({
  limits,
}: Pick<CardContext, 'limits'>): ReadonlyMap<string, Limit> {
  const { badSessionKeys, reveals, unblocksPerCard } = limits
  const unblocks = (['pin', 'cvv'] as const).map(
    (kind) => unblocksPerCard && { ...unblocksPerCard, limitName: `unblock-${kind}` },
  )
  const all = [reveals?.perCard, badSessionKeys?.perCard, ...unblocks].filter((each) => !!each)
  return new Map(all.map((limit) => [limit.limitName, limit]))
}

/** Returns the use of a limit; a limit that is turned off allows anything. */
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
  const [, usesEach] = limitValues(limit)
  const counting = agesSeconds.filter((age) => age < windowSeconds)
  // Of a limit of many uses each instant stands for a few: then it may seem used up a little early.
  const used =
    counting.length === 0 ? 0 : Math.min(allowed, newestUses + (counting.length - 1) * usesEach)
  const oldest = counting.at(-1) ?? 0
  const freeInSeconds = used < allowed ? 0 : Math.max(1, Math.ceil(windowSeconds - oldest))
  return { limitName, used, allowed, windowSeconds, freeInSeconds }
}
