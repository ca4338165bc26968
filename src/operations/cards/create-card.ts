import { type Expiry, expiryFault, expiryMonthsAfter, formatDate } from '../../domain/calendar.ts'
import type { CardStatusCode } from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import { embossName } from '../../domain/free-text.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type { CardType } from '../../domain/product.ts'
import type { CardNumber } from '../../hsm/contract/card.ts'
import { insertCard } from '../../storage/cards/create-card.ts'
import { findGrantedProduct, type GrantedProduct } from '../../storage/products/products.ts'
import * as idempotency from '../idempotency/idempotency.ts'
import { createDraw } from './card-number.ts'
import { composeCardRow } from './card-row.ts'
import { type CardContext, type CreatedCard, changeEvent, describeCard } from './cards.ts'
import type { Address, CardHolder } from './personal-data.ts'

/** The members of a client's request for a card. */
interface NewCard {
  readonly cardType: CardType
  readonly cardProduct: ProductId
  readonly cardHolder: CardHolder
  readonly address: Address
  readonly fulfilment?: Address
  readonly nameOnCard?: string
  readonly customerReference?: string
  readonly expiry?: Expiry
  readonly designId?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly activateNow?: boolean
}

/**
 * Creates a card of a product granted to the requester, with a random PIN.
 * @throws `Problem` `product_not_available`; `validation_failed` for members that the product does
 *   not allow.
 */
export function createCard(
  context: CardContext,
  requester: Requester,
  card: NewCard,
  request: idempotency.RepeatableRequest | null,
): Promise<idempotency.Answer<CreatedCard>> {
  const draw = createDraw(null)
  return idempotency.commitOnce<CreatedCard>(context, request, async (claimFor) => {
    const { clientId } = requester
    const product = await findGrantedProduct(context.database, clientId, card.cardProduct)
    if (!product) throw notAvailable()
    const plan = planCard(context, product, card)
    const number = await draw(context, product)
    return createUnderNumber(context, requester, { ...plan, number }, claimFor)
  })
}

/** The error for a missing product and for a product of other clients. */
export const notAvailable = (): Problem => {
  const detail = 'must be the productId of an active product that is granted to your client'
  return new Problem('product_not_available', { errors: [{ pointer: '/cardProduct', detail }] })
}

/** A validated card without its number. */
interface CardPlan {
  readonly card: NewCard
  readonly product: GrantedProduct
  readonly startDate: string
  readonly expiry: Expiry
  readonly embossName: string
  readonly statusCode: CardStatusCode
}

/** A validated card with its number, which may be taken. */
interface NumberedPlan extends CardPlan {
  readonly number: CardNumber
}

/** @throws `Problem` `validation_failed` with every fault of the product's rules or the name. */
function planCard({ now }: CardContext, product: GrantedProduct, card: NewCard): CardPlan {
  const startDate = formatDate(now())
  const expiry = card.expiry ?? expiryMonthsAfter(startDate, product.validityMonths)
  const expiryDetail = expiryFault(expiry, startDate, product.validityMonths)
  const { firstName, lastName } = card.cardHolder
  const name = card.nameOnCard ?? embossName(firstName, lastName)
  const typeDetail = `must be a type that the product offers: ${product.cardTypes.join(', ')}`
  const noName = 'must be given: neither firstName nor lastName has Latin letters to emboss'
  const faults = [
    ...(product.cardTypes.includes(card.cardType)
      ? []
      : [{ pointer: '/cardType', detail: typeDetail }]),
    ...(expiryDetail === null ? [] : [{ pointer: '/expiryDate', detail: expiryDetail }]),
    ...(name === null ? [{ pointer: '/nameOnCard', detail: noName }] : []),
  ]
  if (faults.length > 0 || name === null) throw validationFailed(...faults)
  const statusCode = (card.activateNow ?? card.cardType === 'Virtual') ? '00' : '02'
  return { card, product, startDate, expiry, embossName: name, statusCode }
}

/** Creates the card under its number, or nothing if the number is taken. */
async function createUnderNumber(
  { database, hsm }: CardContext,
  requester: Requester,
  plan: NumberedPlan,
  claimFor: idempotency.ClaimFor<CreatedCard>,
): Promise<idempotency.Committed<CreatedCard>> {
  const { card, number, product, statusCode } = plan
  const { address, cardHolder, cardType, fulfilment, metadata } = card
  const { panFingerprints, publicToken } = number
  const row = await composeCardRow(hsm, {
    ...plan,
    clientId: requester.clientId,
    cardType,
    customerReference: card.customerReference ?? null,
    designId: card.designId ?? null,
    personalData: {
      embossName: plan.embossName,
      cardHolder,
      address,
      ...(fulfilment && { fulfilment }),
    },
    pin: null,
  })
  const result: CreatedCard = {
    ...describeCard({ ...row, publicToken }, statusCode, plan.embossName),
    ...(metadata && { metadata }),
  }
  const details = { cardProduct: product.productId, cardType, cardStatusCode: statusCode }
  const event = await changeEvent({ hsm }, requester, {
    publicToken,
    type: 'card.created',
    details,
  })
  const claim = await claimFor(result)
  const isDone = await insertCard(database, {
    card: row,
    metadata: metadata ? JSON.stringify(metadata) : null,
    event,
    panFingerprints,
    productVersion: product.version,
    claim,
  })
  return { isDone, result }
}
