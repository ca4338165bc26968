import { type CardStatusCode, isFinal } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { CardWithTries } from './cards.ts'

/** Where a page of cards ends: newest first, then by token. */
export interface CardPosition {
  readonly createdAt: string
  readonly publicToken: PublicToken
}

export interface CardFilter {
  readonly customerReference: string | null
  readonly statusCode: CardStatusCode | null
  /** `YYYY-MM-DD`: the day by which a card is expired or not. */
  readonly today: string
  readonly after: CardPosition | null
  /** At most 101: the longest page, and one more. */
  readonly limit: number
}

/** A card in a list, with the position after which the next page begins. */
interface ListedCard extends CardWithTries {
  readonly position: string
}

type CardDatabase = Connection & Pick<Database, 'isCluster'>

/**
 * What every page's statement is given: before which card it begins, of which client, and how long
 * it is.
 */
interface Page {
  readonly clientId: string
  readonly createdAt: string
  readonly publicToken: PublicToken | ''
  readonly limit: number
}

/**
 * Lists a client's cards, newest first, by the status that holds on `today`.
 *
 * Each filter has its own statement, which scans one index in the order of the list, so that no
 * plan depends on values or statistics and a page costs the same at any depth. An expired card that
 * no sweep has reached is in the indexes under its old status. Usually no such card exists, which
 * one read of the oldest expiry shows. While a sweep runs, a million may exist; they are scanned or
 * skipped expiry by expiry. Only within one customer reference are they skipped one by one.
 */
export async function listCardRows(
  database: CardDatabase,
  clientId: string,
  filter: CardFilter,
): Promise<ListedCard[]> {
  const { after, customerReference, limit, statusCode, today } = filter
  const page: Page = {
    clientId,
    createdAt: after?.createdAt ?? 'infinity',
    publicToken: after?.publicToken ?? '',
    limit,
  }
  if (statusCode === null) {
    return customerReference === null
      ? listCards(database, page)
      : listCardsByReference(database, { ...page, customerReference })
  }
  // Whether a card of the client has expired unswept, where that bears on the cards of the status.
  const isFixed = isFinal(statusCode) && statusCode !== '54'
  const oldest = isFixed ? null : await findNextExpiry(database, clientId, beforeAll)
  const isUnswept = oldest !== null && oldest < today
  if (customerReference !== null) {
    const ofReference = { ...page, customerReference }
    if (!isUnswept) return listReferenceInStatus(database, { ...ofReference, statusCode })
    return statusCode === '54'
      ? listExpiredByReference(database, { ...ofReference, today })
      : listUnexpiredByReference(database, { ...ofReference, statusCode, today })
  }
  if (!isUnswept) return listCardsInStatus(database, { ...page, statusCode })
  return statusCode === '54'
    ? listExpired(database, page, today)
    : listUnexpired(database, { ...page, statusCode }, today)
}

const declare = loadStatements(import.meta.url)

type ListPage<Parameters> = (database: CardDatabase, page: Parameters) => Promise<ListedCard[]>

/** A page as one server reads it, or as a cluster does. */
const onServerOrNodes =
  <Parameters>(
    onServer: ListPage<Parameters>,
    onNodes: ListPage<Parameters>,
  ): ListPage<Parameters> =>
  (database, page) =>
    database.isCluster() ? onNodes(database, page) : onServer(database, page)

const selectCards = declare<Page, ListedCard>('list_cards')
const selectCardsOnNodes = declare<Page, ListedCard>('list_cards_on_nodes')
const listCards = onServerOrNodes(selectCards, selectCardsOnNodes)

type PageInStatus = Page & { readonly statusCode: CardStatusCode }

const selectInStatus = declare<PageInStatus, ListedCard>('list_cards_in_status')
const selectInStatusOnNodes = declare<PageInStatus, ListedCard>('list_cards_in_status_on_nodes')
const listCardsInStatus = onServerOrNodes(selectInStatus, selectInStatusOnNodes)

