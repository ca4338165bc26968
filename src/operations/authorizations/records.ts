import { type AuthorizationCheck, parseChecks } from '../../domain/authorization-check.ts'
import type { Requester } from '../../domain/client.ts'
import { type Decline, explainDecline } from '../../domain/decline-reason.ts'
import { isUuid, type PublicToken } from '../../domain/identifiers.ts'
import { Problem, parameterFault, validationFailed } from '../../domain/problem.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import type { RecordedTransaction } from '../../domain/transaction.ts'
import {
  type AnswerCount,
  countAuthorizations,
  countMinutes,
  findNewestMinute,
} from '../../storage/authorizations/counts.ts'
import * as stored from '../../storage/authorizations/records.ts'
import {
  type RecordedTransactionColumns,
  toTransactionMembers,
} from '../../storage/authorizations/transaction-columns.ts'
import { findOwner } from '../../storage/cards/search.ts'
import type { AuthorizationContext } from './authorization.ts'

type Records = Pick<AuthorizationContext, 'database'>

/** A recorded authorization. */
interface RecordedAuthorization
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
  return rows.map(recorded)
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
  return recorded(row)
}

/** The authorizations of all cards of the requester, newest first. */
export async function listClientAuthorizations(
  { database }: Records,
  { clientId }: Requester,
  page: stored.AuthorizationPage,
): Promise<RecordedAuthorization[]> {
  return (await stored.listClientAuthorizations(database, clientId, page)).map(recorded)
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
  return (await stored.listAuthorizations(database, publicToken, page)).map(recorded)
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
  return recorded(row)
}

const isTry = (check: AuthorizationCheck['check']): boolean => check === 'pin' || check === 'cvv2'

function recorded(row: stored.AuthorizationRow): RecordedAuthorization {
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

/** The allowed intervals of the counts in seconds, and the maximum number of days of each. */
const figureBuckets = {
  minute: { seconds: 60, daysMost: 1 },
  hour: { seconds: 3_600, daysMost: 31 },
  day: { seconds: 86_400, daysMost: 100 },
} as const

/** The answers in one interval. */
interface AuthorizationFigures {
  /** The start of the interval: RFC 3339 in UTC. */
  readonly from: string
  readonly approved: number
  readonly declined: number
  /** By response code, without approvals. */
  readonly declinedBy: Record<string, number>
  /** What approvals held, by currency, in its smallest unit. */
  readonly approvedAmounts: Record<string, number>
}

const dayMs = 86_400_000

/**
 * Counts approvals and declines by interval, in their order. Empty intervals are omitted. Intervals
 * begin at full minutes, hours or days (UTC).
 * @throws `Problem` `validation_failed` if `to` is not after `from`, or too far after it for the
 *   interval.
 */
export async function countAnswers(
  { database }: Records,
  {
    bucket,
    from,
    to,
  }: { readonly from: Date; readonly to: Date; readonly bucket: keyof typeof figureBuckets },
): Promise<AuthorizationFigures[]> {
  const { daysMost, seconds } = figureBuckets[bucket]
  if (to <= from) throw validationFailed(parameterFault('to', 'must be after from'))
  if (to.getTime() - from.getTime() > daysMost * dayMs) {
    const detail = `must be ${daysMost} days after from, or fewer, for buckets of a ${bucket}`
    throw validationFailed(parameterFault('to', detail))
  }
  const width = seconds * 1_000
  const first = new Date(Math.floor(from.getTime() / width) * width)
  const counts = await countAuthorizations(database, first, to, seconds)
  const stretches = [...Map.groupBy(counts, (each) => each.from)]
  return stretches
    .toSorted(([one], [other]) => one - other)
    .map(([at, ofStretch]) => {
      const declines = ofStretch.filter(({ responseCode }) => !isApprovalCode(responseCode))
      const sum = (of: readonly AnswerCount[]) => of.reduce((total, { count }) => total + count, 0)
      const codes = Map.groupBy(declines, ({ responseCode }) => responseCode)
      const held = ofStretch.filter(({ heldAmount }) => heldAmount > 0)
      const currencies = Map.groupBy(held, ({ currencyCode }) => currencyCode)
      const sumHeld = (of: readonly AnswerCount[]) =>
        of.reduce((total, { heldAmount }) => total + heldAmount, 0)
      return {
        from: new Date(at * 1_000).toISOString(),
        approved: sum(ofStretch) - sum(declines),
        declined: sum(declines),
        // An interval may consist of two counts, one of which is taken now.
        declinedBy: Object.fromEntries([...codes].map(([code, those]) => [code, sum(those)])),
        approvedAmounts: Object.fromEntries(
          [...currencies].map(([currency, those]) => [currency, sumHeld(those)]),
        ),
      }
    })
}

/** The number of minutes that one statement counts. */
const minutesAtOnce = 60

/**
 * Counts the answers of each past minute, for charts. Several processes may do so at once.
 * @param stop ends it between two steps.
 */
export async function countAnswered(
  { database }: Records,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  // The last counted minute is counted again, because it is complete now.
  let from = (await findNewestMinute(database)) ?? new Date(0)
  while (!stop.aborted) {
    const newest = await countMinutes(database, from, minutesAtOnce)
    if (newest === null) return
    from = new Date(newest.getTime() + 60_000)
  }
}
