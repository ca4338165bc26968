import { type CardStatusCode, isFinal } from '../../domain/card-status.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { listRecords, type RecordRow } from './records.ts'

/** The end of a page of cards: newest first, then by token. */
export interface CardPosition {
  readonly createdAt: string
  readonly publicToken: PublicToken
}

export interface CardFilter {
  readonly customerReference: string | null
  readonly statusCode: CardStatusCode | null
  /** Instead of the members before: only cards of this kind. */
  readonly kind?: CardKind | null
  /** `YYYY-MM-DD`: the day that decides whether a card is expired. */
  readonly today: string
  readonly after: CardPosition | null
  /** At most 100, the longest page. */
  readonly limit: number
}

/** The common property of the cards of a list, besides a reference and a status. */
export type CardKind =
  | { readonly cardType: CardType }
  | { readonly productId: ProductId; readonly cardType: CardType | null }
  | { readonly key: string; readonly value: string }
  /** `YYYY-MM-DD`: neither closed nor expired, and expired on this day. */
  | { readonly expiringBefore: string }

/** One page of a client's cards, and where the next page begins; null after the last card. */
interface CardPageRows {
  readonly cards: readonly RecordRow[]
  readonly next: CardPosition | null
}

type CardDatabase = Connection & Pick<Database, 'isCluster'>

/** The rows of each scan: the client, and the card before which the page begins. */
interface PageStart {
  readonly clientId: string
  readonly createdAt: string
  readonly publicToken: PublicToken | ''
}

/** A card of a page, with its position in the list. */
interface ListedToken {
  readonly publicToken: PublicToken
  readonly position: string
}

/**
 * Lists a client's cards, newest first, by the status that holds on `today`, in two reads: the
 * tokens of a page, and their records. Each filter has a statement of its own, and the record is
 * not written out in all of them. A card whose status changes in between has its new status.
 */
export async function listCardRows(
  database: CardDatabase,
  clientId: string,
  filter: CardFilter,
): Promise<CardPageRows> {
  const { after, kind, today } = filter
  const start: PageStart = {
    clientId,
    createdAt: after?.createdAt ?? 'infinity',
    publicToken: after?.publicToken ?? '',
  }
  const listed = kind
    ? await listKind(database, start, kind, today)
    : await listTokens(database, start, filter)
  const page = listed.slice(0, filter.limit)
  const last = listed.length > filter.limit ? page.at(-1) : undefined
  return {
    cards: await listRecords(
      database,
      page.map(({ publicToken }) => publicToken),
    ),
    next: last ? { createdAt: last.position, publicToken: last.publicToken } : null,
  }
}

const declare = loadStatements(import.meta.url)

const selectTokens = declare<PageStart, ListedToken>('list_tokens')
const selectInStatus = declare<PageInStatus, ListedToken>('list_tokens_in_status')
const selectOfReference = declare<PageOfReference, ListedToken>('list_tokens_of_reference')
const selectOfReferenceInStatus = declare<PageOfReference & PageInStatus, ListedToken>(
  'list_tokens_of_reference_in_status',
)
const selectOfReferenceUnexpired = declare<PageOfReference & PageInStatus & OnDay, ListedToken>(
  'list_tokens_of_reference_unexpired',
)
const selectOfReferenceExpired = declare<PageOfReference & OnDay, ListedToken>(
  'list_tokens_of_reference_expired',
)

type PageInStatus = PageStart & { readonly statusCode: CardStatusCode }
type PageOfReference = PageStart & { readonly customerReference: string }
type OnDay = { readonly today: string }

/**
 * Lists the tokens of the longest page, and one more.
 *
 * Each filter has its own statement, which scans one index in the order of the list, so that no
 * plan depends on values or statistics and a page costs the same at any depth. An expired card that
 * no sweep has reached is in the indexes under its old status. Usually no such card exists, which
 * one read of the oldest expiry shows. While a sweep runs, a million may exist; they are scanned or
 * skipped expiry by expiry. Only within one customer reference are they skipped one by one.
 */
