import type { CardStatusCode } from '../../domain/card-status.ts'
import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { ReplacementReason } from '../../domain/replacement.ts'
import { type Connection, type Database, firstRow, isUndone } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'
import { joinFingerprints, type NewCardRow } from './create-card.ts'
import type { PanFingerprintColumns } from './keys-of-cards.ts'
import { type Limit, type LimitValues, limitParameters } from './limits.ts'

const declare = loadStatements(import.meta.url)

/** A card in its line, with the facts that its replacement and its activation depend on. */
export interface CardOfLine {
  readonly publicToken: PublicToken
  readonly productId: ProductId
  readonly cardType: CardType
  readonly customerReference: string | null
  readonly designId: string | null
  readonly personalData: Uint8Array
  /** `YYYY-MM-DD`, of the current plastic. */
  readonly expiryDate: string
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  readonly statusCode: CardStatusCode
  /** The first card of the line. */
  readonly lineToken: PublicToken
  /** 0 for the first card. */
  readonly generation: number
  readonly isRetired: boolean
  readonly encryptedPan: Uint8Array
  readonly pinBlock: Uint8Array | null
  readonly pinKey: string
  readonly pinVersion: number
  /** Until its activation: the card of the line whose PIN it has; null for a PIN of its own. */
  readonly pinSourceToken: PublicToken | null
  /** The version of that PIN. */
  readonly carriedPinVersion: number | null
  /** Of its product. */
  readonly pinLength: number
  readonly currencyCode: string
  /** For how many months after its last day it can be replaced. */
  readonly renewalGraceMonths: number
  /** Whether it is a physical card of a product with chips. */
  readonly hasChip: boolean
  /** Of the current plastic. */
  readonly plasticNumber: number
  /** Of the current plastic; null for a virtual card. */
  readonly deliveryStatus: DeliveryStatus | null
  /** JSON of an object of texts; null without metadata. */
  readonly metadata: string | null
}

const selectCard = declare<{ publicToken: PublicToken; clientId: string }, CardOfLine>(
  'find_card_of_line',
)

/** Returns a client's card, or null. */
export const findCardOfLine = async (
  connection: Connection,
  publicToken: PublicToken,
  clientId: string,
): Promise<CardOfLine | null> => firstRow(await selectCard(connection, { publicToken, clientId }))

interface PlaceInLine {
  readonly lineToken: PublicToken
  readonly generation: number
  readonly today: string
}

const selectSuccessor = declare<PlaceInLine, { publicToken: PublicToken | null }>('find_successor')

/**
 * Returns the successor of a card that was or can be activated, or null.
 * @param today `YYYY-MM-DD`
 */
export const findSuccessor = async (
  connection: Connection,
  { generation, lineToken }: Pick<CardOfLine, 'generation' | 'lineToken'>,
  today: string,
): Promise<PublicToken | null> =>
  firstRow(await selectSuccessor(connection, { lineToken, generation, today }))?.publicToken ?? null

const selectPinSource = declare<
  Pick<CardOfLine, 'generation' | 'lineToken' | 'pinSourceToken'>,
  { publicToken: PublicToken | null }
>('find_pin_source')

/**
 * Returns the card whose PIN a card that was not activated gets at its activation; null for a PIN
 * of its own.
 */
export const findPinSource = async (
  connection: Connection,
  { generation, lineToken, pinSourceToken }: CardOfLine,
): Promise<PublicToken | null> =>
  firstRow(await selectPinSource(connection, { generation, lineToken, pinSourceToken }))
    ?.publicToken ?? null

const selectRequest = declare<
  Pick<CardOfLine, 'generation' | 'lineToken'>,
  { isPinRequested: boolean }
>('is_pin_requested')

/** Whether the client asked for the PIN of the replaced card when it replaced it. */
export const isPinRequested = async (
  connection: Connection,
  { generation, lineToken }: Pick<CardOfLine, 'generation' | 'lineToken'>,
): Promise<boolean> =>
  firstRow(await selectRequest(connection, { generation, lineToken }))?.isPinRequested ?? false

const selectToken = declare<
  { candidates: readonly string[]; lineToken: PublicToken },
  { publicToken: PublicToken | null }
>('choose_token_of_shard')

/** Chooses a token that lies on the same node of a cluster as a line, or null. */
export const chooseTokenOfShard = async (
  connection: Connection,
  lineToken: PublicToken,
  candidates: readonly PublicToken[],
): Promise<PublicToken | null> =>
  firstRow(await selectToken(connection, { candidates, lineToken }))?.publicToken ?? null

interface ReplacementValues extends NewCardRow, ClaimValues, LimitValues {
  readonly lineToken: PublicToken
  readonly replacedToken: PublicToken
  readonly from: CardStatusCode
  readonly to: CardStatusCode
  readonly isRetired: boolean
  readonly today: string
  readonly expiredSince: string
  readonly reason: ReplacementReason
  readonly successorToken: PublicToken
  readonly formerPersonalData: Uint8Array
  readonly productVersion: string
  readonly panFingerprints: string
  readonly fingerprintKeyVersions: string
  readonly freeTexts: Uint8Array | null
  readonly pinSourceToken: PublicToken | null
  readonly pinSourceVersion: number | null
  readonly isPinRequested: boolean
  readonly requestId: string
  readonly replacedDetails: string
  readonly createdDetails: string
  readonly note: Uint8Array | null
  readonly createdNote: Uint8Array | null
  readonly operatorId: string | null
}

interface Done {
  readonly isDone: boolean
}

const insertSuccessor = declare<ReplacementValues, Done>('replace_card')

