import type { Expiry } from '../../domain/calendar.ts'
import type { CardStatusCode } from '../../domain/card-status.ts'
import type { CardType } from '../../domain/product.ts'
import type { CardNumber, StoredPin } from '../../hsm/contract/card.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { NewCardRow } from '../../storage/cards/create-card.ts'
import type { GrantedProduct } from '../../storage/products/products.ts'
import { type PersonalData, sealPersonalData } from './personal-data.ts'

/** A card that is about to be stored, with its number, which may be taken. */
interface PreparedCard {
  readonly clientId: string
  readonly number: CardNumber
  readonly product: GrantedProduct
  readonly cardType: CardType
  readonly customerReference: string | null
  readonly designId: string | null
  readonly personalData: PersonalData
  /** `YYYY-MM-DD` */
  readonly startDate: string
  readonly expiry: Expiry
  readonly statusCode: CardStatusCode
  /** Null for a random one. */
  readonly pin: StoredPin | null
}

/** Composes the row of a new card, or of one that replaces another. */
export async function composeCardRow(
  hsm: Hsm,
  { expiry, number, personalData, pin, product, ...card }: PreparedCard,
): Promise<NewCardRow> {
  const { maskedPan, publicToken } = number
  const { dateOfBirth } = personalData.cardHolder
  const stored =
    pin ?? (await hsm.generatePin(number, { ...product, maskedPan, expiry, dateOfBirth }))
  return {
    clientId: card.clientId,
    productId: product.productId,
    cardType: card.cardType,
    customerReference: card.customerReference,
    designId: card.designId,
    maskedPan,
    encryptedPan: number.encryptedPan,
    personalData: await sealPersonalData(hsm, publicToken, personalData),
    startDate: card.startDate,
    expiryDate: expiry.lastDay(),
    statusCode: card.statusCode,
    ...stored,
    cvk: number.cvk,
    pinTryLimit: product.pinTryLimit,
    cvvTryLimit: product.cvvTryLimit,
  }
}
