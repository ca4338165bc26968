import type { CardStatusCode } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, type Database, rowOf } from '../engine/database.ts'
import { rowRead } from '../engine/shared-statements.ts'
import { loadStatements } from '../engine/statements.ts'
import { triesColumns, triesOf } from './cards.ts'
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

const columnNames = `public_token, client_id, product_id, card_type, customer_reference, masked_pan, start_date,
  expiry_date, status_code, created_at`

const columns = `card.public_token as "publicToken", card.client_id as "clientId",
  card.product_id as "productId", card.card_type as "cardType", card.customer_reference as "customerReference",
  card.masked_pan as "maskedPan", card.start_date as "startDate", card.expiry_date as "expiryDate",
  card.status_code as "statusCode",
  to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "createdAt"`

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

/** Cards of all clients that have something in common, newest first. Letters of a reference count in either case. */
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
export const findCardsByTokens = (
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

const cardRead = rowRead('find_card_of_any_client', {
  columns: `${columns}, card.design_id as "designId", client.client_name as "clientName",
    product.product_name as "productName", product.scheme_name as "schemeName",
    product.pin_revealable as "pinRevealable", ${triesColumns}`,
  key: ['text'],
  from: (publicToken) => {
    const card = { columns: `${columnNames}, design_id`, key: { public_token: publicToken } }
    const product = {
      columns: 'product_name, scheme_name, pin_revealable',
      key: { product_id: 'card.product_id' },
    }
    const client = { columns: 'client_name', key: { client_id: 'card.client_id' } }
    return `${rowOf('card', 'card', card)} cross join ${rowOf('product', 'product', product)}
      cross join ${rowOf('client', 'client', client)} ${triesOf(publicToken)}`
  },
})

/** A card, whichever client it is of, or null. */
export const findCardOfAnyClient = (
  database: Database,
  publicToken: PublicToken,
): Promise<CardOfAnyClient | null> => database.readRow(cardRead, [publicToken])

const ownerRead = rowRead('find_owner_of_card', {
  columns: 'card.client_id as "clientId"',
  key: ['text'],
  from: (publicToken) =>
    rowOf('card', 'card', { columns: 'client_id', key: { public_token: publicToken } }),
})

/** The client that a card is of, which never changes; null where there is no such card. */
export const findOwner = async (
  database: Database,
  publicToken: PublicToken,
): Promise<string | null> =>
  (await database.readRow<{ clientId: string }>(ownerRead, [publicToken]))?.clientId ?? null

const namesRead = rowRead('find_sealed_names', {
  columns: 'card.client_id as "clientId", card.personal_data as "personalData"',
  key: ['text'],
  from: (publicToken) =>
    rowOf('card', 'card', {
      columns: 'client_id, personal_data',
      key: { public_token: publicToken },
    }),
})

/** What is known of a card's holder, sealed, and whose card it is; null where there is no such card. */
export const findSealedNames = (
  database: Database,
  publicToken: PublicToken,
): Promise<{ readonly clientId: string; readonly personalData: Uint8Array } | null> =>
  database.readRow(namesRead, [publicToken])

/** Uses of a limit on a card, as they are kept. */
export interface LimitInUse {
  readonly limitName: string
  /** How long ago each was, in seconds, the newest first. */
  readonly agesSeconds: readonly number[]
  /** Uses that the newest stands for. */
  readonly newestUses: number
}

const selectLimitsOfCard = declare<{ publicToken: PublicToken }, LimitInUse>('list_limits_of_card')

const selectLimitsOfClient = declare<{ clientId: string }, LimitInUse>('list_limits_of_client')

/** The limits of a card that were used, and when. */
export const listLimitsOfCard = (
  connection: Connection,
  publicToken: PublicToken,
): Promise<LimitInUse[]> => selectLimitsOfCard(connection, { publicToken })

/** The limits of a client over all its cards that were used, and when. */
export const listLimitsOfClient = (
  connection: Connection,
  clientId: string,
): Promise<LimitInUse[]> => selectLimitsOfClient(connection, { clientId })
