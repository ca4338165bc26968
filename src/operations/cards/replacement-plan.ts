import {
  type Expiry,
  expiryFault,
  expiryMonthsAfter,
  formatDate,
  toExpiry,
} from '../../domain/calendar.ts'
import { isWithinGrace, lifeActs } from '../../domain/card-life.ts'
import { type CardStatusCode, isFinal } from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import {
  carriesPin,
  defaultReason,
  type ReplacementReason,
  reasonEffects,
} from '../../domain/replacement.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import * as stored from '../../storage/cards/replacements.ts'
import { findGrantedProduct, type GrantedProduct } from '../../storage/products/products.ts'
import * as cards from './cards.ts'
import { notAvailable } from './create-card.ts'
import type { FreeTexts } from './free-texts.ts'
import type { Address } from './personal-data.ts'

/** The members of a request to replace a card. */
export interface Replacement extends FreeTexts {
  readonly publicToken: PublicToken
  /** By default, what the status of the card says. */
  readonly reason?: ReplacementReason
  /** By default, the product of the replaced card. */
  readonly cardProduct?: ProductId
  readonly expiry?: Expiry
  /** Whether the successor has the expiry of the replaced card. */
  readonly moveExpiryDate?: boolean
  /** Whether the successor gets the PIN of the replaced card; by default, as the reason says. */
  readonly movePin?: boolean
  readonly fulfilment?: Address
  readonly activateNow?: boolean
  readonly note?: cards.ChangeNote
}

/** The client of a card. */
type Owner = Pick<Requester, 'clientId'>

/** The card whose PIN a successor gets. */
interface PinSource extends stored.CardOfLine {
  readonly pin: Extract<StoredPin, { pvv: null }>
}

/** A validated successor without its number. */
export interface SuccessorPlan {
  readonly card: stored.CardOfLine
  readonly reason: ReplacementReason
  /** The stored status that the replaced card gets. */
  readonly to: CardStatusCode
  readonly product: GrantedProduct
  readonly startDate: string
  readonly expiry: Expiry
  readonly statusCode: CardStatusCode
  /** Null for a PIN of its own. */
  readonly pinSource: PinSource | null
}

/**
 * Returns a card of a client in its line.
 * @throws `Problem` `card_not_found`.
 */
