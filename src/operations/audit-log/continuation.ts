import { type Checkpoint, parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import { parseNote } from '../../../packages/audit/notes.ts'
import { readRoot, type TileReader } from '../../../packages/audit/tiles.ts'
import { emptyRoot } from '../../../packages/audit/tree.ts'
import { type CheckpointRow, findNewestCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { type AuditLogRow, listAuditLogs } from '../../storage/audit-log/log.ts'
import { type AuditLogContext, createTileReader } from './audit-log.ts'
import { cosign, type Witnesses } from './witnesses.ts'

/** The current log in the database, compared with its signed checkpoints. */
export interface Continuation {
  readonly log: AuditLogRow
  /** The root of all its entries; null if a tile is missing. */
  readonly root: Uint8Array | null
  readonly newest: CheckpointRow | null
  /** The signed size of this log that this machine remembers. */
  readonly rememberedSize: number
  /**
   * Whether a checkpoint of this log can replace the remembered one: never by a smaller, different
   * or earlier tree.
   */
  mayReplace(remembered: string, next: Pick<Checkpoint, 'size' | 'root'>): boolean
  /** Why the log must not be signed; null if nothing contradicts it. */
  readonly refusal: string | null
}

/**
 * Checks whether the log continues what was signed before, as the database, this machine and the
 * witnesses remember it. One transaction reads the log, so that all reads go to the same server.
 * Null before a log has begun.
 */
export async function examineLog({
  database,
  outside,
  witnesses,
}: Pick<AuditLogContext, 'database' | 'outside' | 'witnesses'>): Promise<Continuation | null> {
  const note = await outside.read()
  const remembered = note === null ? null : findSignedCheckpoint(note)
  const found = await database.transaction(async (connection): Promise<Continuation | null> => {
    const logs = await listAuditLogs(connection)
    const [log] = logs
    if (!log) return null
    const newest = await findNewestCheckpoint(connection, log.log)
    const tiles = createTileReader(connection, log.log)
    const root = log.size === 0 ? emptyRoot : await rootIn(tiles, log.size)
    let refusal =
      note !== null && !remembered
        ? 'The file of the newest checkpoint of the audit log has no checkpoint: restore or ' +
          'remove it.'
        : await contradiction(logs, tiles, remembered)
    refusal ??= await contradiction(logs, tiles, newest && { ...newest, origin: log.origin })
    refusal ??= root ? null : `Tiles of the log ${log.origin} are missing.`
    const rememberedSize = remembered?.origin === log.origin ? remembered.size : 0
    const mayReplace: Continuation['mayReplace'] = (known, next) => {
      const checkpoint = findSignedCheckpoint(known)
      if (!checkpoint) return false
      if (checkpoint.origin !== log.origin) return isFormer(logs, checkpoint.origin)
      const isSame = Buffer.compare(checkpoint.root, next.root) === 0
      return checkpoint.size < next.size || (checkpoint.size === next.size && isSame)
    }
    return { log, root, newest, rememberedSize, mayReplace, refusal }
  })
  if (!found || found.refusal !== null || !witnesses) return found
  return { ...found, refusal: await witnessRefusal(witnesses, found) }
}

/** Returns the checkpoint that a note signs; null if it signs none. */
export function findSignedCheckpoint(note: string): Checkpoint | null {
  try {
    return parseCheckpoint(parseNote(note).text)
  } catch {
    return null
  }
}

const isFormer = (logs: readonly AuditLogRow[], origin: string): boolean =>
  logs.some((log) => {
    const { predecessorCheckpoint: note } = log
    return log.origin === origin || (note && findSignedCheckpoint(note)?.origin) === origin
  })

async function contradiction(
  logs: readonly AuditLogRow[],
  tiles: TileReader,
  known: Checkpoint | null,
): Promise<string | null> {
  const [log] = logs
  if (!log || !known) return null
  const { origin, size } = log
  // The checkpoint of a replaced log was handled when its successor began, even if that one was
  // lost.
  if (known.origin !== origin && isFormer(logs, known.origin)) return null
  if (known.origin !== origin) {
    return `The log ${known.origin} was signed with ${known.size} entries; this database lacks it.`
  }
  if (known.size > size) {
    return `The log ${origin} was signed with ${known.size} entries, but this database has ${size}.`
  }
  const root = await rootIn(tiles, known.size)
  if (root && Buffer.compare(root, known.root) === 0) return null
  return `The first ${known.size} entries of the log ${origin} differ from the signed ones.`
}

/** Computes the root of the tree; null if a tile is missing. */
const rootIn = (tiles: TileReader, size: number): Promise<Uint8Array | null> =>
  readRoot(size, tiles).catch((error: unknown) => {
    if (error instanceof RangeError) return null
    throw error
  })

/**
 * Returns why the log must not be signed, according to the witnesses' cosignatures, or null. Each
 * process asks them once about the last signed checkpoint; later they see each new checkpoint.
 */
async function witnessRefusal(
  witnesses: Witnesses,
  { log: { origin, size }, newest }: Continuation,
): Promise<string | null> {
  const places = witnesses.policy.witnesses.map(({ name }) => `${origin} ${name}`)
  const isAsked = places.some((place) => witnesses.sizes.has(place))
  if (newest && !isAsked) {
    // A witness that knows another size states it in its answer, which is sufficient here.
    const proofFrom = async (oldSize: number) => {
      if (oldSize === newest.size) return []
      throw new Error('Only its size is asked for.')
    }
    const { text } = parseNote(newest.note)
    const asked = await cosign(witnesses, { origin, ...newest, text, proofFrom })
    if (asked.disputed !== null) return asked.disputed
  }
  const largest = Math.max(0, ...places.map((place) => witnesses.sizes.get(place) ?? 0))
  if (largest <= size) return null
  return (
    `A witness has cosigned the log ${origin} with ${largest} entries, but this database has ` +
    `${size}.`
  )
}
