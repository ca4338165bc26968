import { type CardStatus, describeCardStatus } from '../domain/card-status.ts'
import type { CardType } from '../domain/product.ts'
import { type TryStatus, tryStatus } from '../domain/tries.ts'
import type { CardWithTries } from '../storage/cards.ts'
import { statusNow } from './held-card.ts'
import type { Issuing } from './issuing.ts'
import { revealPersonalData } from './personal-data.ts'

/** A card as its creation answers it. There is no PAN, PIN or CVV in it to leak. */
export interface CreatedCard extends CardStatus {
  readonly publicToken: string
  readonly customerReference?: string
  readonly cardType: CardType
  readonly cardProduct: number
  readonly embossName: string
  readonly maskedPan: string
  /** `YYYY-MM-DD`. */
  readonly startDate: string
  /** `YYYY-MM-DD`, the last day of its month. */
  readonly expiryDate: string
  readonly designId?: string
}

/** A card as a read answers it. */
export interface CardRecord extends CreatedCard {
  readonly pinStatus: TryStatus
  readonly cvvStatus: TryStatus
  /** RFC 3339, UTC. */
  readonly createdAt: string
}

/** The record of a stored card. */
export async function cardRecord(issuing: Issuing, card: CardWithTries): Promise<CardRecord> {
  const { embossName } = await revealPersonalData(issuing.hsm, card.publicToken, card.personalData)
  return {
    publicToken: card.publicToken,
    ...(card.customerReference !== null && { customerReference: card.customerReference }),
    cardType: card.cardType,
    cardProduct: card.productId,
    embossName,
    maskedPan: card.maskedPan,
    startDate: card.startDate,
    expiryDate: card.expiryDate,
    ...(card.designId !== null && { designId: card.designId }),
    ...describeCardStatus(statusNow(issuing, card)),
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
    createdAt: card.createdAt.toISOString(),
  }
}
