import {
  type Expiry,
  expiryFault,
  expiryMonthsAfter,
  formatDate,
  toExpiry,
} from '../../domain/calendar.ts'
import { findGraceStart, findLifeStatus, lifeActs } from '../../domain/card-life.ts'
import { type CardStatusCode, describeCardStatus, isFinal } from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import {
  carriesPin,
  defaultReason,
  type ReplacementReason,
  reasonEffects,
} from '../../domain/replacement.ts'
import type { CardNumber, StoredPin } from '../../hsm/contract/card.ts'
import * as stored from '../../storage/cards/replacements.ts'
import { findGrantedProduct, type GrantedProduct } from '../../storage/products/products.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { createDraw } from './card-number.ts'
import * as cards from './cards.ts'
import { notAvailable } from './create-card.ts'
import { type FreeTexts, sealFreeTexts } from './free-texts.ts'
import { type Address, revealPersonalData, sealPersonalData } from './personal-data.ts'
import { findUnblockLimit } from './tries.ts'

/** The members of a request to replace a card. */
interface Replacement extends FreeTexts {
  readonly publicToken: PublicToken
  /** By default, what the status of the card says. */
  readonly reason?: ReplacementReason
  /** By default, the product of the replaced card. */
  readonly cardProduct?: ProductId
  readonly expiry?: Expiry
  /** Whether the successor has the expiry of the replaced card. */
  readonly moveExpiryDate?: boolean
  /** Null for what the reason says. */
  readonly movePin?: boolean
  readonly fulfilment?: Address
  readonly activateNow?: boolean
  readonly note?: cards.ChangeNote
}

/** The answer of a replacement: the new card. */
export interface Successor extends cards.CreatedCard {
  readonly replacementFor: PublicToken
  /** Whether the successor has the PIN of the replaced card. */
  readonly pinMoved: boolean
}

/**
 * Replaces a card by a new one, with another number and the same holder and controls. The replaced
 * card works until the new one is activated, unless the reason ends it.
 * @throws `Problem` `card_not_found`, `card_closed`, `card_already_replaced`,
 *   `product_not_available`, `pin_not_transferable`; `validation_failed` for members that the
 *   product does not allow.
 */
export function replaceCard(
  context: cards.CardContext,
  requester: cards.CardActor,
  replacement: Replacement,
  request: RepeatableRequest | null,
): Promise<Answer<Successor>> {
  let draw: ReturnType<typeof createDraw> | null = null
  return commitOnce<Successor>(context, request, async (claimFor) => {
    const { database, hsm } = context
    const today = formatDate(context.now())
    const card = await findCard(context, requester, replacement.publicToken)
    const status = await refuseReplacement(context, card, today)
    const plan = await planSuccessor(context, requester, replacement, { card, status, today })
    draw ??= createDraw(card.lineToken)
    const number = await draw(context, plan.product)
    const { panFingerprints, publicToken } = number
    const personalData = await revealPersonalData(hsm, card.publicToken, card.personalData)
    const { fulfilment = personalData.fulfilment } = replacement
    const pin = plan.pinSource
      ? await hsm.translatePin(plan.pinSource, plan.pinSource.pin, number)
      : await generatePin(context, number, plan, personalData.cardHolder.dateOfBirth)
    const result = describeSuccessor(plan, number, personalData.embossName)
    const claim = await claimFor(result)
    const { reason } = plan
    const pinMoved = plan.pinSource !== null
    const isDone = await stored.insertReplacement(database, {
      replaced: card,
      to: plan.to,
      isRetired: isEndedBy(reason, status),
      reason,
      today,
      expiredSince: findGraceStart(card.graceMonths, today),
      successorToken: publicToken,
      card: {
        clientId: requester.clientId,
        productId: plan.product.productId,
        cardType: card.cardType,
        customerReference: card.customerReference,
        designId: card.designId,
        maskedPan: number.maskedPan,
        encryptedPan: number.encryptedPan,
        personalData: await sealPersonalData(hsm, publicToken, {
          ...personalData,
          ...(fulfilment && { fulfilment }),
        }),
        startDate: today,
        expiryDate: plan.expiry.lastDay(),
        statusCode: plan.statusCode,
        ...pin,
        cvk: number.cvk,
        pinTryLimit: plan.product.pinTryLimit,
        cvvTryLimit: plan.product.cvvTryLimit,
      },
      productVersion: plan.product.version,
      panFingerprints,
      freeTexts: await sealFreeTexts(hsm, publicToken, 0, replacement),
      pinSource: plan.pinSource,
      isPinRequested: replacement.movePin === true,
      unblockLimit: findUnblockLimit(context, 'pin'),
      requestId: requester.requestId,
      replacedDetails: { replacedBy: publicToken, reason, pinMoved },
      createdDetails: {
        cardProduct: plan.product.productId,
        cardType: card.cardType,
        cardStatusCode: plan.statusCode,
        replacementFor: card.publicToken,
      },
      note: await cards.sealNote(context, card.publicToken, replacement.note ?? {}),
      operatorId: requester.operatorId ?? null,
      claim,
    })
    return { isDone, result }
  })
}

