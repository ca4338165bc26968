import { attemptEntryId } from '../../domain/audit-entry.ts'
import { parseChecks } from '../../domain/authorization-check.ts'
import { type Decline, explainDecline } from '../../domain/decline-reason.ts'
import type { EventType } from '../../domain/event-type.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import type { RecordedTransaction } from '../../domain/transaction.ts'
import { toTransactionMembers } from '../../storage/authorizations/transaction-columns.ts'
import * as stored from '../../storage/cards/timeline.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'
import type { CardContext, ChangeNote } from './cards.ts'

/** The actor: the card's client, a card network, an operator, or the service itself. */
type Actor =
  | { readonly kind: 'client' | 'operator'; readonly id: string }
  | { readonly kind: 'network' | 'service'; readonly id: null }

/** An actor with its name at present; null if it is not known. */
type NamedActor = Actor & { readonly name: string | null }

/** An act on a card, or a disclosure of its data. */
interface HistoricAct {
  /** Also the id of its entry in the audit log. */
  readonly entryId: string
  readonly type: EventType | string
  /** Its number among the card's events; null if it is not an event. */
  readonly sequence: number | null
  readonly by: NamedActor
  readonly requestId: string | null
  readonly details: Readonly<Record<string, unknown>>
  /** The reason that an operator gave; null for acts of a client, whose notes are confidential. */
  readonly reason: string | null
  readonly deliveries: (Omit<stored.EventDelivery, 'position'> & { readonly deliveryId: string })[]
}

interface HistoricAttempt extends Omit<stored.HistoricTry, 'at'> {
  readonly entryId: string
}

interface HistoricAuthorization extends Partial<Decline>, RecordedTransaction {
  readonly authorizationId: string
  readonly approved: boolean
  readonly responseCode: string
  readonly networkId: string
  readonly reference: string
  readonly entryMode: string
}

/** One entry of a card's history. `at`: RFC 3339 in UTC, to the microsecond. */
type TimelineEntry = { readonly at: string } & (
  | { readonly kind: 'change' | 'disclosure'; readonly act: HistoricAct }
  | { readonly kind: 'attempt'; readonly attempt: HistoricAttempt }
  | { readonly kind: 'authorization'; readonly authorization: HistoricAuthorization }
)

export const timelineKinds = ['change', 'disclosure', 'attempt', 'authorization'] as const
type TimelineKind = (typeof timelineKinds)[number]

/** One page, with the start of the next page if there is one. */
interface TimelinePage {
  readonly entries: readonly TimelineEntry[]
  readonly next: TimelinePosition | null
}

export type TimelinePosition = stored.CardHistoryPosition

/** An entry, with the position after which its source continues. */
interface SourcedEntry {
  readonly entry: TimelineEntry
  readonly position: Partial<TimelinePosition>
}

/** The request for a page of a timeline. */
interface TimelineQuery {
  readonly after: TimelinePosition | null
  readonly limit: number
  /** Null: entries of all kinds. */
  readonly kind: TimelineKind | null
}

/** The most entries of one read: each source has one more. */
const readMost = 100

/** How often a page of one kind reads on, past entries of other kinds. */
const readsMost = 10

/**
 * Lists everything that is stored about a card, newest first: changes, disclosures, tries and
 * authorizations. A page of one kind may be short although another page follows.
 * @throws `Problem` `card_not_found`.
 */
export async function listTimeline(
  context: Pick<CardContext, 'database' | 'hsm'>,
  publicToken: PublicToken,
  { after, kind, limit }: TimelineQuery,
): Promise<TimelinePage> {
  const found: TimelineEntry[] = []
  const notes = new Map<number, string>()
  let position: TimelinePosition | null = after ?? stored.newestPosition
  for (let reads = 0; position !== null && reads < readsMost; reads += 1) {
    const read = await readTimeline(context, publicToken, position, kind)
    for (const { note, sequence } of read.notes) notes.set(sequence, note)
    const taken = takeEntries(read.merged, kind, limit - found.length)
    found.push(...taken.entries)
    position = taken.isFull || !read.isLast ? { ...position, ...taken.position } : null
    if (taken.isFull) break
  }
  return { entries: await nameAndExplain(context, publicToken, found, notes), next: position }
}

