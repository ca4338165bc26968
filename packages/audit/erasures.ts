/** Decides which erasures are valid: those with an earlier request in the log. */
import type { Acts, ErasureEntry, ErasureRequest } from './acts.ts'
import type { Finding } from './findings.ts'
import { countEntries, describeRange, type Range, uncovered } from './ranges.ts'

/** An entry that lists erased entries, with its justification. */
export interface ErasureReport {
  /** The log and the position of the entry. */
  readonly origin: string
  readonly index: number
  /** The ID of the erasure. */
  readonly erasure: string
  /** The subject: `card`, `client` or `age`. */
  readonly of: string | null
  /** The requester; null for old entries. */
  readonly requestedBy: string | null
  readonly reason: string
  /** The log of the erased entries, and their ranges. */
  readonly log: string
  readonly ranges: readonly Range[]
}

/** A log whose entries were read. */
interface ReadLog {
  readonly origin: string
  readonly size: number
  readonly acts: Acts
}

/** The outcome for entries without text. */
interface Judgement {
  /** The valid erasures, the oldest first. */
  readonly erasures: readonly ErasureReport[]
  /** The number of validly erased entries of each log, by its origin. */
  readonly erased: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
}

/** A request, with the position of its log. */
interface PlacedRequest {
  readonly request: ErasureRequest
  readonly at: number
}

/**
 * Decides whether erasures justify the missing texts of logs.
 * @param logs the current one first, then the previous ones
 */
export function judgeErasures(logs: readonly ReadLog[]): Judgement {
  const requests = firstRequests(logs)
  const findings: Finding[] = []
  const erasures: ErasureReport[] = []
  const judge = (entry: ErasureEntry, at: number, origin: string): void => {
    const request = requestBefore(entry, at, requests)
    const detail = findFault(entry, request, logs, at)
    if (request && detail === null) erasures.push(createReport(origin, entry, request))
    if (detail === null) return
    findings.push({ code: 'erasure_unfounded', origin, where: `entry ${entry.index}`, detail })
  }
  for (const [at, { acts, origin }] of [...logs.entries()].reverse()) {
    for (const entry of acts.erasures) judge(entry, at, origin)
  }
  const erased = new Map<string, number>()
  for (const { acts, origin } of logs) {
    const covers = erasures.filter(({ log }) => log === origin).flatMap(({ ranges }) => ranges)
    const bare = uncovered(acts.silent, covers)
    findings.push(...bare.map((range) => missingOpening(origin, range)))
    erased.set(origin, countEntries(acts.silent) - countEntries(bare))
  }
  return { erasures, erased, findings }
}

const missingOpening = (origin: string, range: Range): Finding => ({
  code: 'opening_missing',
  origin,
  where: describeRange(range),
  detail: 'its text is missing, and no erasure covers it',
})

function requestBefore(
  { erasure, index }: ErasureEntry,
  at: number,
  requests: ReadonlyMap<string, PlacedRequest>,
): ErasureRequest | null {
  const asked = requests.get(erasure ?? '')
  if (!asked) return null
  return asked.at > at || (asked.at === at && asked.request.index < index) ? asked.request : null
}

/** Returns the first request for each erasure: the oldest log has the last position. */
function firstRequests(logs: readonly ReadLog[]): ReadonlyMap<string, PlacedRequest> {
  const requests = new Map<string, PlacedRequest>()
  for (const [at, { acts }] of logs.entries()) {
    for (const request of acts.requests.toReversed()) requests.set(request.erasure, { request, at })
  }
  return requests
}

/**
 * Returns the reason why an entry does not justify an erasure; null if it does.
 * @param at the position of its log
 */
function findFault(
  { by, index, origin, ranges }: ErasureEntry,
  request: ErasureRequest | null,
  logs: readonly ReadLog[],
  at: number,
): string | null {
  if (!request) return 'it names entries as erased, and no earlier entry requests that'
  if (request.by !== by) return `it names ${by} as the requester, which was ${request.by}`
  if (!ranges) return 'the erased entries in it are not ranges'
  const named = logs.findIndex((each) => each.origin === origin)
  if (named >= 0 && named < at) return `it names entries of ${origin}, which began after it`
  const last = ranges.reduce((most, [, to]) => Math.max(most, to), -1)
  // A successor contains the last entries of a log that was closed before these were signed.
  const former = (logs[named]?.size ?? 0) + (logs[named - 1]?.size ?? 0)
  const end = named === at ? index : former
  if (named < 0 || last < end) return null
  return `it names entries up to ${last} of ${origin} as erased, and there were ${end} before it`
}

const createReport = (
  origin: string,
  { index, origin: log, ranges }: ErasureEntry,
  { by: requestedBy, erasure, of, reason }: ErasureRequest,
): ErasureReport => ({
  origin,
  index,
  erasure,
  of,
  requestedBy,
  reason,
  log,
  ranges: ranges ?? [],
})
