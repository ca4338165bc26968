import { parameterFault, validationFailed } from '../../domain/problem.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import {
  type AnswerCount,
  countAuthorizations,
  countHours,
  countMinutes,
  findNewestCounts,
} from '../../storage/authorizations/counts.ts'
import type { AuthorizationContext } from './authorization.ts'

type Records = Pick<AuthorizationContext, 'database'>

/** The allowed intervals of the counts in seconds, and the maximum number of days of each. */
const figureBuckets = {
  minute: { seconds: 60, daysMost: 1 },
  hour: { seconds: 3_600, daysMost: 31 },
  sixHours: { seconds: 21_600, daysMost: 31 },
  day: { seconds: 86_400, daysMost: 100 },
} as const

/** Answers, summed. */
interface AnswerSums {
  readonly approved: number
  readonly declined: number
  /** By response code, without approvals. */
  readonly declinedBy: Record<string, number>
  /** The sums that approvals held, by currency, in its smallest unit. */
  readonly approvedAmounts: Record<string, number>
}

/** The answers in one interval. */
interface AuthorizationFigures extends AnswerSums {
  /** The start of the interval: RFC 3339 in UTC. */
  readonly from: string
}

/** The answers to requests about the cards of one client. */
interface ClientFigures extends Omit<AnswerSums, 'approvedAmounts'> {
  readonly clientId: string
}

/** A period, until before its end. */
interface CountedPeriod {
  readonly from: Date
  readonly to: Date
}

const dayMs = 86_400_000

/** @throws `Problem` `validation_failed` if `to` is not after `from`, or too far after it. */
function requirePeriod({ from, to }: CountedPeriod, daysMost: number, unit: string): void {
  if (to <= from) throw validationFailed(parameterFault('to', 'must be after from'))
  if (to.getTime() - from.getTime() > daysMost * dayMs) {
    const detail = `must be ${daysMost} days after from, or fewer${unit}`
    throw validationFailed(parameterFault('to', detail))
  }
}

const roundDown = (at: Date, seconds: number): Date =>
  new Date(Math.floor(at.getTime() / (1_000 * seconds)) * 1_000 * seconds)

/**
 * Counts approvals and declines by interval, in their order. Empty intervals are omitted. Intervals
 * begin at full minutes, hours, quarters of a day, or days (UTC).
 * @param clientId null for the cards of all clients.
 * @throws `Problem` `validation_failed` if `to` is not after `from`, or too far after it for the
 *   interval.
 */
export async function countAnswers(
  { database }: Records,
  {
    bucket,
    clientId,
    from,
    to,
  }: CountedPeriod & {
    readonly bucket: keyof typeof figureBuckets
    readonly clientId: string | null
  },
): Promise<AuthorizationFigures[]> {
  const { daysMost, seconds } = figureBuckets[bucket]
  requirePeriod({ from, to }, daysMost, `, for buckets of a ${bucket}`)
  const counts = await countAuthorizations(database, {
    from: roundDown(from, seconds),
    to,
    bucketSeconds: seconds,
    clientId,
    byClient: false,
  })
  const intervals = [...Map.groupBy(counts, (each) => each.from)]
  return intervals
    .toSorted(([one], [other]) => one - other)
    .map(([at, ofInterval]) => ({
      from: new Date(at * 1_000).toISOString(),
      ...sumAnswers(ofInterval),
    }))
}

/** The longest period of the counts by client. */
const clientDaysMost = 31
/** The clients with most requests are listed. */
const clientsMost = 100

/**
 * Counts approvals and declines by client; the client with most requests first. The period begins
 * at a full hour (UTC).
 * @throws `Problem` `validation_failed` if `to` is not after `from`, or more than 31 days after it.
 */
export async function countAnswersByClient(
  { database }: Records,
  { from, to }: CountedPeriod,
): Promise<ClientFigures[]> {
  requirePeriod({ from, to }, clientDaysMost, '')
  const hourSeconds = 3_600
  const counts = await countAuthorizations(database, {
    from: roundDown(from, hourSeconds),
    to,
    bucketSeconds: 40 * 24 * hourSeconds,
    clientId: null,
    byClient: true,
  })
  return [...Map.groupBy(counts, ({ clientId }) => clientId)]
    .map(([clientId, ofClient]) => {
      const { approved, declined, declinedBy } = sumAnswers(ofClient)
      return { clientId, approved, declined, declinedBy }
    })
    .toSorted((one, other) => other.approved + other.declined - one.approved - one.declined)
    .slice(0, clientsMost)
}

/** Sums counts, of which several may be about the same code. */
function sumAnswers(counts: readonly AnswerCount[]): AnswerSums {
  const sum = (of: readonly AnswerCount[]) => of.reduce((total, { count }) => total + count, 0)
  const declines = counts.filter(({ responseCode }) => !isApprovalCode(responseCode))
  const codes = Map.groupBy(declines, ({ responseCode }) => responseCode)
  const held = counts.filter(({ heldAmount }) => heldAmount > 0)
  const currencies = Map.groupBy(held, ({ currencyCode }) => currencyCode)
  const sumHeld = (of: readonly AnswerCount[]) =>
    of.reduce((total, { heldAmount }) => total + heldAmount, 0)
  return {
    approved: sum(counts) - sum(declines),
    declined: sum(declines),
    declinedBy: Object.fromEntries([...codes].map(([code, those]) => [code, sum(those)])),
    approvedAmounts: Object.fromEntries(
      [...currencies].map(([currency, those]) => [currency, sumHeld(those)]),
    ),
  }
}

/** The number of minutes that one statement counts. */
const minutesAtOnce = 60

/**
 * Counts the answers of each past minute and each complete hour, for charts. Several processes may
 * do so at once.
 * @param stop ends it between two steps.
 */
export async function countAnswered(
  { database }: Records,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  // The last counted minute is counted again, because it is complete now.
  let from = (await findNewestCounts(database)).minute ?? new Date(0)
  while (!stop.aborted) {
    const newest = await countMinutes(database, from, minutesAtOnce)
    if (newest === null) return
    await countHours(database)
    from = new Date(newest.getTime() + 60_000)
  }
}
