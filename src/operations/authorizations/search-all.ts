import { type DeclineReason, declineRules } from '../../domain/decline-reason.ts'
import { parameterFault, validationFailed } from '../../domain/problem.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import * as stored from '../../storage/authorizations/records.ts'
import type { AuthorizationContext } from './authorization.ts'
import { toFirstId } from './recorded-pages.ts'
import { describeAuthorization, type RecordedAuthorization } from './records.ts'

/** An authorization of any client's card. */
interface FoundAuthorization extends RecordedAuthorization {
  readonly clientId: string
}

/** Which authorizations are searched for; members that are left out exclude none. */
interface AuthorizationSearch {
  readonly clientId?: string | undefined
  readonly outcome?: 'approved' | 'declined' | undefined
  readonly responseCode?: string | undefined
  readonly declineReason?: DeclineReason | undefined
  /** The first instant. */
  readonly from?: Date | undefined
  /** The first instant after the period. */
  readonly to?: Date | undefined
}

/** A page of found authorizations. */
interface FoundPage {
  readonly found: FoundAuthorization[]
  /** The position that the next page begins after; null without a next page. */
  readonly next: stored.AuthorizationPosition | null
}

/** The page to read: it begins after a position, or with the newest authorization. */
interface WantedPage {
  readonly after: stored.AuthorizationPosition | null
  readonly limit: number
}

/** The windows of 1,000 authorizations that one call searches. */
const windowsMost = 20

/**
 * Searches the authorizations of all cards, newest first. A call searches at most 20,000: a page of
 * rare ones may have fewer entries than its limit, even none, and yet a next page.
 * @throws `Problem` `validation_failed` for an empty period, or a reason with another code.
 */
export async function searchAllAuthorizations(
  { database }: Records,
  search: AuthorizationSearch,
  { after, limit }: WantedPage,
): Promise<FoundPage> {
  const { clientId = null, declineReason = null, from = new Date(0), to = endOfTime } = search
  if (to <= from) throw validationFailed(parameterFault('to', 'must be after from'))
  const isWanted = createFilter(search)
  const found: Found[] = []
  let last = after ?? toPosition(to)
  for (let windows = 0; windows < windowsMost; windows += 1) {
    const keys = await stored.listNewestAuthorizations(database, clientId, last)
    const within = keys.filter(({ recordedAt }) => recordedAt >= toPosition(from).recordedAt)
    const wanted = within.filter(isWanted)
    found.push(...(await readFound(database, wanted, declineReason, limit + 1 - found.length)))
    if (found.length > limit) return toPage(found.slice(0, limit), found[limit - 1]?.key ?? null)
    if (within.length < stored.windowSize) return toPage(found, null)
    last = keys.at(-1) ?? last
  }
  return toPage(found, last)
}

type Records = Pick<AuthorizationContext, 'database'>

interface Found {
  readonly key: stored.AuthorizationKey
  readonly authorization: FoundAuthorization
}

const toPage = (found: readonly Found[], next: stored.AuthorizationPosition | null): FoundPage => ({
  found: found.map(({ authorization }) => authorization),
  next: next && { recordedAt: next.recordedAt, authorizationId: next.authorizationId },
})

/** A reason shares its response code with others, which are read and left out in such steps. */
const stepSize = 101

/** Reads the first authorizations of some keys, of one reason only or of all. */
async function readFound(
  database: Records['database'],
  keys: readonly stored.AuthorizationKey[],
  declineReason: DeclineReason | null,
  most: number,
): Promise<Found[]> {
  const found: Found[] = []
  const length = declineReason ? stepSize : Math.min(stepSize, most)
  for (let at = 0; at < keys.length && found.length < most; at += length) {
    const step = keys.slice(at, at + length)
    const rows = await stored.findAuthorizations(database, step)
    const byId = new Map(rows.map((row) => [row.authorizationId, row]))
    for (const key of step) {
      const row = byId.get(key.authorizationId)
      if (!row) continue
      const authorization = { ...describeAuthorization(row), clientId: row.clientId }
      if (declineReason && authorization.declineReason !== declineReason) continue
      found.push({ key, authorization })
    }
  }
  return found.slice(0, most)
}

/** @throws `Problem` `validation_failed` for a reason with another response code. */
function createFilter({ declineReason, outcome, responseCode }: AuthorizationSearch) {
  const codeOfReason = declineReason && declineRules[declineReason].responseCode
  if (codeOfReason && responseCode && codeOfReason !== responseCode) {
    const detail = `has the response code ${codeOfReason}`
    throw validationFailed(parameterFault('declineReason', detail))
  }
  const wanted = codeOfReason ?? responseCode
  return (key: stored.AuthorizationKey): boolean =>
    (outcome === undefined || isApprovalCode(key.responseCode) === (outcome === 'approved')) &&
    (wanted === undefined || wanted === key.responseCode)
}

const endOfTime = new Date('9999-12-31T00:00:00Z')

/** Returns the position of an instant. */
const toPosition = (at: Date): stored.AuthorizationPosition => ({
  recordedAt: at.toISOString().replace('Z', '000Z'),
  authorizationId: toFirstId(at),
})
