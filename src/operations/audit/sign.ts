import {
  type Checkpoint,
  checkpointText,
  noteKeyId,
  noteOf,
  parseCheckpoint,
  parseNote,
  signatureTypes,
} from '../../domain/audit-notes.ts'
import { consistencyProof, rootOf, type TileReader } from '../../domain/audit-tree.ts'
import type { AuditKey } from '../../hsm/contract/audit.ts'
import {
  type CheckpointRow,
  findNewestCheckpoint,
  insertCheckpoint,
} from '../../storage/audit/checkpoints.ts'
import { type AuditLogRow, listAuditLogs, setRefusal } from '../../storage/audit/log.ts'
import { type AuditLogOperations, tilesOf } from './audit-log.ts'
import { cosign } from './witnesses.ts'

/** From one checkpoint to the next. */
const leastMs = 1_000
/** How often it is looked at whether the log is still what was signed, where it does not grow. */
const lookMs = 30_000

/** What came of asking for a checkpoint. */
type Signing = 'signed' | 'unchanged' | 'refused'

/**
 * Signs what is committed of the log, where it has grown since the newest checkpoint and that one is a second old.
 * Nothing is signed where the database is not the continuation of what is remembered outside it: then the log says so,
 * and everything else goes on. For one process at a time, by lease; two that sign at once sign the same.
 */
export function createSigner(audit: AuditLogOperations): () => Promise<Signing> {
  const { database } = audit
  let lookedAt = -Infinity
  return async () => {
    const [log] = await listAuditLogs(database)
    if (!log) return 'unchanged'
    const isDue = isCheckpointDue(log, await findNewestCheckpoint(database, log.log))
    if (!isDue && performance.now() - lookedAt < lookMs) {
      return log.refusal === null ? 'unchanged' : 'refused'
    }
    const refusal = await findRefusal(audit)
    lookedAt = performance.now()
    const refused = refusal ?? (isDue ? await sign(audit, log) : null)
    await setRefusal(database, log.log, refused)
    if (refused !== null) return 'refused'
    return isDue ? 'signed' : 'unchanged'
  }
}

function isCheckpointDue({ size }: AuditLogRow, newest: CheckpointRow | null): boolean {
  if (!newest) return size > 0
  const ageMs = Date.now() - newest.signedAt.getTime()
  // One of the future is of a clock that was set back since.
  return size > newest.size && (ageMs >= leastMs || ageMs < 0)
}

/** @returns why it must not be published, or null. */
async function sign(
  { database, hsm, outside, withMlDsa, witnesses }: AuditLogOperations,
  { log, origin, size }: AuditLogRow,
): Promise<string | null> {
  const tiles = tilesOf(database, log)
  const checkpoint = { origin, size, root: await rootOf(size, tiles) }
  const text = checkpointText(checkpoint)
  const signatures = await hsm.signCheckpoint(checkpoint, { at: new Date(), withMlDsa })
  const note = noteOf(
    text,
    signatures.map(({ key, signature }) => ({
      name: origin,
      id: noteKeyId(origin, typeOf(key), key.publicKey),
      signature,
    })),
  )
  // Before anybody can see it: whatever becomes of the database, this size has this root.
  await outside.write(note)
  const proofFrom = (oldSize: number) => consistencyProof(oldSize, size, tiles)
  const signed = { origin, size, text, note, proofFrom }
  const cosigned = witnesses ? await cosign(witnesses, signed) : null
  if (cosigned?.ahead) {
    const { witness, size: theirs } = cosigned.ahead
    return `The witness ${witness} has cosigned a tree of ${theirs} entries, which this database does not have.`
  }
  const lines = cosigned?.lines ?? []
  await insertCheckpoint(database, log, { ...checkpoint, note: `${note}${lines.join('')}` })
  return null
}

/** Of what type the signatures of a key are (c2sp.org/signed-note). */
export const typeOf = ({ algorithm }: Pick<AuditKey, 'algorithm'>): number =>
  algorithm === 'Ed25519' ? signatureTypes.ed25519 : signatureTypes.mlDsa44

/**
 * Why the log must not be signed, or null: it is not what is remembered of it, by this machine or by a witness, or not
 * what it was signed as before.
 */
export async function findRefusal(
  audit: Pick<AuditLogOperations, 'database' | 'outside' | 'witnesses'>,
): Promise<string | null> {
  const { database, outside, witnesses } = audit
  const logs = await listAuditLogs(database)
  const [log] = logs
  if (!log) return null
  const tiles = tilesOf(database, log.log)
  const newest = await findNewestCheckpoint(database, log.log)
  const note = await outside.read()
  const remembered = note === null ? null : parseCheckpoint(parseNote(note).text)
  return (
    (newest && (await contradiction(log, tiles, { ...newest, origin: log.origin }))) ??
    (remembered && (await rememberedContradiction(logs, tiles, remembered))) ??
    (newest && witnesses && (await witnessContradiction(witnesses, log, newest))) ??
    null
  )
}

function rememberedContradiction(
  [log, ...former]: readonly AuditLogRow[],
  tiles: TileReader,
  remembered: Checkpoint,
): Promise<string | null> | string | null {
  if (!log) return null
  if (remembered.origin === log.origin) return contradiction(log, tiles, remembered)
  // A log that has a successor was given up at a checkpoint: what is remembered must not be behind that one.
  const at = former.findIndex(({ origin }) => origin === remembered.origin)
  const given = [log, ...former][at]?.predecessorCheckpoint
  const isGivenUp = given && parseCheckpoint(parseNote(given).text).size >= remembered.size
  if (at >= 0 && isGivenUp) return null
  return `The log ${remembered.origin} is remembered, with ${remembered.size} entries, and this database does not continue it.`
}

async function contradiction(
  { origin, size }: AuditLogRow,
  tiles: TileReader,
  known: Checkpoint,
): Promise<string | null> {
  if (known.size > size) {
    return `The log ${origin} was signed with ${known.size} entries, and this database has ${size}.`
  }
  // One that a tile is missing of has another root, too.
  const root = await rootOf(known.size, tiles).catch((error: unknown) => {
    if (error instanceof RangeError) return null
    throw error
  })
  if (root && Buffer.compare(root, known.root) === 0) return null
  return `The first ${known.size} entries of the log ${origin} are not those that were signed.`
}

/** Witnesses are asked once by each process, with what was signed long ago: before it signs anything itself. */
async function witnessContradiction(
  witnesses: NonNullable<AuditLogOperations['witnesses']>,
  { origin, size }: AuditLogRow,
  { note, size: signedSize }: CheckpointRow,
): Promise<string | null> {
  const places = witnesses.policy.witnesses.map(({ name }) => `${origin} ${name}`)
  const isKnown = places.some((place) => witnesses.sizes.has(place))
  if (!isKnown) {
    // What it knows is its answer; where it knows nothing yet, it may as well have this one.
    const proofFrom = () => Promise.reject(new Error('Only its size is asked for.'))
    const { text } = parseNote(note)
    await cosign(witnesses, { origin, size: signedSize, text, note, proofFrom })
  }
  const largest = Math.max(0, ...places.map((place) => witnesses.sizes.get(place) ?? 0))
  return largest > size
    ? `A witness has cosigned a tree of ${largest} entries, which this database does not have.`
    : null
}