/** A card's replacement, with its successor. */
export interface Replacement {
  readonly replaced: CardOfLine
  /** The status that the replaced card gets. */
  readonly to: CardStatusCode
  /** Whether the replaced card is retired in the same act. */
  readonly isRetired: boolean
  readonly reason: ReplacementReason
  /** `YYYY-MM-DD` */
  readonly today: string
  /** An expired card must have been valid on this day, `YYYY-MM-DD`. */
  readonly expiredSince: string
  readonly successorToken: PublicToken
  readonly card: NewCardRow
  readonly productVersion: string
  readonly panFingerprints: readonly PanFingerprintColumns[]
  readonly freeTexts: Uint8Array | null
  /** The card whose PIN the successor has; null for a PIN of its own. */
  readonly pinSource: Pick<CardOfLine, 'publicToken' | 'pinVersion'> | null
  /** Whether the client asked for the PIN. */
  readonly isPinRequested: boolean
  /** Of the unblocks of a PIN; null without one. */
  readonly unblockLimit: Limit | null
  readonly requestId: string
  readonly replacedDetails: object
  readonly createdDetails: object
  /** Sealed for the replaced card: the reason of an operator; null without one. */
  readonly note: Uint8Array | null
  /** The same, sealed for the successor. */
  readonly createdNote: Uint8Array | null
  /** The operator, if the client did not act itself. */
  readonly operatorId: string | null
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

/**
 * Adds the successor of a card.
 * @returns whether it was done: not if its number is taken, or what it depends on was changed.
 */
export async function insertReplacement(
  database: Database,
  { card, claim, createdDetails, panFingerprints, pinSource, replaced, ...given }: Replacement,
): Promise<boolean> {
  const { replacedDetails, unblockLimit, ...values } = given
  const row: ReplacementValues = {
    ...values,
    ...card,
    ...claimParameters(claim),
    ...limitParameters(unblockLimit),
    ...joinFingerprints(panFingerprints),
    lineToken: replaced.lineToken,
    replacedToken: replaced.publicToken,
    from: replaced.statusCode,
    formerPersonalData: replaced.personalData,
    pinSourceToken: pinSource?.publicToken ?? null,
    pinSourceVersion: pinSource?.pinVersion ?? null,
    replacedDetails: JSON.stringify(replacedDetails),
    createdDetails: JSON.stringify(createdDetails),
  }
  try {
    return firstRow(await insertSuccessor(database, row))?.isDone ?? false
  } catch (error) {
    if (isUndone(error)) return false
    throw error
  }
}

interface ActivationValues extends ClaimValues, LimitValues {
  readonly lineToken: PublicToken
  readonly successorToken: PublicToken
  readonly clientId: string
  readonly today: string
  readonly pinSourceToken: PublicToken | null
  readonly pinSourceVersion: number | null
  readonly isPinNew: boolean
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string | null
  readonly hasChip: boolean
  readonly requestId: string
  readonly note: Uint8Array | null
  readonly operatorId: string | null
}

const activate = declare<ActivationValues, Done>('activate_successor')

/** The PIN that a successor gets at its activation. */
export interface ChangedPin {
  /** Of the PIN of the card that its own PIN was carried from. */
  readonly version: number
  /** Whether it is a new PIN, and not that of the other card. */
  readonly isNew: boolean
  readonly pin: Pick<NewCardRow, 'pinBlock' | 'pvv' | 'pinKey'>
}

/** The activation of a successor. */
export interface Activation {
  readonly successor: CardOfLine
  readonly clientId: string
  /** `YYYY-MM-DD` */
  readonly today: string
  /** The card whose PIN it gets; null for a PIN of its own. */
  readonly pinSourceToken: PublicToken | null
  /** The PIN that it gets instead of its own; null if it keeps its own. */
  readonly changedPin: ChangedPin | null
  /** Of the unblocks of a PIN; null without one. */
  readonly unblockLimit: Limit | null
  readonly requestId: string
  readonly note: Uint8Array | null
  readonly operatorId: string | null
  readonly claim: Claim | null
}

/**
 * Activates the successor of a replaced card, and retires the cards before it.
 * @returns whether it was done: not if what it depends on was changed.
 */
export async function activateSuccessor(
  connection: Connection,
  { changedPin, claim, successor, unblockLimit, ...values }: Activation,
): Promise<boolean> {
  const rows = await activate(connection, {
    ...values,
    ...claimParameters(claim),
    ...limitParameters(unblockLimit),
    lineToken: successor.lineToken,
    successorToken: successor.publicToken,
    hasChip: successor.hasChip,
    pinSourceVersion: changedPin?.version ?? null,
    isPinNew: changedPin?.isNew ?? false,
    pinBlock: changedPin?.pin.pinBlock ?? null,
    pvv: changedPin?.pin.pvv ?? null,
    pinKey: changedPin?.pin.pinKey ?? null,
  })
  return firstRow(rows)?.isDone ?? false
}

interface CompletionValues extends ClaimValues {
  readonly lineToken: PublicToken
  readonly replacedToken: PublicToken
  readonly clientId: string
  readonly today: string
  readonly requestId: string
}

const complete = declare<CompletionValues, Done>('complete_replacement')

/** The end of a replaced card. */
export interface Completion {
  readonly replaced: Pick<CardOfLine, 'lineToken' | 'publicToken'>
  readonly clientId: string
  /** `YYYY-MM-DD` */
  readonly today: string
  readonly requestId: string
  readonly claim: Claim | null
}

/**
 * Retires a replaced card.
 * @returns whether it was done: not if it has no successor, or the key was not free.
 */
export async function completeReplacement(
  connection: Connection,
  { claim, replaced, ...values }: Completion,
): Promise<boolean> {
  const rows = await complete(connection, {
    ...values,
    ...claimParameters(claim),
    lineToken: replaced.lineToken,
    replacedToken: replaced.publicToken,
  })
  return firstRow(rows)?.isDone ?? false
}