const selectUnexpired = declare<PageInStatus & { expiries: readonly string[] }, ListedCard>(
  'list_unexpired_cards',
)
const selectUnexpiredOnNodes = declare<PageInStatus & { today: string }, ListedCard>(
  'list_unexpired_cards_on_nodes',
)

/** The cards of a status that have not expired. */
async function listUnexpired(
  database: CardDatabase,
  page: PageInStatus,
  today: string,
): Promise<ListedCard[]> {
  if (database.isCluster()) return selectUnexpiredOnNodes(database, { ...page, today })
  const expiries = await listExpiries(database, page.clientId)
  const unexpired = expiries.filter((date) => date >= today)
  return selectUnexpired(database, { ...page, expiries: unexpired })
}

const selectExpired = declare<Page & { expiries: readonly string[] }, ListedCard>(
  'list_expired_cards',
)
const selectExpiredOnNodes = declare<Page & { today: string }, ListedCard>(
  'list_expired_cards_on_nodes',
)

/** The cards that have expired, swept or not. */
async function listExpired(
  database: CardDatabase,
  page: Page,
  today: string,
): Promise<ListedCard[]> {
  if (database.isCluster()) return selectExpiredOnNodes(database, { ...page, today })
  const expiries = await listExpiries(database, page.clientId)
  const expired = expiries.filter((date) => date < today)
  return selectExpired(database, { ...page, expiries: expired })
}

type PageOfReference = Page & { readonly customerReference: string }

const selectByReference = declare<PageOfReference, ListedCard>('list_cards_of_reference')
const selectByReferenceOnNodes = declare<PageOfReference, ListedCard>(
  'list_cards_of_reference_on_nodes',
)
const listCardsByReference = onServerOrNodes(selectByReference, selectByReferenceOnNodes)

const selectReferenceInStatus = declare<PageOfReference & PageInStatus, ListedCard>(
  'list_cards_of_reference_in_status',
)
const selectReferenceInStatusOnNodes = declare<PageOfReference & PageInStatus, ListedCard>(
  'list_cards_of_reference_in_status_on_nodes',
)
const listReferenceInStatus = onServerOrNodes(
  selectReferenceInStatus,
  selectReferenceInStatusOnNodes,
)

type PageOnDay = PageOfReference & { readonly today: string }

const selectUnexpiredByReference = declare<PageOnDay & PageInStatus, ListedCard>(
  'list_unexpired_cards_of_reference',
)
const selectUnexpiredByReferenceOnNodes = declare<PageOnDay & PageInStatus, ListedCard>(
  'list_unexpired_cards_of_reference_on_nodes',
)
const listUnexpiredByReference = onServerOrNodes(
  selectUnexpiredByReference,
  selectUnexpiredByReferenceOnNodes,
)

const selectExpiredByReference = declare<PageOnDay, ListedCard>('list_expired_cards_of_reference')
const selectExpiredByReferenceOnNodes = declare<PageOnDay, ListedCard>(
  'list_expired_cards_of_reference_on_nodes',
)
const listExpiredByReference = onServerOrNodes(
  selectExpiredByReference,
  selectExpiredByReferenceOnNodes,
)

const selectNextExpiry = declare<{ clientId: string; after: string }, { expiryDate: string }>(
  'find_next_card_expiry',
)

/**
 * The first expiry after a date among a client's cards that no sweep or client has ended, or null.
 */
const findNextExpiry = async (
  connection: Connection,
  clientId: string,
  after: string,
): Promise<string | null> =>
  firstRow(await selectNextExpiry(connection, { clientId, after }))?.expiryDate ?? null

const beforeAll = '-infinity'

async function listExpiries(connection: Connection, clientId: string): Promise<string[]> {
  const expiries: string[] = []
  for (let last = beforeAll; ; ) {
    const next = await findNextExpiry(connection, clientId, last)
    if (next === null) return expiries
    expiries.push(next)
    last = next
  }
}