export async function findCardInLine(
  { database }: cards.CardContext,
  { clientId }: Owner,
  publicToken: PublicToken,
): Promise<stored.CardOfLine> {
  const card = await stored.findCardOfLine(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return card
}

/**
 * Refuses a card that its status or a successor keeps from being replaced.
 * @param today `YYYY-MM-DD`
 * @returns the present status.
 * @throws `Problem` `card_already_replaced`, `card_closed`.
 */
export async function refuseReplacement(
  context: cards.CardContext,
  card: stored.CardOfLine,
  today: string,
): Promise<CardStatusCode> {
  const replacedBy = await stored.findSuccessor(context.database, card, today)
  if (replacedBy !== null) throw alreadyReplaced(replacedBy)
  const lifeStatus = cards.lifeStatusNow(context, card)
  const { replace } = lifeActs[lifeStatus]
  if (replace === 'no') throw cards.cardClosed(lifeStatus)
  if (replace !== 'yes' && !isWithinGrace(card, today)) {
    const detail = `The card expired after ${card.validUntil}, too long ago to be replaced.`
    throw new Problem('card_closed', { detail })
  }
  return cards.statusNow(context, card)
}

/**
 * Whether a reason retires the replaced card in the same act. An expired card cannot become lost or
 * stolen, and is retired instead, so that no renewal brings it back.
 */
export const isEndedBy = (reason: ReplacementReason, status: CardStatusCode): boolean => {
  const { movesTo, retires } = reasonEffects[reason]
  return status === '54' ? retires || movesTo !== null : retires && !isFinal(status)
}

/**
 * Plans the successor of a card by the rules of its product and the reason.
 * @throws `Problem` `product_not_available`, `pin_not_transferable`; `validation_failed` for
 *   members that the product does not allow.
 */
export async function planSuccessor(
  context: cards.CardContext,
  requester: Owner,
  replacement: Replacement,
  {
    card,
    status,
    today,
  }: { readonly card: stored.CardOfLine; readonly status: CardStatusCode; readonly today: string },
): Promise<SuccessorPlan> {
  const { activateNow, cardProduct = card.productId, fulfilment } = replacement
  const reason = replacement.reason ?? defaultReason(status)
  const product = await findGrantedProduct(context.database, requester.clientId, cardProduct)
  if (!product) throw notAvailable()
  const expiry = chooseExpiry(replacement, card, product, today)
  const faults = [
    ...listExpiryFaults(replacement, expiry, product, today),
    ...(product.cardTypes.includes(card.cardType)
      ? []
      : [{ pointer: '/cardProduct', detail: `must offer cards of the type ${card.cardType}` }]),
    // The line counts what its cards spend in one currency.
    ...(product.currencyCode === card.currencyCode
      ? []
      : [{ pointer: '/cardProduct', detail: `must be in the currency ${card.currencyCode}` }]),
    ...(fulfilment && card.cardType === 'Virtual'
      ? [{ pointer: '/fulfilment', detail: 'is for Physical cards only' }]
      : []),
  ]
  if (faults.length > 0) throw validationFailed(...faults)
  return {
    card,
    reason,
    to: isFinal(status) ? card.statusCode : (reasonEffects[reason].movesTo ?? card.statusCode),
    product,
    startDate: today,
    expiry,
    statusCode: (activateNow ?? card.cardType === 'Virtual') ? '00' : '02',
    pinSource: await choosePinSource(context, requester, replacement, { card, product, reason }),
  }
}

/** The successor that a replacement would create, and what would become of the card. */
export interface ForeseenSuccessor {
  readonly replacementReason: ReplacementReason
  /** Of the replaced card, after the act. */
  readonly cardStatusCode: CardStatusCode
  /** Whether the replaced card would be retired in the same act. */
  readonly retired: boolean
  readonly pinMoved: boolean
  /** Of the successor, `YYYY-MM-DD`. */
  readonly expiryDate: string
  /** Whether the successor would be active at once. */
  readonly active: boolean
}

/**
 * Foresees the replacement of a card by each reason. A card whose status says the reason has that
 * one alone. Nothing changes.
 * @throws as `replaceCard`.
 */
export async function foreseeSuccessors(
  context: cards.CardContext,
  requester: Owner,
  publicToken: PublicToken,
  reasons: readonly ReplacementReason[],
): Promise<ForeseenSuccessor[]> {
  const today = formatDate(context.now())
  const card = await findCardInLine(context, requester, publicToken)
  const status = await refuseReplacement(context, card, today)
  const isReasonKnown = isFinal(status) && status !== '54'
  const given = reasons.filter((each) => !isReasonKnown || each === defaultReason(status))
  return Promise.all(
    given.map(async (reason) => {
      const facts = { card, status, today }
      const plan = await planSuccessor(context, requester, { publicToken, reason }, facts)
      const isActive = plan.statusCode === '00'
      const lastStatus = isFinal(status) ? status : plan.to
      const isOpen = !isFinal(lastStatus)
      // An active successor retires an open card at once.
      const isRetired = isEndedBy(reason, status) || (isActive && isOpen)
      return {
        replacementReason: reason,
        cardStatusCode: isRetired && isOpen ? '62' : lastStatus,
        retired: isRetired,
        pinMoved: plan.pinSource !== null,
        expiryDate: plan.expiry.lastDay(),
        active: isActive,
      }
    }),
  )
}

/** The error for a card that has a successor. */
export const alreadyReplaced = (replacedBy: PublicToken): Problem =>
  new Problem('card_already_replaced', {
    detail: `Its successor is the card ${replacedBy}.`,
    members: { replacedBy },
  })

const chooseExpiry = (
  { expiry, moveExpiryDate }: Replacement,
  card: stored.CardOfLine,
  { validityMonths }: GrantedProduct,
  today: string,
): Expiry => {
  if (expiry) return expiry
  return moveExpiryDate ? toExpiry(card.expiryDate) : expiryMonthsAfter(today, validityMonths)
}

function listExpiryFaults(
  { expiry: given, moveExpiryDate = false }: Replacement,
  expiry: Expiry,
  { validityMonths }: GrantedProduct,
  today: string,
): readonly ProblemError[] {
  if (given && moveExpiryDate) {
    return [{ pointer: '/moveExpiryDate', detail: 'must not be true with expiryDate' }]
  }
  // An expiry that moves may be later than that of a new card.
  const fault =
    moveExpiryDate && expiry.lastDay() > today ? null : expiryFault(expiry, today, validityMonths)
  if (fault === null) return []
  const pointer = moveExpiryDate ? '/moveExpiryDate' : '/expiryDate'
  return [{ pointer, detail: moveExpiryDate ? 'must be false: the card has expired' : fault }]
}

/**
 * Chooses the card whose PIN the successor gets. A card that was never activated and has the PIN of
 * an earlier one passes that one on.
 * @throws `Problem` `pin_not_transferable` if the PIN is requested, and cannot be carried.
 */
async function choosePinSource(
  context: cards.CardContext,
  requester: Owner,
  { movePin }: Replacement,
  {
    card,
    product,
    reason,
  }: {
    readonly card: stored.CardOfLine
    readonly product: GrantedProduct
    readonly reason: ReplacementReason
  },
): Promise<PinSource | null> {
  // A retired card may have been compromised.
  if (!(movePin ?? (!card.isRetired && carriesPin(reason, card.statusCode)))) return null
  const pinSourceToken = await stored.findPinSource(context.database, card)
  const source =
    pinSourceToken === null ? card : await findCardInLine(context, requester, pinSourceToken)
  if (!(movePin ?? carriesPin(reason, source.statusCode))) return null
  const { pinBlock, pinKey } = source
  const hasForm = product.pinRevealable && product.pinLength === source.pinLength
  if (pinBlock && hasForm) return { ...source, pin: { pinBlock, pvv: null, pinKey } }
  if (movePin) throw new Problem('pin_not_transferable')
  return null
}
