import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** Whose entries are erased: those of a card, of what a client did, or those that are old. */
type ErasureKind = 'card' | 'client' | 'age'

/** An erasure, and how far it is. */
export interface ErasureRow {
  readonly erasureId: string
  readonly kind: ErasureKind
  /** The card's token or the client; null of what is old, and once it is finished. */
  readonly subject: string | null
  readonly reason: string
  readonly requestedAt: Date
  /** Null where nobody asked: it is of what is old. */
  readonly requestedBy: string | null
  /** Null where nobody had to approve it. */
  readonly approvedBy: string | null
  /** The act that says that it was asked for; null before that is on record. */
  readonly requestAct: string | null
  /** The entry from which on it is still to be looked. */
  readonly log: number
  readonly nextIndex: number
  /** Entries that an act names, and which are erased once that is under a checkpoint; else null. */
  readonly pendingAct: string | null
  readonly pendingLog: number | null
  readonly pendingFrom: readonly number[]
  readonly pendingTo: readonly number[]
  /** Entries that are erased by now. */
  readonly erased: number
  readonly finishedAt: Date | null
}

/** Entries from one to another, both among them. */
interface EntryRange {
  readonly from: number
  readonly to: number
}

type NewErasure = Pick<ErasureRow, 'kind' | 'subject' | 'reason' | 'requestedBy' | 'approvedBy'>

const insert = declare<NewErasure, ErasureRow>('insert_audit_erasure')

/** Asks for an erasure. @returns it; null where what is old is looked for already. */
export const insertErasure = async (
  connection: Connection,
  erasure: NewErasure,
): Promise<ErasureRow | null> => firstRow(await insert(connection, erasure))

const updateRequestAct = declare<{ erasureId: string; actId: string }>('set_audit_erasure_request')

/** Says which act tells that an erasure was asked for. */
export const setRequestAct = async (
  connection: Connection,
  erasureId: string,
  actId: string,
): Promise<void> => {
  await updateRequestAct(connection, { erasureId, actId })
}

const selectErasure = declare<{ erasureId: string }, ErasureRow>('find_audit_erasure')

export const findErasure = async (
  connection: Connection,
  erasureId: string,
): Promise<ErasureRow | null> => firstRow(await selectErasure(connection, { erasureId }))

const selectErasures = declare<{ erasureIds: readonly string[] }, ErasureRow>('list_audit_erasures')

/** Those of these ids that there are. */
export const listErasures = (
  connection: Connection,
  erasureIds: readonly string[],
): Promise<ErasureRow[]> => selectErasures(connection, { erasureIds })

const selectUnfinished = declare<{ limit: number }, ErasureRow>('list_unfinished_audit_erasures')

/** Those that are not finished, the oldest first. */
export const listUnfinishedErasures = (
  connection: Connection,
  limit: number,
): Promise<ErasureRow[]> => selectUnfinished(connection, { limit })

const selectLocked = declare<{ erasureId: string }, ErasureRow>('lock_audit_erasure')

/**
 * An erasure, locked to the end of the transaction; null where another process is at it, or it is
 * finished.
 */
export const lockErasure = async (
  connection: Connection,
  erasureId: string,
): Promise<ErasureRow | null> => firstRow(await selectLocked(connection, { erasureId }))

const selectYoung = declare<
  { log: number; from: number; end: number; days: number },
  { index: number }
>('find_first_young_audit_entry')

/** Returns the first entry of a range that is younger than so many days; null when none is. */
export const findFirstYoung = async (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
  days: number,
): Promise<number | null> =>
  firstRow(await selectYoung(connection, { log, from, end, days }))?.index ?? null

type WantedEntries = Pick<ErasureRow, 'kind' | 'subject' | 'log'>

interface KeptEntries {
  readonly keptGroups: readonly string[]
  /** Clients and people whose acts stay. */
  readonly parties: readonly string[]
  readonly limit: number
}

const selectRanges = declare<
  WantedEntries & KeptEntries & { readonly from: number; readonly end: number },
  EntryRange
>('find_audit_entries_to_erase')

/**
 * Lists the ranges of entries to erase, in order. Acts of some groups, and acts of some clients and
 * people, are left out.
 */
export const listRangesToErase = (
  connection: Connection,
  wanted: WantedEntries,
  [from, end]: readonly [number, number],
  kept: KeptEntries,
): Promise<EntryRange[]> => selectRanges(connection, { ...wanted, ...kept, from, end })

type NextEntry = Pick<ErasureRow, 'log' | 'nextIndex' | 'pendingAct'>
type PendingEntries = Pick<ErasureRow, 'erasureId' | 'pendingLog' | 'pendingFrom' | 'pendingTo'>

const updateNext = declare<NextEntry & PendingEntries>('advance_audit_erasure')

/**
 * Puts an erasure before an entry; with the act that names those on the way that are to be erased,
 * if there are any.
 */
export const advanceErasure = async (
  connection: Connection,
  { erasureId, log: pendingLog }: Pick<ErasureRow, 'erasureId' | 'log'>,
  next: NextEntry,
  ranges: readonly EntryRange[],
): Promise<void> => {
  await updateNext(connection, {
    ...next,
    erasureId,
    pendingLog,
    pendingFrom: ranges.map(({ from }) => from),
    pendingTo: ranges.map(({ to }) => to),
  })
}

const erase = declare<EntryRange & { readonly log: number }, { erased: number }>(
  'erase_audit_entries',
)

/**
 * Erases what entries say, and whose card they are about; what commits to it stays.
 * @returns how many.
 */
export const eraseEntries = async (
  connection: Connection,
  log: number,
  range: EntryRange,
): Promise<number> => firstRow(await erase(connection, { ...range, log }))?.erased ?? 0

type SettledErasure = Pick<ErasureRow, 'erasureId' | 'pendingAct'>

const updateSettled = declare<SettledErasure & { readonly erased: number }>('settle_audit_erasure')

/** Says that what an act named is erased. */
export const settleErasure = async (
  connection: Connection,
  { erasureId, pendingAct }: SettledErasure,
  erased: number,
): Promise<void> => {
  await updateSettled(connection, { erasureId, pendingAct, erased })
}

const updateFinished = declare<{ erasureId: string; afterSeconds: number }>('finish_audit_erasure')

/** Finishes an erasure that was asked for so many seconds ago. @returns whether it was. */
export const finishErasure = async (
  connection: Connection,
  erasureId: string,
  afterSeconds: number,
): Promise<boolean> => (await updateFinished(connection, { erasureId, afterSeconds })).length > 0

const updateEnded = declare<{ erasureId: string }>('end_audit_erasure')

/** Ends an erasure, whatever is left of it. */
export const endErasure = async (connection: Connection, erasureId: string): Promise<void> => {
  await updateEnded(connection, { erasureId })
}
