import { type CardStatusCode, cardStatusCodes, isFinal } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Connection, Database, SqlValue, Statement } from '../engine/database.ts'
import { firstRow, statement } from '../engine/database.ts'
import * as storedCards from './cards.ts'

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
  /** At most {@link cardRowsMax}. */
  readonly limit: number
}

/** A card in a list, with the position after which the next page begins. */
interface ListedCard extends storedCards.CardWithTries {
  readonly position: string
}

/** The longest page, and one more that shows whether there is a next one. */
const cardRowsMax = 101

/**
 * A client's cards, newest first, by the status that holds on `today`.
 *
 * Each filter has a statement of its own, which scans one index in the order of the list, so that no
 * plan depends on values or statistics and a page costs the same at any depth. A card that has expired
 * and was not swept yet stands in the indexes under its old status. Mostly there is none, which one look
 * at the oldest expiry shows. Where there are, perhaps a million while a sweep runs, they are scanned,
 * or passed by, expiry by expiry. Only within one customer reference they are passed by one by one.
 */
export async function findCards(
  database: Connection & Pick<Database, 'isCluster'>,
  clientId: string,
  filter: CardFilter,
): Promise<ListedCard[]> {
  const { after, limit } = filter
  const { conditions, statement } = await scanOf(database, clientId, filter)
  const page = [clientId, after?.createdAt ?? 'infinity', after?.publicToken ?? '', limit]
  return database.query(database.isCluster() ? statement.onNodes : statement.onServer, [
    ...page,
    ...conditions,
  ])
}

/** A page's statement, and what stands in its conditions. */
interface Scan {
  readonly statement: PageStatement
  readonly conditions: readonly SqlValue[]
}

async function scanOf(
  database: Connection & Pick<Database, 'isCluster'>,
  clientId: string,
  { customerReference, statusCode, today }: CardFilter,
): Promise<Scan> {
  if (statusCode === null) {
    return customerReference === null
      ? { statement: listAllStatement, conditions: [] }
      : { statement: listReferenceStatement, conditions: [customerReference] }
  }
  // Whether a card of the client has expired unswept, where that bears on the cards of the status.
  const isFixed = isFinal(statusCode) && statusCode !== '54'
  const oldest = isFixed ? null : await findNextExpiry(database, clientId, beforeAll)
  const isUnswept = oldest !== null && oldest < today
  if (customerReference !== null) {
    return scanOfReference(customerReference, statusCode, today, isUnswept)
  }
  if (!isUnswept) return { statement: listStatusStatement, conditions: [statusCode] }
  if (database.isCluster()) {
    return statusCode === '54'
      ? { statement: listExpiredStatement, conditions: [today] }
      : { statement: listUnexpiredStatement, conditions: [today, statusCode] }
  }
  const expiries = await listExpiries(database, clientId)
  return statusCode === '54'
    ? { statement: listExpiredStatement, conditions: [expiries.filter((date) => date < today)] }
    : {
        statement: listUnexpiredStatement,
        conditions: [expiries.filter((date) => date >= today), statusCode],
      }
}

function scanOfReference(
  customerReference: string,
  statusCode: CardStatusCode,
  today: string,
  isUnswept: boolean,
): Scan {
  if (!isUnswept)
    return { statement: listReferenceStatusStatement, conditions: [customerReference, statusCode] }
  return statusCode === '54'
    ? { statement: listReferenceExpiredStatement, conditions: [customerReference, today] }
    : {
        statement: listReferenceUnexpiredStatement,
        conditions: [customerReference, statusCode, today],
      }
}

/** What a scan stays within: the first columns of its index, what each is, and a filter. */
interface Within {
  readonly columns: readonly (readonly [string, string])[]
  readonly filter?: string
}

/**
 * One scan backwards through an index. Its bounds are row comparisons and its order names all columns, so
 * that no other index gives it: among equal ones the planner would take the smaller, and throw away what
 * it finds. The limit is a number of the text: for a parameter the planner would reckon with a tenth of
 * all cards, and sort them.
 */
function scanText({ columns, filter = 'true' }: Within): string {
  const names = columns.map(([name]) => name)
  const values = columns.map(([, value]) => value)
  return `(select public_token, created_at from card
    where (${names.join()}, created_at, public_token)
        < (${values.join()}, $2::timestamptz, $3::text)
      and (${names.join()}) >= (${values.join()}) and ${filter}
    order by ${names.map((name) => `${name} desc`).join()}, created_at desc, public_token desc
    limit ${cardRowsMax})`
}

/** The scans of some expiries, each by itself, as one. */
const scanExpiriesText = (
  codes: string,
): string => `(select scanned.public_token, scanned.created_at
  from unnest($5::date[]) as asked (expiry_date)
  cross join unnest(${codes}) as allowed (status_code)
  cross join lateral ${scanText({
    columns: [
      ['client_id', '$1'],
      ['expiry_date', 'asked.expiry_date'],
      ['status_code', 'allowed.status_code'],
    ],
    filter: storedCards.isOpen,
  })} as scanned
  order by scanned.created_at desc, scanned.public_token desc limit ${cardRowsMax})`

