import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { RenewalType } from '../../domain/product.ts'
import type { Connection, Database } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import type { CardRow } from './cards.ts'

const shared = loadSharedStatements(import.meta.url)
const declare = loadStatements(import.meta.url)

/** A card as its client reads it: its row, and everything that belongs to it. */
export interface RecordRow extends CardRow {
  /** The card's own, or its product's. */
  readonly renewalType: RenewalType
  /** Whether a successor took its place, or it was reported as compromised. */
  readonly isRetired: boolean
  /** The card that this card replaces, and the newest card that replaces this card. */
  readonly replacementFor: PublicToken | null
  readonly replacedBy: PublicToken | null
  readonly pinLimit: number
  readonly pinSpent: number
  readonly pinRestored: number
  readonly isPinWithdrawn: boolean
  readonly cvvLimit: number
  readonly cvvSpent: number
  readonly cvvRestored: number
  readonly isCvvWithdrawn: boolean
  /** Of the plastic that is ordered and not current yet; null without one. */
  readonly waitingNumber: number | null
  readonly waitingExpiryDate: string | null
  readonly waitingDelivery: DeliveryStatus | null
  /** JSON of an object of texts; null without metadata. */
  readonly metadata: string | null
}

interface CardOfClient {
  readonly publicToken: PublicToken
  readonly clientId: string
}

const selectRecord = shared.declareRead<CardOfClient, RecordRow>('find_card_record')

/** Returns the record of a client's card, or null. Another client's card gives null. */
export const findRecord = (
  database: Database,
  publicToken: PublicToken,
  clientId: string,
): Promise<RecordRow | null> => selectRecord(database, { publicToken, clientId })

type PageOfTokens = { readonly publicTokens: readonly string[] }

const selectRecords = declare<PageOfTokens, RecordRow>('list_card_records')
const selectRecordsOnNodes = declare<PageOfTokens, RecordRow>('list_card_records_on_nodes')

/** Lists the records of cards, newest first. */
export const listRecords = (
  database: Connection & Pick<Database, 'isCluster'>,
  publicTokens: readonly PublicToken[],
): Promise<RecordRow[]> => {
  const select = database.isCluster() ? selectRecordsOnNodes : selectRecords
  return select(database, { publicTokens })
}
