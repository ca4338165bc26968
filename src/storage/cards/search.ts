import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType, RenewalType } from '../../domain/product.ts'
import type { Connection, Database } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import type { CardPosition } from './lists.ts'

/** A card of any client in a search result, without sealed data. */
export interface FoundCardRow {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly productId: ProductId
  readonly cardType: CardType
  readonly customerReference: string | null
  readonly maskedPan: string
  /** `YYYY-MM-DD`. */
  readonly startDate: string
  /** `YYYY-MM-DD`, the last day of its month. */
  readonly expiryDate: string
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  /** The stored status: an expired card may not have been swept yet. */
  readonly statusCode: CardStatusCode
  /** To the microsecond: the position in a list. */
  readonly createdAt: string
}

const shared = loadSharedStatements(import.meta.url)
const declare = loadStatements(import.meta.url)

interface SearchTerm {
  readonly value: string
  readonly createdAt: string
  readonly publicToken: PublicToken | ''
  readonly limit: number
}

const selectByLastFour = declare<SearchTerm, FoundCardRow>('search_cards_by_last_four')
const selectByReference = declare<SearchTerm, FoundCardRow>('search_cards_by_reference')
const searches = { panLastFour: selectByLastFour, customerReference: selectByReference }

/** The search criteria that several cards may share. */
type SharedTerm = keyof typeof searches

/** The start of a page of cards, and its length: at most 101. */
interface SearchPage {
  readonly after: CardPosition | null
  readonly limit: number
}

/** Searches the cards of all clients, newest first. References match in any case. */
export const searchCards = (
  connection: Connection,
  term: SharedTerm,
  value: string,
  { after, limit }: SearchPage,
): Promise<FoundCardRow[]> =>
  searches[term](connection, {
    value,
    createdAt: after?.createdAt ?? 'infinity',
    publicToken: after?.publicToken ?? '',
    limit,
  })

const selectByTokens = declare<{ publicTokens: readonly PublicToken[] }, FoundCardRow>(
  'find_cards_by_tokens',
)

/** Lists cards by their tokens, in no order. */
export const listCardsByTokens = (
  connection: Connection,
  publicTokens: readonly PublicToken[],
): Promise<FoundCardRow[]> => selectByTokens(connection, { publicTokens })

/** A card as operators read it. */
interface CardOfAnyClient extends FoundCardRow {
  readonly clientName: string
  readonly productName: string
  readonly schemeName: string
  readonly pinRevealable: boolean
  /** The card's own, or its product's. */
  readonly renewalType: RenewalType
  /** Whether a successor took its place, or it was reported as compromised. */
  readonly isRetired: boolean
  readonly designId: string | null
  /** The first card of the line of cards that replaced each other, which has their limits. */
  readonly lineToken: PublicToken
  readonly pinLimit: number
  readonly pinSpent: number
  readonly pinRestored: number
  readonly isPinWithdrawn: boolean
  readonly cvvLimit: number
  readonly cvvSpent: number
  readonly cvvRestored: number
  readonly isCvvWithdrawn: boolean
}

interface CardByToken {
  readonly publicToken: PublicToken
}

const selectCard = shared.declareRead<CardByToken, CardOfAnyClient>('find_card_of_any_client')

/** Returns a card of any client, or null. */
export const findCardOfAnyClient = (
  database: Database,
  publicToken: PublicToken,
): Promise<CardOfAnyClient | null> => selectCard(database, { publicToken })

const selectOwner = shared.declareRead<CardByToken, { clientId: string }>('find_owner_of_card')

/** Returns the client of a card, which never changes; null if the card does not exist. */
export const findOwner = async (
  database: Database,
  publicToken: PublicToken,
): Promise<string | null> => (await selectOwner(database, { publicToken }))?.clientId ?? null

/** The sealed names of a cardholder, and the card's client. */
interface SealedNames {
  readonly clientId: string
  readonly personalData: Uint8Array
}

const selectNames = shared.declareRead<CardByToken, SealedNames>('find_sealed_names')

/**
 * Returns the sealed data of a cardholder and the card's client; null if the card does not exist.
 */
export const findSealedNames = (
  database: Database,
  publicToken: PublicToken,
): Promise<SealedNames | null> => selectNames(database, { publicToken })

/** The stored uses of a limit on a card. */
export interface LimitInUse {
  readonly limitName: string
  /** The age of each use in seconds, newest first. */
  readonly agesSeconds: readonly number[]
  /** The number of uses that the newest instant stands for. */
  readonly newestUses: number
}

const selectCardLimits = declare<{ publicToken: PublicToken }, LimitInUse>('list_limits_of_card')

const selectClientLimits = declare<{ clientId: string }, LimitInUse>('list_limits_of_client')

/** Lists the used limits of a line of cards, and when they were used. */
export const listCardLimits = (
  connection: Connection,
  lineToken: PublicToken,
): Promise<LimitInUse[]> => selectCardLimits(connection, { publicToken: lineToken })

/** Lists the used limits of a client over all its cards, and when they were used. */
export const listClientLimits = (connection: Connection, clientId: string): Promise<LimitInUse[]> =>
  selectClientLimits(connection, { clientId })
