import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The entries that an erasure covers: those of a card, of a client's acts, or old ones. */
type ErasureKind = 'card' | 'client' | 'age'

/** An erasure with its progress. */
export interface ErasureRow {
  readonly erasureId: string
  readonly kind: ErasureKind
  /** The card's token or the client; null for old entries, and after its end. */
  readonly subject: string | null
  readonly reason: string
  readonly requestedAt: Date
  /** Null for the automatic erasure of old entries. */
  readonly requestedBy: string | null
  /** Null if no approval was needed. */
  readonly approvedBy: string | null
  /** The act that records the request; null before it is recorded. */
  readonly requestAct: string | null
  /** The entry from which it continues. */
  readonly log: number
  readonly nextIndex: number
  /** The act that names the next entries to erase, after a checkpoint covers it; otherwise null. */
  readonly pendingAct: string | null
  readonly pendingLog: number | null
  readonly pendingFrom: readonly number[]
  readonly pendingTo: readonly number[]
  /** The number of erased entries so far. */
  readonly erased: number
  readonly finishedAt: Date | null
}

/** A range of entries, both ends inclusive. */
interface EntryRange {
  readonly from: number
  readonly to: number
}

type NewErasure = Pick<ErasureRow, 'kind' | 'subject' | 'reason' | 'requestedBy' | 'approvedBy'>

const insert = declare<NewErasure, ErasureRow>('insert_audit_erasure')

/**
 * Starts an erasure.
 * @returns the erasure; null if one of old entries is already running.
 */
export const insertErasure = async (
  connection: Connection,
  erasure: NewErasure,
): Promise<ErasureRow | null> => firstRow(await insert(connection, erasure))

const updateRequestAct = declare<{ erasureId: string; actId: string }>('set_audit_erasure_request')

/** Stores the act that records the request of an erasure. */
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

/** Lists the existing erasures among these ids. */
export const listErasures = (
  connection: Connection,
  erasureIds: readonly string[],
): Promise<ErasureRow[]> => selectErasures(connection, { erasureIds })

const selectUnfinished = declare<{ limit: number }, ErasureRow>('list_unfinished_audit_erasures')

/** Lists the unfinished erasures, oldest first. */
export const listUnfinishedErasures = (
  connection: Connection,
  limit: number,
): Promise<ErasureRow[]> => selectUnfinished(connection, { limit })

const selectLocked = declare<{ erasureId: string }, ErasureRow>('lock_audit_erasure')

/**
 * Returns an erasure, locked until the transaction ends; null if another process runs it, or it is
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

/** Returns the first entry of a range that is younger than a number of days; null if none is. */
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
  /** The clients and people whose acts stay. */
  readonly parties: readonly string[]
  readonly limit: number
}

const selectRanges = declare<
  WantedEntries & KeptEntries & { readonly from: number; readonly end: number },
  EntryRange
>('find_audit_entries_to_erase')

/**
 * Lists the ranges of entries to erase, in order, without the acts of some groups and of some
 * clients and people.
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
 * Sets the position of an erasure, with the act that names the entries to erase before it, if there
 * are any.
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
 * Erases the texts and the cards of entries; their commitments stay.
 * @returns their number.
 */
export const eraseEntries = async (
  connection: Connection,
  log: number,
  range: EntryRange,
): Promise<number> => firstRow(await erase(connection, { ...range, log }))?.erased ?? 0

type SettledErasure = Pick<ErasureRow, 'erasureId' | 'pendingAct'>

const updateSettled = declare<SettledErasure & { readonly erased: number }>('settle_audit_erasure')

/** Records that the entries in an act are erased. */
export const settleErasure = async (
  connection: Connection,
  { erasureId, pendingAct }: SettledErasure,
  erased: number,
): Promise<void> => {
  await updateSettled(connection, { erasureId, pendingAct, erased })
}

const updateFinished = declare<{ erasureId: string; afterSeconds: number }>('finish_audit_erasure')

/**
 * Finishes an erasure that was requested at least a number of seconds ago.
 * @returns whether it was finished.
 */
export const finishErasure = async (
  connection: Connection,
  erasureId: string,
  afterSeconds: number,
): Promise<boolean> => (await updateFinished(connection, { erasureId, afterSeconds })).length > 0

const updateEnded = declare<{ erasureId: string }>('end_audit_erasure')

/** Ends an erasure without erasing the rest. */
export const endErasure = async (connection: Connection, erasureId: string): Promise<void> => {
  await updateEnded(connection, { erasureId })
}
