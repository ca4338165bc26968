import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { RecordedTransactionColumns } from './transaction-columns.ts'

/** A stored authorization. */
export interface AuthorizationRow extends RecordedTransactionColumns {
  readonly publicToken: PublicToken
  /** Of the card. */
  readonly clientId: string
  readonly authorizationId: string
  readonly networkId: string
  readonly requestId: string
  readonly reference: string
  readonly entryMode: string
  /** The payment that the approval opened or raised. */
  readonly paymentId: string | null
  readonly responseCode: string
  /** JSON, in the order in which the checks ran. */
  readonly checks: string
  readonly remainingTries: number | null
  readonly durationMs: number
  /** The arrival of the request: RFC 3339 in UTC, to the microsecond. */
  readonly requestedAt: string
  /** The time of the decision, in the same form. */
  readonly at: string
}

/** An id that is greater than every other one. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The position before a page of authorizations, and its length: at most 101. */
export interface AuthorizationPage {
  /** Null for the first page. */
  readonly before: string | null
  readonly limit: number
}

const declare = loadStatements(import.meta.url)

const selectByCard = declare<
  { publicToken: PublicToken; before: string; limit: number },
  AuthorizationRow
>('list_authorizations_of_card')

/** Lists the authorizations of a card, newest first. */
export const listAuthorizations = (
  connection: Connection,
  publicToken: PublicToken,
  { before, limit }: AuthorizationPage,
): Promise<AuthorizationRow[]> =>
  selectByCard(connection, { publicToken, before: before ?? lastId, limit })

const selectAuthorization = declare<
  Pick<AuthorizationRow, 'publicToken' | 'authorizationId'>,
  AuthorizationRow
>('find_authorization')

/** Returns one authorization of a card, or null. */
export const findAuthorization = async (
  connection: Connection,
  publicToken: PublicToken,
  authorizationId: string,
): Promise<AuthorizationRow | null> =>
  firstRow(await selectAuthorization(connection, { publicToken, authorizationId }))

const selectByClient = declare<
  { clientId: string; before: string; limit: number },
  AuthorizationRow
>('list_authorizations_of_client')

/** The authorizations of all cards of a client, newest first. */
export const listClientAuthorizations = (
  connection: Connection,
  clientId: string,
  { before, limit }: AuthorizationPage,
): Promise<AuthorizationRow[]> =>
  selectByClient(connection, { clientId, before: before ?? lastId, limit })

const selectOfClient = declare<{ clientId: string; authorizationId: string }, AuthorizationRow>(
  'find_authorization_of_client',
)

/** One authorization of a client's card, or null. */
export const findClientAuthorization = async (
  connection: Connection,
  clientId: string,
  authorizationId: string,
): Promise<AuthorizationRow | null> =>
  firstRow(await selectOfClient(connection, { clientId, authorizationId }))

const selectByReference = declare<
  { reference: string; before: string; limit: number },
  AuthorizationRow
>('search_authorizations')

/** Lists the authorizations of all cards with a reference, newest first. */
export const searchAuthorizations = (
  connection: Connection,
  reference: string,
  { before, limit }: AuthorizationPage,
): Promise<AuthorizationRow[]> =>
  selectByReference(connection, { reference, before: before ?? lastId, limit })

/** The place of an authorization among those of all cards. */
export interface AuthorizationPosition {
  /** RFC 3339 in UTC, to the microsecond: a request without a try is recorded with its answer. */
  readonly recordedAt: string
  readonly authorizationId: string
}

/** An authorization of any card, without its details. */
export interface AuthorizationKey extends AuthorizationPosition {
  readonly publicToken: PublicToken
  readonly responseCode: string
}

/** The number of keys in a window. */
export const windowSize = 1_000

const selectNewest = declare<AuthorizationPosition, AuthorizationKey>('list_newest_authorizations')
const selectNewestOfClient = declare<
  { clientId: string; authorizationId: string },
  AuthorizationKey
>('list_newest_client_authorizations')

/** Lists the next 1,000 authorizations of all cards, or of those of a client, newest first. */
export const listNewestAuthorizations = (
  connection: Connection,
  clientId: string | null,
  { authorizationId, recordedAt }: AuthorizationPosition,
): Promise<AuthorizationKey[]> =>
  clientId === null
    ? selectNewest(connection, { authorizationId, recordedAt })
    : selectNewestOfClient(connection, { clientId, authorizationId })

const selectWanted = declare<
  { publicTokens: readonly PublicToken[]; authorizationIds: readonly string[] },
  AuthorizationRow
>('find_authorizations')

/** Reads authorizations by their keys, in no order. */
export const findAuthorizations = (
  connection: Connection,
  keys: readonly Pick<AuthorizationKey, 'publicToken' | 'authorizationId'>[],
): Promise<AuthorizationRow[]> =>
  selectWanted(connection, {
    publicTokens: keys.map(({ publicToken }) => publicToken),
    authorizationIds: keys.map(({ authorizationId }) => authorizationId),
  })

const deleteAuthorizations = declare<{ days: number; limit: number }, { count: number }>(
  'delete_old_authorizations',
)

/**
 * Deletes some of the authorizations that are older than a number of days.
 * @returns their number.
 */
export const expireAuthorizations = async (
  connection: Connection,
  days: number,
  limit: number,
): Promise<number> => firstRow(await deleteAuthorizations(connection, { days, limit }))?.count ?? 0