/**
 * Takes the entries of a kind, newest first, until a page has no room for the next one.
 * @returns also the position after the last one that was taken or passed over.
 */
function takeEntries(merged: readonly SourcedEntry[], kind: TimelineKind | null, room: number) {
  const entries: TimelineEntry[] = []
  const position: Partial<TimelinePosition> = {}
  for (const { entry, position: its } of merged) {
    const isShown = kind === null || entry.kind === kind
    if (isShown && entries.length === room) return { entries, position, isFull: true }
    if (isShown) entries.push(entry)
    Object.assign(position, its)
  }
  return { entries, position, isFull: false }
}

/** Reads the newest entries before a position, from the sources that have entries of a kind. */
async function readTimeline(
  { database }: Pick<CardContext, 'database'>,
  publicToken: PublicToken,
  from: TimelinePosition,
  kind: TimelineKind | null,
) {
  const rows = await stored.listTimelineRows(database, publicToken, from)
  if (!rows) throw new Problem('card_not_found')
  const { clientId } = rows
  const [published, acts] = await Promise.all([
    stored.listCardEvents(database, clientId, publicToken, from.sequence),
    stored.listActsOnCard(database, publicToken, from.act),
  ])
  const isOf = (...kinds: TimelineKind[]) => kind === null || kinds.includes(kind)
  const merged = mergeNewest(
    [
      isOf('change', 'disclosure') ? toEventEntries(clientId, rows, published) : [],
      ...(isOf('attempt') ? [rows.pinTries, rows.cvvTries] : []).map((list) =>
        list.map((each) => toTryEntry(publicToken, each)),
      ),
      isOf('authorization') ? rows.authorizations.map(toAuthorizationEntry) : [],
      isOf('disclosure') ? acts.map(toActEntry) : [],
    ],
    readMost + 1,
  )
  return {
    merged: merged.slice(0, readMost),
    isLast: merged.length <= readMost,
    notes: rows.notes,
  }
}

/** Adds the names of those who acted, and the reasons that operators gave. */
async function nameAndExplain(
  { database, hsm }: Pick<CardContext, 'database' | 'hsm'>,
  publicToken: PublicToken,
  entries: readonly TimelineEntry[],
  notes: ReadonlyMap<number, string>,
): Promise<TimelineEntry[]> {
  const names = await listActorNames(
    database,
    entries.map((entry) => ('act' in entry ? entry.act.by.id : null)),
  )
  return Promise.all(
    entries.map(async (entry) => {
      if (!('act' in entry)) return entry
      const { act } = entry
      const by = { ...act.by, name: names.get(act.by.id ?? '') ?? null }
      if (by.kind !== 'operator') return { ...entry, act: { ...act, by } }
      const note = act.sequence === null ? undefined : notes.get(act.sequence)
      const reason = note === undefined ? null : await revealReason(hsm, publicToken, note)
      return { ...entry, act: { ...act, by, reason } }
    }),
  )
}

/** Merges sorted lists, newest first. Entries of one source keep their order. */
function mergeNewest(sources: readonly (readonly SourcedEntry[])[], most: number): SourcedEntry[] {
  const left = sources.map((source) => [...source])
  const merged: SourcedEntry[] = []
  while (merged.length < most) {
    // All instants have the same form and length, so they can be compared as texts.
    const newest = left.reduce((best, each) =>
      (each[0]?.entry.at ?? '') > (best[0]?.entry.at ?? '') ? each : best,
    )
    const head = newest.shift()
    if (!head) break
    merged.push(head)
  }
  return merged
}

const disclosures: readonly string[] = ['pin.revealed', 'card_data.revealed', 'cardholder.revealed']

/**
 * Combines published and unpublished events. An event that was published meanwhile is in both
 * lists.
 */
