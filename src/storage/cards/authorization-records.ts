import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'

/** An authorization as it is kept. */
export interface AuthorizationRow {
  readonly publicToken: PublicToken
  readonly authorizationId: string
  readonly networkId: string
  readonly requestId: string
  readonly reference: string
  readonly entryMode: string
  readonly responseCode: string
  /** JSON, in the order in which they were made. */
  readonly checks: string
  readonly remainingTries: number | null
  readonly durationMs: number
  /** RFC 3339 in UTC, to the microsecond: when it was decided. */
  readonly at: string
}

export const authorizationColumns = `record.public_token as "publicToken",
  record.authorization_id as "authorizationId", record.network_id as "networkId",
  record.request_id as "requestId", record.reference, record.entry_mode as "entryMode",
  record.response_code as "responseCode", record.checks, record.remaining_tries as "remainingTries",
  record.duration_ms as "durationMs",
  to_char(record.decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "at"`

const columnNames = `public_token, authorization_id, network_id, request_id, reference, entry_mode, response_code,
  checks, remaining_tries, duration_ms, decided_at`

/** The longest page, and one more that shows whether there is a next one. */
const recordsMax = 101

/** A scan of the authorizations of the card `$1` before one of them, newest first. @param before its id, as SQL */
export const scanAuthorizations = (before: string): string => `
  select ${columnNames} from authorization_record
  where public_token = any(array[$1]) and (public_token, authorization_id) < ($1, ${before}::uuid)
    and public_token >= $1
  order by public_token desc, authorization_record.authorization_id desc limit ${recordsMax}`

/** Comes after every id. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const listStatement = statement(
  'list_authorizations_of_card',
  `select ${authorizationColumns} from (${scanAuthorizations('$2')}) as record
   order by record.authorization_id desc limit $3`,
)

/** What a page of authorizations begins after, and how many it has: at most {@link recordsMax}. */
export interface AuthorizationPage {
  /** Null: the newest. */
  readonly before: string | null
  readonly limit: number
}

/** The authorizations of a card, newest first. */
export const listAuthorizations = (
  connection: Connection,
  publicToken: PublicToken,
  { before, limit }: AuthorizationPage,
): Promise<AuthorizationRow[]> =>
  connection.query(listStatement, [publicToken, before ?? lastId, limit])

const findStatement = statement(
  'find_authorization',
  `select ${authorizationColumns} from authorization_record as record
   where record.public_token = any(array[$1]) and record.authorization_id = $2::uuid limit 1`,
)

/** One authorization of a card, or null. */
export const findAuthorization = async (
  connection: Connection,
  publicToken: PublicToken,
  authorizationId: string,
): Promise<AuthorizationRow | null> =>
  firstRow(await connection.query(findStatement, [publicToken, authorizationId]))

const searchStatement = statement(
  'search_authorizations',
  `select ${authorizationColumns} from (
     select ${columnNames} from authorization_record
     where (reference, authorization_id) < ($1, $2::uuid) and reference >= $1
     order by authorization_record.reference desc, authorization_record.authorization_id desc limit ${recordsMax}
   ) as record
   order by record.authorization_id desc limit $3`,
)

/** Authorizations of all cards that bear a reference, newest first. */
export const searchAuthorizations = (
  connection: Connection,
  reference: string,
  { before, limit }: AuthorizationPage,
): Promise<AuthorizationRow[]> =>
  connection.query(searchStatement, [reference, before ?? lastId, limit])

const pruneStatement = statement(
  'prune_authorizations',
  `with old as materialized (
     select public_token, authorization_id from authorization_record
     where decided_at < (select now() - make_interval(days => $1)) order by decided_at limit $2
   )
   delete from authorization_record using old
   where ${onKey('authorization_record', 'old', ['public_token', 'authorization_id'])}
     and now() - decided_at > make_interval(days => $1)
   returning authorization_record.authorization_id as "authorizationId"`,
)

/** Forgets some of the authorizations that are older than so many days. @returns how many. */
export const pruneAuthorizations = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => (await connection.query(pruneStatement, [days, limit])).length
