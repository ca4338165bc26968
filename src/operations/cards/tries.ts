import { formatDate } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { type TryKind, type TryStatus, tryStatus } from '../../domain/tries.ts'
import {
  type AttemptPosition,
  type AttemptRow,
  listAttemptRows,
  listUnreportedBlocks,
  newestAttempt,
  reportLostBlock,
  type UnreportedBlock,
} from '../../storage/authorizations/tries.ts'
import { findCard } from '../../storage/cards/cards.ts'
import { restoreTries, spendAllTries } from '../../storage/cards/changes.ts'
import type { Limit } from '../../storage/cards/limits.ts'
import { findTries, type TriesRow } from '../../storage/cards/tries.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import * as cards from './cards.ts'
import { refuseUsedUp } from './limits.ts'

/** The known state of the PIN in a chip. */
interface ChipPinStatus {
  /** The state of the newest command that changes or unblocks it. */
  readonly chipUpdate: NonNullable<TriesRow['chipUpdate']>
  /** The last report of the chip, and its time (RFC 3339). */
  readonly remainingOfflineTries?: number
  readonly reportedAt?: string
}

/**
 * Returns whether a card's PIN or CVV can be used, and the remaining tries. For the PIN of a card
 * with a chip, also the state of the PIN in the chip. Works in every card status.
 * @throws `Problem` `card_not_found`.
 */
export async function findTryStatus(
  { database }: cards.CardContext,
  { clientId }: Requester,
  publicToken: PublicToken,
  kind: TryKind,
): Promise<TryStatus & Partial<ChipPinStatus>> {
  const tries = await findTries(database, publicToken, kind, clientId)
  if (!tries) throw new Problem('card_not_found')
  return { ...tryStatus(kind, tries), ...describeChipPin(tries) }
}

const describeChipPin = ({
  chipUpdate,
  offlineTriesAt,
  remainingOfflineTries,
}: TriesRow): Partial<ChipPinStatus> => ({
  ...(chipUpdate !== null && { chipUpdate }),
  ...(remainingOfflineTries !== null &&
    offlineTriesAt !== null && {
      remainingOfflineTries,
      reportedAt: offlineTriesAt.toISOString(),
    }),
})

export type { AttemptPosition }

/** One page of attempts, with the start of the next page if there is one. */
interface AttemptPage {
  readonly attempts: readonly AttemptRow[]
  readonly next: AttemptPosition | null
}

/** Selects a card's attempts. */
interface AttemptFilter {
  readonly publicToken: PublicToken
  readonly after: AttemptPosition | null
  readonly limit: number
}

/**
 * Lists one page of the spent tries of the requester's card.
 * @throws `Problem` `card_not_found`.
 */
export async function listAttempts(
  { database }: cards.CardContext,
  { clientId }: Requester,
  { after, limit, publicToken }: AttemptFilter,
): Promise<AttemptPage> {
  // One more than requested shows whether there is a next page.
  const rows = await listAttemptRows(database, publicToken, clientId, { after, limit: limit + 1 })
  if (rows.length === 0 && !(await findCard(database, publicToken, clientId))) {
    throw new Problem('card_not_found')
  }
  const attempts = rows.slice(0, limit)
  if (rows.length <= limit) return { attempts, next: null }
  // The last listed try of each kind, on this page or a previous one.
  const findLastNumber = (kind: TryKind) =>
    attempts.findLast((each) => each.kind === kind)?.tryNumber
  const from = after ?? newestAttempt
  return {
    attempts,
    next: { pin: findLastNumber('pin') ?? from.pin, cvv: findLastNumber('cvv') ?? from.cvv },
  }
}

/** Returns the limit of the unblocks of a line of cards; null without one. */
export const findUnblockLimit = (
  { limits: { unblocksPerCard } }: Pick<cards.CardContext, 'limits'>,
  kind: TryKind,
): Limit | null => unblocksPerCard && { ...unblocksPerCard, limitName: `unblock-${kind}` }

/** The kind of tries to unblock. */
interface Unblocking {
  readonly publicToken: PublicToken
  readonly kind: TryKind
  readonly note: cards.ChangeNote
}

/**
 * Unblocks a card's PIN or CVV: restores all tries, whether or not they were used up. The event is
 * recorded even without a change, because the act must be audited. If the card has a chip, a
 * command that unblocks the PIN in the chip is queued.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`.
 */
export const unblock = (
  context: cards.CardContext,
  requester: cards.CardActor,
  { kind, note, publicToken }: Unblocking,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const { database } = context
    const limit = findUnblockLimit(context, kind)
    const change = { publicToken, type: `${kind}.unblocked`, note } as const
    const event = await cards.changeEvent(context, requester, change)
    const act = { clientId: requester.clientId, event, claim: await claimFor(null) }
    const today = formatDate(context.now())
    const isDone = await restoreTries(database, act, { kind, limit, today })
    if (!isDone) {
      const card = await cards.findOwnCard(context, requester, publicToken)
      const { lineToken } = card
      await refuseUsedUp(database, limit ? [{ kind: 'card', subject: lineToken, limit }] : [])
      cards.refuseClosed(context, card)
    }
    return { isDone, result: null }
  })

/**
 * Blocks a card's CVV at its client's request, until it is unblocked.
 * @throws `Problem` `card_not_found`, `card_closed`.
 */
export const blockCvv = (
  context: cards.CardContext,
  requester: Requester,
  { note, publicToken }: Omit<Unblocking, 'kind'>,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const details = { blockedBy: 'client' }
    const change = { publicToken, type: 'cvv.blocked', details, note } as const
    const event = await cards.changeEvent(context, requester, change)
    const act = { clientId: requester.clientId, event, claim: await claimFor(null) }
    const today = formatDate(context.now())
    const isDone = await spendAllTries(context.database, act, 'cvv', today)
    if (!isDone) {
      cards.refuseClosed(context, await cards.findOwnCard(context, requester, publicToken))
    }
    return { isDone, result: null }
  })

const stepSize = 100

/**
 * Records the events of blocks whose process was lost before it recorded them. Any number of
 * processes may do so at once.
 * @param stop ends it between two blocks.
 * @throws AggregateError of the failures, after all other events were recorded.
 */
export async function recordLostBlocks(
  { database }: Pick<cards.CardContext, 'database'>,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  let after: UnreportedBlock | null = null
  do {
    const blocks: UnreportedBlock[] = await listUnreportedBlocks(database, after, stepSize)
    for (const block of blocks) {
      if (stop.aborted) break
      await reportLostBlock(database, block).catch((error: unknown) => faults.push(error))
    }
    // Only full steps continue; new blocks are handled next time.
    after = blocks.length === stepSize ? (blocks.at(-1) ?? null) : null
  } while (after && !stop.aborted)
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some blocks could not be recorded.', { cause: faults[0] })
  }
}