/** The error for a card that has a successor. */
export const alreadyReplaced = (replacedBy: PublicToken): Problem =>
  new Problem('card_already_replaced', {
    detail: `Its successor is the card ${replacedBy}.`,
    members: { replacedBy },
  })

/**
 * Retires a replaced card, whether or not its successor has been activated. A card that is closed
 * or retired does not change.
 * @throws `Problem` `card_not_found`, `not_replaced`.
 */
export const completeReplacement = (
  context: cards.CardContext,
  requester: Requester,
  publicToken: PublicToken,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const today = formatDate(context.now())
    const replaced = await findCard(context, requester, publicToken)
    const successor = await stored.findSuccessor(context.database, replaced, today)
    if (successor === null) throw new Problem('not_replaced')
    const isDone = await stored.completeReplacement(context.database, {
      replaced,
      clientId: requester.clientId,
      today,
      requestId: requester.requestId,
      claim: await claimFor(null),
    })
    return { isDone, result: null }
  })

async function findCard(
  { database }: cards.CardContext,
  { clientId }: Requester,
  publicToken: PublicToken,
): Promise<stored.CardOfLine> {
  const card = await stored.findCardOfLine(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return card
}

/**
 * Whether a reason retires the replaced card in the same act. An expired card cannot become lost or
 * stolen, and is retired instead, so that no renewal brings it back.
 */
const isEndedBy = (reason: ReplacementReason, status: CardStatusCode): boolean => {
  const { movesTo, retires } = reasonEffects[reason]
  return status === '54' ? retires || movesTo !== null : retires && !isFinal(status)
}

/**
 * Refuses a card that its status or a successor keeps from being replaced.
 * @returns the present status.
 */
async function refuseReplacement(
  context: cards.CardContext,
  card: stored.CardOfLine,
  today: string,
): Promise<CardStatusCode> {
  const replacedBy = await stored.findSuccessor(context.database, card, today)
  if (replacedBy !== null) throw alreadyReplaced(replacedBy)
  const status = cards.statusNow(context, card)
  const lifeStatus = findLifeStatus(status, card.isRetired)
  const { replace } = lifeActs[lifeStatus]
  if (replace === 'no') throw cards.cardClosed(lifeStatus)
  if (replace !== 'yes' && card.validUntil < findGraceStart(card.graceMonths, today)) {
    const detail = `The card expired after ${card.validUntil}, too long ago to be replaced.`
    throw new Problem('card_closed', { detail })
  }
  return status
}

/** The card whose PIN a successor gets. */
interface PinSource extends stored.CardOfLine {
  readonly pin: Extract<StoredPin, { pvv: null }>
}

/** A validated successor without its number. */
interface SuccessorPlan {
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

async function planSuccessor(
  context: cards.CardContext,
  requester: Requester,
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
  requester: Requester,
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
  const source = pinSourceToken === null ? card : await findCard(context, requester, pinSourceToken)
  if (!(movePin ?? carriesPin(reason, source.statusCode))) return null
  const { pinBlock, pinKey } = source
  const hasForm = product.pinRevealable && product.pinLength === source.pinLength
  if (pinBlock && hasForm) return { ...source, pin: { pinBlock, pvv: null, pinKey } }
  if (movePin) throw new Problem('pin_not_transferable')
  return null
}

const generatePin = (
  { hsm }: cards.CardContext,
  number: CardNumber,
  { expiry, product }: SuccessorPlan,
  dateOfBirth: string,
): Promise<StoredPin> =>
  hsm.generatePin(number, { ...product, maskedPan: number.maskedPan, expiry, dateOfBirth })

function describeSuccessor(
  { card, expiry, pinSource, product, startDate, statusCode }: SuccessorPlan,
  { maskedPan, publicToken }: CardNumber,
  embossName: string,
): Successor {
  return {
    publicToken,
    ...(card.customerReference !== null && { customerReference: card.customerReference }),
    cardType: card.cardType,
    cardProduct: product.productId,
    embossName,
    maskedPan,
    startDate,
    expiryDate: expiry.lastDay(),
    ...(card.designId !== null && { designId: card.designId }),
    ...describeCardStatus(statusCode),
    replacementFor: card.publicToken,
    pinMoved: pinSource !== null,
  }
}