function toEventEntries(
  clientId: string,
  { unpublished }: Pick<stored.RowsOfCard, 'unpublished'>,
  { deliveries, events }: stored.PublishedOfCard,
): SourcedEntry[] {
  const ofPosition = Map.groupBy(deliveries, ({ position }) => position)
  const known = new Map<number, { event: stored.CardEvent; position: string | null }>()
  for (const event of unpublished) known.set(event.sequence, { event, position: null })
  for (const event of events) known.set(event.sequence, { event, position: event.position })
  const newestFirst = [...known.values()].toSorted(
    (one, other) => other.event.sequence - one.event.sequence,
  )
  return newestFirst.map(({ event, position }) => {
    // The actor has members outside the details.
    const { clientId: _, requestId: __, ...details } = JSON.parse(event.details)
    const itsDeliveries = ofPosition.get(position ?? '') ?? []
    return {
      position: { sequence: event.sequence },
      entry: {
        at: event.at,
        kind: disclosures.includes(event.type) ? 'disclosure' : 'change',
        act: {
          entryId: event.eventId,
          type: event.type,
          sequence: event.sequence,
          by: { ...identifyActor(clientId, event), name: null },
          requestId: event.requestId,
          reason: null,
          details,
          deliveries: itsDeliveries.map(({ position: deliveryId, ...each }) => ({
            ...each,
            deliveryId,
          })),
        },
      },
    }
  })
}

// The expiry of a hold, `payment.expired`, is an act of the service.
const networkActs = /^((pin|cvv)\.attempt_failed|authorization\.\w+|payment\.(changed|forced))$/

function identifyActor(clientId: string, event: stored.CardEvent): Actor {
  const { operatorId, requestId, type } = event
  if (operatorId !== null) return { kind: 'operator', id: operatorId }
  const isByTries = JSON.parse(event.details).blockedBy === 'tries'
  if (networkActs.test(type) || isByTries) return { kind: 'network', id: null }
  return requestId === null ? { kind: 'service', id: null } : { kind: 'client', id: clientId }
}

function toTryEntry(
  publicToken: PublicToken,
  { at, ...attempt }: stored.HistoricTry,
): SourcedEntry {
  const { kind, tryNumber } = attempt
  const entryId = attemptEntryId({ publicToken, kind, tryNumber, at })
  return {
    position: { [kind]: tryNumber },
    entry: { at, kind: 'attempt', attempt: { entryId, ...attempt } },
  }
}

function toAuthorizationEntry(row: stored.RowsOfCard['authorizations'][number]): SourcedEntry {
  const { at, authorizationId, checks, entryMode, networkId, reference, responseCode } = row
  return {
    position: { authorizationId },
    entry: {
      at,
      kind: 'authorization',
      authorization: {
        authorizationId,
        approved: isApprovalCode(responseCode),
        responseCode,
        ...explainDecline(responseCode, parseChecks(checks)),
        networkId,
        reference,
        entryMode,
        ...toTransactionMembers(row),
      },
    },
  }
}

const toActEntry = ({
  act,
  actId,
  at,
  number,
  operatorId,
  requestId,
}: stored.ActOnCard): SourcedEntry => ({
  position: { act: number },
  entry: {
    at,
    kind: 'disclosure',
    act: {
      entryId: actId,
      type: act,
      sequence: null,
      requestId,
      reason: null,
      by: { kind: 'operator', id: operatorId, name: null },
      details: {},
      deliveries: [],
    },
  },
})

const revealReason = async (
  hsm: CardContext['hsm'],
  publicToken: PublicToken,
  sealed: string,
): Promise<string | null> => {
  const text = await hsm.revealRecord('note', publicToken, Buffer.from(sealed, 'hex'))
  return (JSON.parse(text) as ChangeNote).description ?? null
}

/** The event that set a card's status. */
export interface StatusReason {
  readonly at: string
  readonly by: NamedActor
  readonly reason: string | null
}

/**
 * Returns the event that set a card's status; null if it is not among the newest events, or was
 * deleted.
 */
export async function statusReason(
  { database, hsm }: Pick<CardContext, 'database' | 'hsm'>,
  { clientId, publicToken }: { readonly clientId: string; readonly publicToken: PublicToken },
): Promise<StatusReason | null> {
  const event = await stored.findStatusEvent(database, clientId, publicToken)
  if (!event) return null
  const actor = identifyActor(clientId, event)
  const isOperator = actor.kind === 'operator'
  const [names, note] = await Promise.all([
    listActorNames(database, [actor.id]),
    isOperator && stored.findEventNote(database, publicToken, event.sequence),
  ])
  const by = { ...actor, name: names.get(actor.id ?? '') ?? null }
  return { at: event.at, by, reason: note ? await revealReason(hsm, publicToken, note) : null }
}