async function listTokens(
  database: CardDatabase,
  start: PageStart,
  { customerReference, statusCode, today }: CardFilter,
): Promise<ListedToken[]> {
  if (statusCode === null) {
    return customerReference === null
      ? selectTokens(database, start)
      : selectOfReference(database, { ...start, customerReference })
  }
  // Whether a card of the client has expired unswept, if that matters for the status.
  const isFixed = isFinal(statusCode) && statusCode !== '54'
  const oldest = isFixed ? null : await findOldestExpiry(database, start.clientId)
  const isUnswept = oldest !== null && oldest < today
  if (customerReference !== null) {
    const ofReference = { ...start, customerReference }
    if (!isUnswept) return selectOfReferenceInStatus(database, { ...ofReference, statusCode })
    return statusCode === '54'
      ? selectOfReferenceExpired(database, { ...ofReference, today })
      : selectOfReferenceUnexpired(database, { ...ofReference, statusCode, today })
  }
  if (!isUnswept) return selectInStatus(database, { ...start, statusCode })
  return statusCode === '54'
    ? listExpired(database, start, today)
    : listUnexpired(database, { ...start, statusCode }, today)
}

const selectOfType = declare<PageStart & { cardType: CardType }, ListedToken>('list_tokens_of_type')
const selectOfProduct = declare<PageStart & { productId: ProductId }, ListedToken>(
  'list_tokens_of_product',
)
const selectOfProductAndType = declare<
  PageStart & { productId: ProductId; cardType: CardType },
  ListedToken
>('list_tokens_of_product_and_type')
const selectOfMetadata = declare<PageStart & { key: string; value: string }, ListedToken>(
  'list_tokens_of_metadata',
)
type PageOfExpiring = PageStart & OnDay & { readonly expiringBefore: string }
const selectExpiring = declare<PageOfExpiring, ListedToken>('list_tokens_expiring')
const selectExpiringOnNodes = declare<PageOfExpiring, ListedToken>('list_tokens_expiring_on_nodes')

/** Lists the cards of a kind. Each kind has an index in the order of the list. */
async function listKind(
  database: CardDatabase,
  start: PageStart,
  kind: CardKind,
  today: string,
): Promise<ListedToken[]> {
  if ('key' in kind) return selectOfMetadata(database, { ...start, ...kind })
  if ('expiringBefore' in kind) {
    const { expiringBefore } = kind
    const select = database.isCluster() ? selectExpiringOnNodes : selectExpiring
    return select(database, { ...start, today, expiringBefore })
  }
  if (!('productId' in kind)) return selectOfType(database, { ...start, ...kind })
  const { cardType, productId } = kind
  return cardType === null
    ? selectOfProduct(database, { ...start, productId })
    : selectOfProductAndType(database, { ...start, productId, cardType })
}

const selectUnexpired = declare<PageInStatus & OnDay, ListedToken>('list_tokens_of_unexpired')
const selectUnexpiredOnNodes = declare<PageInStatus & OnDay, ListedToken>(
  'list_tokens_of_unexpired_on_nodes',
)

/** Lists the cards of a status that have not expired. */
const listUnexpired = (
  database: CardDatabase,
  start: PageInStatus,
  today: string,
): Promise<ListedToken[]> => {
  const select = database.isCluster() ? selectUnexpiredOnNodes : selectUnexpired
  return select(database, { ...start, today })
}

const selectExpired = declare<PageStart & OnDay, ListedToken>('list_tokens_of_expired')
const selectExpiredOnNodes = declare<PageStart & OnDay, ListedToken>(
  'list_tokens_of_expired_on_nodes',
)

/** Lists the cards that have expired, swept or not. */
const listExpired = (
  database: CardDatabase,
  start: PageStart,
  today: string,
): Promise<ListedToken[]> => {
  const select = database.isCluster() ? selectExpiredOnNodes : selectExpired
  return select(database, { ...start, today })
}

const selectOldestExpiry = declare<{ clientId: string }, { validUntil: string }>(
  'find_oldest_card_expiry',
)

/**
 * Returns the first expiry among a client's cards that are neither swept nor in a final status, or
 * null.
 */
const findOldestExpiry = async (connection: Connection, clientId: string): Promise<string | null> =>
  firstRow(await selectOldestExpiry(connection, { clientId }))?.validUntil ?? null
