import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'
import type { RecordRow } from './records.ts'

const declare = loadStatements(import.meta.url)

/** The record of a card, its current plastic, and the settings of its product for renewals. */
export interface CardToRenew extends RecordRow {
  /** Of the current plastic. */
  readonly plasticNumber: number
  /** Whether the card was converted, and its plastic has not been activated yet. */
  readonly isPlasticInactive: boolean
  /** Of the current plastic; null for a virtual card. */
  readonly deliveryStatus: DeliveryStatus | null
  /** The first card of the line. */
  readonly lineToken: PublicToken
  /** 0 for the first card. */
  readonly generation: number
  /** The highest number, also of a cancelled plastic. */
  readonly lastPlasticNumber: number
  readonly productCardTypes: readonly CardType[]
  readonly validityMonths: number
  readonly renewalEarliestDays: number
  readonly renewalGraceMonths: number
}

const selectCard = declare<{ publicToken: PublicToken; clientId: string }, CardToRenew>(
  'find_card_to_renew',
)

/** Returns a client's card as it is now, without a lock, or null. */
export const findCardToRenew = async (
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
): Promise<CardToRenew | null> => firstRow(await selectCard(connection, { publicToken, clientId }))

/** An act on a plastic of a card, and its caller. */
export interface PlasticAct {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly plasticNumber: number
  readonly requestId: string
  /** Sealed: the reason of an operator; null without one. */
  readonly note: Uint8Array | null
  /** The operator, if the client did not act itself. */
  readonly operatorId?: string
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

interface PlasticActValues extends ClaimValues {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly plasticNumber: number
  readonly requestId: string
  readonly note: Uint8Array | null
  readonly operatorId: string | null
}

const plasticActParameters = ({ claim, operatorId, ...act }: PlasticAct): PlasticActValues => ({
  ...claimParameters(claim),
  ...act,
  operatorId: operatorId ?? null,
})

/** A new plastic of a card. */
interface NewPlastic {
  readonly reason: 'Renewal' | 'Reprint' | 'Conversion'
  /** Whether it becomes current at once. */
  readonly isCurrent: boolean
  /** `YYYY-MM-DD` */
  readonly today: string
  /** `YYYY-MM-DD`: a card that expired before this day is refused. */
  readonly expiredSince: string
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
  /** Sealed; null without any. */
  readonly freeTexts: Uint8Array | null
  /** Sealed: the personal data that a conversion changes, before and after; null if it stays. */
  readonly formerPersonalData: Uint8Array | null
  readonly personalData: Uint8Array | null
}

interface Done {
  readonly isDone: boolean
}

const order = declare<PlasticActValues & NewPlastic, Done>('order_plastic')

/**
 * Orders the next plastic of a card.
 * @returns whether it was done: not if the card has changed meanwhile.
 */
export const orderPlastic = async (
  connection: Connection,
  act: PlasticAct,
  plastic: NewPlastic,
): Promise<boolean> => {
  const rows = await order(connection, { ...plasticActParameters(act), ...plastic })
  return firstRow(rows)?.isDone ?? false
}

const activate = declare<PlasticActValues & { readonly today: string }, Done>('activate_plastic')

/**
 * Makes the plastic that waits current.
 * @param today `YYYY-MM-DD`
 * @returns whether it was done: not if the card has changed meanwhile.
 */
export const activatePlastic = async (
  connection: Connection,
  act: PlasticAct,
  today: string,
): Promise<boolean> => {
  const rows = await activate(connection, { ...plasticActParameters(act), today })
  return firstRow(rows)?.isDone ?? false
}

const cancel = declare<PlasticActValues & { readonly isNotReceived: boolean }, Done>(
  'cancel_plastic',
)

/**
 * Cancels the plastic that waits.
 * @param isNotReceived whether it was lost on its way, and may have been produced.
 * @returns whether it was done: not if the card has changed meanwhile.
 */
export const cancelPlastic = async (
  connection: Connection,
  act: PlasticAct,
  isNotReceived: boolean,
): Promise<boolean> => {
  const rows = await cancel(connection, { ...plasticActParameters(act), isNotReceived })
  return firstRow(rows)?.isDone ?? false
}
