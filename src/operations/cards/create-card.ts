import { dateOf, type Expiry, expiryFault, expiryMonthsAfter } from '../../domain/calendar.ts'
import { type CardStatusCode, describeCardStatus } from '../../domain/card-status.ts'
import { embossName } from '../../domain/free-text.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import type { CardType, Product } from '../../domain/product.ts'
import type { CardNumber, Hsm } from '../../hsm/contract/hsm.ts'
import {
  insertCard,
  type NewCardRow,
  releasePan,
  takePan,
} from '../../storage/cards/create-card.ts'
import { findGrantedProduct } from '../../storage/clients/products.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import type { CardOperations, CreatedCard, Requester } from './cards.ts'
import { changeEvent } from './change-status.ts'

/** What a client asks a card to be. */
interface NewCard {
  readonly cardType: CardType
  readonly cardProduct: number
  readonly cardHolder: CardHolder
  readonly address: Address
  readonly fulfilment?: Address
  readonly nameOnCard?: string
  readonly customerReference?: string
  readonly expiry?: Expiry
  readonly designId?: string
  readonly activateNow?: boolean
}

/** So many collisions in a row mean that the BIN is full, or that a seed repeats on old data. */
const drawsMax = 1_000

/**
 * Creates a card of a product granted to the caller, with a random PIN.
 * @throws `Problem` `product_not_available`; `validation_failed` for what the product does not allow.
 */
export const createCard = (
  issuing: CardOperations,
  caller: Requester,
  card: NewCard,
  request: RepeatableRequest | null,
): Promise<Answer<CreatedCard>> =>
  once(issuing, request, async (connection) => {
    const product = await findGrantedProduct(connection, caller.clientId, card.cardProduct)
    if (!product) throw new Problem('product_not_available')
    const plan = planCard(issuing, product, card)
    for (let draw = 1; draw <= drawsMax; draw += 1) {
      const created = await tryNumber(issuing, caller, connection, plan)
      if (created) return created
    }
    throw new Error(`No number is free in the BIN of product ${product.productId}.`)
  })

/** A card that can be made, all but its number. */
interface CardPlan {
  readonly card: NewCard
  readonly product: Product
  readonly startDate: string
  readonly expiry: Expiry
  readonly embossName: string
  readonly statusCode: CardStatusCode
}

/** @throws `Problem` `validation_failed` with all that the product or the name does not allow. */
function planCard(issuing: CardOperations, product: Product, card: NewCard): CardPlan {
  const startDate = dateOf(issuing.now())
  const expiry = card.expiry ?? expiryMonthsAfter(startDate, product.validityMonths)
  const { firstName, lastName } = card.cardHolder
  const name = card.nameOnCard ?? embossName(firstName, lastName)
  const faults = planFaults(product, card, expiry, startDate, name)
  if (faults.length > 0 || name === null) throw validationFailed(...faults)
  const statusCode = (card.activateNow ?? card.cardType === 'Virtual') ? '00' : '02'
  return { card, product, startDate, expiry, embossName: name, statusCode }
}

function planFaults(
  product: Product,
  card: NewCard,
  expiry: Expiry,
  today: string,
  name: string | null,
): ProblemError[] {
  const expiryDetail = expiryFault(expiry, today, product.validityMonths)
  const isOffered = product.cardTypes.includes(card.cardType)
  return [
    ...(isOffered ? [] : [{ pointer: '/cardType', detail: 'is not offered by the product' }]),
    ...(expiryDetail === null ? [] : [{ pointer: '/expiryDate', detail: expiryDetail }]),
    ...(name === null ? [{ pointer: '/nameOnCard', detail: noName }] : []),
  ]
}

const noName = 'must be given, because nothing of the name can be embossed'

/** Makes the card under a number drawn now, or nothing at all if the number is taken. */
async function tryNumber(
  issuing: CardOperations,
  caller: Requester,
  connection: Connection,
  plan: CardPlan,
): Promise<CreatedCard | null> {
  const number = await issuing.hsm.generateCardNumber(plan.product.bin, plan.product.cvk)
  const { panFingerprints, publicToken } = number
  if (!(await takePan(connection, panFingerprints, publicToken))) return null
  const row = await cardRow(issuing, caller, plan, number)
  const event = await changeEvent(issuing, caller, publicToken, 'card.created', {
    details: {
      cardProduct: row.productId,
      cardType: row.cardType,
      cardStatusCode: row.statusCode,
    },
  })
  if (await insertCard(connection, row, event)) return createdCard(plan, number)
  await releasePan(connection, panFingerprints, publicToken)
  return null
}

async function cardRow(
  { hsm }: CardOperations,
  { clientId }: Requester,
  { card, embossName, expiry, product, startDate, statusCode }: CardPlan,
  number: CardNumber,
): Promise<NewCardRow> {
  const { address, cardHolder, fulfilment } = card
  const pin = await hsm.generatePin(number, {
    ...product,
    maskedPan: number.maskedPan,
    expiry,
    dateOfBirth: cardHolder.dateOfBirth,
  })
  return {
    clientId,
    productId: product.productId,
    cardType: card.cardType,
    customerReference: card.customerReference ?? null,
    designId: card.designId ?? null,
    maskedPan: number.maskedPan,
    encryptedPan: number.encryptedPan,
    personalData: await sealPersonalData(hsm, number.publicToken, {
      embossName,
      cardHolder,
      address,
      ...(fulfilment && { fulfilment }),
    }),
    startDate,
    expiryDate: expiry.lastDay(),
    statusCode,
    ...pin,
    cvk: number.cvk,
    pinTryLimit: product.pinTryLimit,
    cvvTryLimit: product.cvvTryLimit,
  }
}

const createdCard = (
  { card, embossName, expiry, product, startDate, statusCode }: CardPlan,
  { maskedPan, publicToken }: CardNumber,
): CreatedCard => ({
  publicToken,
  ...(card.customerReference !== undefined && { customerReference: card.customerReference }),
  cardType: card.cardType,
  cardProduct: product.productId,
  embossName,
  maskedPan,
  startDate,
  expiryDate: expiry.lastDay(),
  ...(card.designId !== undefined && { designId: card.designId }),
  ...describeCardStatus(statusCode),
})

/** The person that a card is for. */
interface CardHolder {
  readonly title?: string
  readonly firstName: string
  readonly middleName?: string
  readonly lastName: string
  /** `YYYY-MM-DD`. */
  readonly dateOfBirth: string
  readonly mobile?: string
  readonly email?: string
}

/** A postal address. */
interface Address {
  readonly addressLine1: string
  readonly addressLine2?: string
  readonly addressLine3?: string
  readonly city?: string
  readonly state?: string
  readonly county?: string
  readonly postCode: string
  /** ISO 3166-1 alpha-3. */
  readonly country: string
}

/** What is known of a card's holder. Kept sealed, as one record. */
interface PersonalData {
  readonly embossName: string
  readonly cardHolder: CardHolder
  readonly address: Address
  readonly fulfilment?: Address
}

const sealPersonalData = (
  hsm: Hsm,
  publicToken: string,
  personalData: PersonalData,
): Promise<Uint8Array> => hsm.sealRecord('personal-data', publicToken, JSON.stringify(personalData))

export const revealPersonalData = async (
  hsm: Hsm,
  publicToken: string,
  sealed: Uint8Array,
): Promise<PersonalData> =>
  JSON.parse(await hsm.revealRecord('personal-data', publicToken, sealed)) as PersonalData