/** A page as one server reads it, and as a cluster does. */
interface PageStatement {
  readonly onServer: Statement
  readonly onNodes: Statement
}

const pageText = (scans: readonly string[], from: string): string =>
  `with scanned as (${scans.join(' union all ')}), page as materialized (
     select public_token, created_at from scanned
     order by created_at desc, public_token desc limit $4
   )
   select ${storedCards.cardColumns}, ${storedCards.triesColumns},
     to_char(card.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "position"
   from ${from}
   order by card.created_at desc, card.public_token desc`

/** A server comes by each card of a page through its key. */
const pageOnServer = (name: string, ...scans: readonly string[]): Statement =>
  statement(
    name,
    pageText(scans, `page cross join ${storedCards.cardWithTries('page.public_token')}`),
  )

const isOnPage = (table: string): string =>
  `${table}.public_token = any(array(select public_token from page))`

/** A cluster, which has no such scan for each of several rows, has each node look for all tokens of a page. */
const pageOnNodes = (name: string, ...scans: readonly string[]): Statement =>
  statement(
    name,
    pageText(
      scans,
      `card
         join try_counter pin on pin.public_token = card.public_token and pin.kind = 'pin'
         join try_counter cvv on cvv.public_token = card.public_token and cvv.kind = 'cvv'
       where ${['card', 'pin', 'cvv'].map(isOnPage).join(' and ')}`,
    ),
  )

/** One page of cards, out of one scan or several. */
const page = (name: string, ...scans: readonly string[]): PageStatement => ({
  onServer: pageOnServer(name, ...scans),
  onNodes: pageOnNodes(`${name}_on_nodes`, ...scans),
})

const inStatus = (value: string) => ['status_code', value] as const
const ofClient = ['client_id', '$1'] as const

const listAllStatement = page('list_cards', scanText({ columns: [ofClient] }))
const listStatusStatement = page(
  'list_cards_in_status',
  scanText({ columns: [inStatus('$5'), ofClient] }),
)
// A cluster has no scan for each of several expiries: its nodes pass the others by one by one, each its own part.
const listUnexpiredStatement: PageStatement = {
  onServer: pageOnServer('list_unexpired_cards', scanExpiriesText('array[$6::text]')),
  onNodes: pageOnNodes(
    'list_unexpired_cards_on_nodes',
    scanText({ columns: [inStatus('$6'), ofClient], filter: 'expiry_date >= $5::date' }),
  ),
}
const listExpiredStatement: PageStatement = {
  onServer: pageOnServer(
    'list_expired_cards',
    scanExpiriesText(`array[${storedCards.openStatusTexts.join()}]`),
    scanText({ columns: [inStatus(`'54'`), ofClient] }),
  ),
  onNodes: pageOnNodes(
    'list_expired_cards_on_nodes',
    ...storedCards.openStatusTexts.map((code) =>
      scanText({ columns: [inStatus(code), ofClient], filter: 'expiry_date < $5::date' }),
    ),
    scanText({ columns: [inStatus(`'54'`), ofClient] }),
  ),
}

const scanReferenceText = (status: string, filter = 'true'): string =>
  scanText({
    columns: [['customer_reference', '$5'], ofClient, inStatus(status)],
    // Nothing else shows the planner that the index has them all.
    filter: `customer_reference is not null and ${filter}`,
  })

// A scan for each status: the index has them one after the other.
const listReferenceStatement = page(
  'list_cards_of_reference',
  ...cardStatusCodes.map((code) => scanReferenceText(`'${code}'`)),
)
const listReferenceStatusStatement = page(
  'list_cards_of_reference_in_status',
  scanReferenceText('$6'),
)
const listReferenceUnexpiredStatement = page(
  'list_unexpired_cards_of_reference',
  scanReferenceText('$6', 'expiry_date >= $7::date'),
)
const listReferenceExpiredStatement = page(
  'list_expired_cards_of_reference',
  scanReferenceText(`'54'`),
  ...storedCards.openStatusTexts.map((code) => scanReferenceText(code, 'expiry_date < $6::date')),
)

// Of the next card in the order of the index, whoever's it is: that of another client shows that there
// is none.
const nextExpiryStatement = statement(
  'find_next_card_expiry',
  `select expiry_date as "expiryDate" from (
     select client_id, expiry_date from card
     where (client_id, expiry_date) > ($1, $2::date) and ${storedCards.isOpen}
     order by client_id, expiry_date limit 1
   ) as next where client_id = $1`,
)

/** The first expiry after a date among a client's cards that no sweep or client has ended, or null. */
const findNextExpiry = async (
  connection: Connection,
  clientId: string,
  after: string,
): Promise<string | null> => {
  const values = [clientId, after]
  const rows = await connection.query<{ expiryDate: string }>(nextExpiryStatement, values)
  return firstRow(rows)?.expiryDate ?? null
}

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
