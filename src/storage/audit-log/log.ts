import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A log: the last one is current, the others are closed. */
export interface AuditLogRow {
  readonly log: number
  readonly origin: string
  readonly size: number
  /** The newest known checkpoint of the previous log, and why that log could not continue. */
  readonly predecessorCheckpoint: string | null
  readonly reason: string | null
  readonly beganAt: Date
  readonly closedAt: Date | null
  /** Why the log is not signed; null without a reason. */
  readonly refusal: string | null
}

const selectLogs = declare<object, AuditLogRow>('list_audit_logs')

/** Lists all logs, the current one first. */
export const listAuditLogs = (connection: Connection): Promise<AuditLogRow[]> =>
  selectLogs(connection, {})

const selectLog = declare<object, AuditLogRow>('find_audit_log')

/** Returns the current log; null before the first has begun. */
export const findAuditLog = async (connection: Connection): Promise<AuditLogRow | null> =>
  firstRow(await selectLog(connection, {}))

const selectLocked = declare<object, AuditLogRow>('lock_audit_log')

/** Returns the log and locks it until the transaction ends: no other process appends meanwhile. */
export const lockAuditLog = async (connection: Connection): Promise<AuditLogRow | null> =>
  firstRow(await selectLocked(connection, {}))

/** A new log. */
interface NewLog {
  readonly log: number
  readonly origin: string
  readonly predecessorCheckpoint: string | null
  readonly reason: string | null
}

const begin = declare<NewLog, { hasBegun: boolean }>('begin_audit_log')

/**
 * Begins a log, unless another process was first.
 * @returns whether this call began it.
 */
export const beginAuditLog = async (connection: Connection, log: NewLog): Promise<boolean> =>
  firstRow(await begin(connection, log))?.hasBegun ?? false

const countPublished = declare<object, { count: number }>('count_published_creations')
const countUnpublished = declare<object, { count: number }>('count_unpublished_creations')
const countCards = declare<object, { count: number }>('count_cards')

/** Counts the cards whose creation can never be entered, because its event no longer exists. */
export async function countOlderCards(connection: Connection): Promise<number> {
  // In this order: an event that is published, or a card that is created, between two counts makes
  // the difference larger, never smaller.
  let creations = 0
  for (const count of [countPublished, countUnpublished]) {
    creations += firstRow(await count(connection, {}))?.count ?? 0
  }
  const cards = firstRow(await countCards(connection, {}))?.count ?? 0
  return Math.max(0, cards - creations)
}

const close = declare<{ log: number }>('close_audit_log')

export const closeAuditLog = async (connection: Connection, log: number): Promise<void> => {
  await close(connection, { log })
}

const updateRefusal = declare<{ log: number; refusal: string | null }>('set_audit_log_refusal')

/** Records why a log is not signed; null if it is signed again. */
export const setRefusal = async (
  connection: Connection,
  log: number,
  refusal: string | null,
): Promise<void> => {
  await updateRefusal(connection, { log, refusal })
}

/** Hashes of a tree (c2sp.org/tlog-tiles). */
export interface TileRow {
  readonly level: number
  readonly index: number
  readonly hashes: Uint8Array
}

type TileKey = Pick<TileRow, 'index' | 'level'>

const selectTile = declare<TileKey & { readonly log: number }, Pick<TileRow, 'hashes'>>(
  'find_audit_tile',
)

/**
 * Returns all present hashes of a tile, including those beyond the signed size; null if it has
 * none.
 */
export const findTile = async (
  connection: Connection,
  log: number,
  key: TileKey,
): Promise<Uint8Array | null> =>
  firstRow(await selectTile(connection, { ...key, log }))?.hashes ?? null

const selectTiles = declare<
  { log: number; levels: readonly number[]; indexes: readonly number[] },
  TileRow
>('find_audit_tiles')

/** Lists the requested tiles of a log that exist. */
export const listTiles = (
  connection: Connection,
  log: number,
  asked: readonly TileKey[],
): Promise<TileRow[]> =>
  selectTiles(connection, {
    log,
    levels: asked.map(({ level }) => level),
    indexes: asked.map(({ index }) => index),
  })
