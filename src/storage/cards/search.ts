import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { Connection, Database } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import type { CardPosition } from './lists.ts'

/** A card of any client, as an operator finds it: nothing that is sealed. */
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
  /** As stored: an expired card may not have been swept yet. */
  readonly statusCode: CardStatusCode
  /** To the microsecond: where it stands in a list. */
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

/** What many cards may have in common. */
type SharedTerm = keyof typeof searches

/** Where a page of cards begins, and how many it has: at most 101. */
interface SearchPage {
  readonly after: CardPosition | null
  readonly limit: number
}

/**
 * Cards of all clients that have something in common, newest first. Letters of a reference count in
 * either case.
 */
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

/** Cards by their tokens, in no order. */
export const listCardsByTokens = (
  connection: Connection,
  publicTokens: readonly PublicToken[],
): Promise<FoundCardRow[]> => selectByTokens(connection, { publicTokens })

/** A card as an operator reads it. */
interface CardOfAnyClient extends FoundCardRow {
  readonly clientName: string
  readonly productName: string
  readonly schemeName: string
  readonly pinRevealable: boolean
  readonly designId: string | null
  readonly pinLimit: number
  readonly pinSpent: number
  readonly pinRestored: number
  readonly pinBlockedByClient: boolean
  readonly cvvLimit: number
  readonly cvvSpent: number
  readonly cvvRestored: number
  readonly cvvBlockedByClient: boolean
}

interface CardByToken {
  readonly publicToken: PublicToken
}

const selectCard = shared.declareRead<CardByToken, CardOfAnyClient>('find_card_of_any_client')

/** A card, whichever client it is of, or null. */
export const findCardOfAnyClient = (
  database: Database,
  publicToken: PublicToken,
): Promise<CardOfAnyClient | null> => selectCard(database, { publicToken })

const selectOwner = shared.declareRead<CardByToken, { clientId: string }>('find_owner_of_card')

/** The client that a card is of, which never changes; null where there is no such card. */
export const findOwner = async (
  database: Database,
  publicToken: PublicToken,
): Promise<string | null> => (await selectOwner(database, { publicToken }))?.clientId ?? null

/** Names of a card's holder, sealed, and whose card it is. */
interface SealedNames {
  readonly clientId: string
  readonly personalData: Uint8Array
}

const selectNames = shared.declareRead<CardByToken, SealedNames>('find_sealed_names')

/**
 * Returns the sealed data of a card's holder and the card's client; null when the card does not
 * exist.
 */
export const findSealedNames = (
  database: Database,
  publicToken: PublicToken,
): Promise<SealedNames | null> => selectNames(database, { publicToken })

/** Uses of a limit on a card, as they are kept. */
export interface LimitInUse {
  readonly limitName: string
  /** How long ago each was, in seconds, the newest first. */
  readonly agesSeconds: readonly number[]
  /** Uses that the newest stands for. */
  readonly newestUses: number
}

const selectCardLimits = declare<{ publicToken: PublicToken }, LimitInUse>('list_limits_of_card')

const selectClientLimits = declare<{ clientId: string }, LimitInUse>('list_limits_of_client')

/** The limits of a card that were used, and when. */
export const listCardLimits = (
  connection: Connection,
  publicToken: PublicToken,
): Promise<LimitInUse[]> => selectCardLimits(connection, { publicToken })

/** The limits of a client over all its cards that were used, and when. */
export const listClientLimits = (connection: Connection, clientId: string): Promise<LimitInUse[]> =>
  selectClientLimits(connection, { clientId })
