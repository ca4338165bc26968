import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, type Database, isUndone } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import { type EventValues, eventParameters, type NewEvent } from '../events/events.ts'
import {
  type Claim,
  type ClaimValues,
  claimParameters,
  joinBytes,
} from '../idempotency/idempotency.ts'
import type { PanFingerprintColumns } from './keys-of-cards.ts'

/** The initial values of a card. */
export interface NewCardRow {
  readonly clientId: string
  readonly productId: ProductId
  readonly cardType: CardType
  readonly customerReference: string | null
  readonly designId: string | null
  readonly maskedPan: string
  readonly encryptedPan: Uint8Array
  readonly personalData: Uint8Array
  readonly startDate: string
  readonly expiryDate: string
  readonly statusCode: CardStatusCode
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly cvk: string
  readonly pinTryLimit: number
  readonly cvvTryLimit: number
}

const declare = loadStatements(import.meta.url)
const shared = loadSharedStatements(import.meta.url)

interface CardCreation extends NewCardRow, EventValues, ClaimValues {
  readonly productVersion: string
  readonly metadata: string | null
  /**
   * One for each version of their key, in ascending order, separated by commas; and those versions.
   */
  readonly panFingerprints: string
  readonly fingerprintKeyVersions: string
}

const createCard = shared.declareAct<CardCreation, { isDone: boolean }>('create_card')

/** A new card with its number. */
interface NumberedCard {
  readonly card: NewCardRow
  /** JSON of an object of texts; null or absent without metadata. */
  readonly metadata?: string | null
  readonly event: NewEvent
  readonly panFingerprints: readonly PanFingerprintColumns[]
  /** The version of its product when the card was prepared. */
  readonly productVersion: string
  /** Null without an idempotency key. */
  readonly claim: Claim | null
}

/**
 * Adds a card, its tries and its first event.
 * @returns whether it was done: not if its number or its token is taken, or if its product is no
 *   longer granted to the client or was changed.
 */
export async function insertCard(
  database: Database,
  { card, claim, event, metadata = null, panFingerprints, productVersion }: NumberedCard,
): Promise<boolean> {
  const creation: CardCreation = {
    ...card,
    ...eventParameters(event),
    ...claimParameters(claim),
    ...joinFingerprints(panFingerprints),
    productVersion,
    metadata,
  }
  try {
    return (await createCard(database, event.publicToken, creation))?.isDone ?? false
  } catch (error) {
    if (isUndone(error)) return false
    throw error
  }
}

/** The parameters of fingerprints, in one order: two cards with the same number never deadlock. */
export function joinFingerprints(
  panFingerprints: readonly PanFingerprintColumns[],
): Pick<CardCreation, 'panFingerprints' | 'fingerprintKeyVersions'> {
  const sorted = panFingerprints.toSorted((one, other) =>
    Buffer.compare(one.fingerprint, other.fingerprint),
  )
  return {
    panFingerprints: joinBytes(sorted.map(({ fingerprint }) => fingerprint)),
    fingerprintKeyVersions: sorted.map(({ keyVersion }) => keyVersion).join(','),
  }
}

const selectIsFree = declare<{ publicToken: PublicToken; hashes: string }>('is_number_free')

/** Whether neither the token nor the PAN of a number belongs to a card. */
export async function isNumberFree(
  connection: Connection,
  publicToken: PublicToken,
  panFingerprints: readonly PanFingerprintColumns[],
): Promise<boolean> {
  const hashes = panFingerprints.map(({ fingerprint }) => Buffer.from(fingerprint).toString('hex'))
  return (await selectIsFree(connection, { publicToken, hashes: hashes.join(',') })).length > 0
}
