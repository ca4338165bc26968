import { type AuthorizationCheck, parseChecks } from '../../domain/authorization-check.ts'
import type { Requester } from '../../domain/client.ts'
import { type Decline, explainDecline } from '../../domain/decline-reason.ts'
import { isUuid, type PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import type { RecordedTransaction } from '../../domain/transaction.ts'
import * as stored from '../../storage/authorizations/records.ts'
import {
  type RecordedTransactionColumns,
  toTransactionMembers,
} from '../../storage/authorizations/transaction-columns.ts'
import { findOwner } from '../../storage/cards/search.ts'
import type { AuthorizationContext } from './authorization.ts'

type Records = Pick<AuthorizationContext, 'database'>

/** A recorded authorization. */
export interface RecordedAuthorization
  extends Omit<
      stored.AuthorizationRow,
      | 'clientId'
      | 'checks'
      | 'remainingTries'
      | 'at'
      | 'paymentId'
      | keyof RecordedTransactionColumns
    >,
    RecordedTransaction,
    Partial<Decline> {
  readonly approved: boolean
  /** The payment that the approval opened or raised. */
  readonly paymentId?: string
  /** When it was answered: RFC 3339 in UTC, as `requestedAt`. */
  readonly decidedAt: string
  /** In the order in which they ran. The last one decided, unless all passed. */
  readonly checks: AuthorizationCheck[]
}

/**
 * Lists the authorizations of a card, newest first.
 * @param page its limit is one more than a page shows.
 * @throws `Problem` `card_not_found`.
 */
export async function listAuthorizations(
  { database }: Records,
  publicToken: PublicToken,
  page: stored.AuthorizationPage,
): Promise<RecordedAuthorization[]> {
  const rows = await stored.listAuthorizations(database, publicToken, page)
  if (rows.length === 0 && (await findOwner(database, publicToken)) === null) {
    throw new Problem('card_not_found')
  }
  return rows.map(describeAuthorization)
}

const noAuthorization = 'No authorization has this authorizationId.'

/**
 * Returns one authorization of a card.
 * @throws `Problem` `not_found`.
 */
export async function findAuthorization(
  { database }: Records,
  publicToken: PublicToken,
  authorizationId: string,
): Promise<RecordedAuthorization> {
  const row =
    isUuid(authorizationId) &&
    (await stored.findAuthorization(database, publicToken, authorizationId))
  if (!row) throw new Problem('not_found', { detail: noAuthorization })
  return describeAuthorization(row)
}

/** The authorizations of all cards of the requester, newest first. */
export async function listClientAuthorizations(
  { database }: Records,
  { clientId }: Requester,
  page: stored.AuthorizationPage,
): Promise<RecordedAuthorization[]> {
  return (await stored.listClientAuthorizations(database, clientId, page)).map(
    describeAuthorization,
  )
}

/**
 * The authorizations of the requester's card, newest first.
 * @throws `Problem` `card_not_found`.
 */
export async function listClientCardAuthorizations(
  { database }: Records,
  { clientId }: Requester,
  publicToken: PublicToken,
  page: stored.AuthorizationPage,
): Promise<RecordedAuthorization[]> {
  if ((await findOwner(database, publicToken)) !== clientId) throw new Problem('card_not_found')
  return (await stored.listAuthorizations(database, publicToken, page)).map(describeAuthorization)
}

/** One authorization of the requester's cards. @throws `Problem` `not_found`. */
export async function findClientAuthorization(
  { database }: Records,
  { clientId }: Requester,
  authorizationId: string,
): Promise<RecordedAuthorization> {
  const row =
    isUuid(authorizationId) &&
    (await stored.findClientAuthorization(database, clientId, authorizationId))
  if (!row) throw new Problem('not_found', { detail: noAuthorization })
  return describeAuthorization(row)
}

const isTry = (check: AuthorizationCheck['check']): boolean => check === 'pin' || check === 'cvv2'

/** Describes a stored authorization, with the reason of a decline. */
export function describeAuthorization(row: stored.AuthorizationRow): RecordedAuthorization {
  // With concurrent requests, the remaining tries of the last try were only known at the commit.
  const { remainingTries } = row
  const all = parseChecks(row.checks)
  const last = all.findLastIndex(({ check }) => isTry(check))
  const checks =
    remainingTries === null
      ? all
      : all.map((check, index) => (index === last ? { ...check, remainingTries } : check))
  return {
    publicToken: row.publicToken,
    authorizationId: row.authorizationId,
    networkId: row.networkId,
    requestId: row.requestId,
    reference: row.reference,
    entryMode: row.entryMode,
    responseCode: row.responseCode,
    durationMs: row.durationMs,
    ...toTransactionMembers(row),
    approved: isApprovalCode(row.responseCode),
    ...(row.paymentId !== null && { paymentId: row.paymentId }),
    ...explainDecline(row.responseCode, checks),
    requestedAt: row.requestedAt,
    decidedAt: row.at,
    checks,
  }
}
