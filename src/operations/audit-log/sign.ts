import { checkpointText } from '../../../packages/audit/checkpoints.ts'
import { composeNote, noteKeyId, signatureTypes } from '../../../packages/audit/notes.ts'
import { consistencyProof } from '../../../packages/audit/tiles.ts'
import type { AuditKey } from '../../hsm/contract/audit.ts'
import { findNewestCheckpoint, insertCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { findAuditLog, setRefusal } from '../../storage/audit-log/log.ts'
import { type AuditLogContext, createTileReader } from './audit-log.ts'
import { type Continuation, examineLog } from './continuation.ts'
import { cosign } from './witnesses.ts'

/** From one checkpoint to the next. */
const leastMs = 1_000
/** How often it is looked at whether the log is still what was signed, where it does not grow. */
const lookMs = 30_000

/** What came of asking for a checkpoint. */
type Signing = 'signed' | 'unchanged' | 'refused'

/**
 * Signs what is committed of the log, where it has grown since the newest checkpoint and that one
 * is a second old. Nothing is signed where the database is not the continuation of what is
 * remembered outside it: then the log says so, and everything else goes on. For one process at a
 * time, by lease; two that sign at once sign the same.
 */
export function createSigner(audit: AuditLogContext): () => Promise<Signing> {
  let [lookedAt, last] = [-Infinity, 'unchanged' as Signing]
  return async () => {
    const sinceLookMs = performance.now() - lookedAt
    // A witness that disputes is not asked all the time.
    if (last === 'refused' && sinceLookMs < leastMs) return last
    const signing = await signNext(audit, sinceLookMs)
    if (signing === null) return 'unchanged'
    ;[lookedAt, last] = [performance.now(), signing]
    return signing
  }
}

/** @returns null where nothing was to be signed or looked at. */
async function signNext(audit: AuditLogContext, sinceLookMs: number): Promise<Signing | null> {
  const { database } = audit
  const log = await findAuditLog(database)
  if (!log) return null
  const { ageMs, size } = (await findNewestCheckpoint(database, log.log)) ?? unsigned
  // A checkpoint of the future is of a clock that was set back since.
  const isOld = ageMs >= leastMs || (ageMs < 0 && sinceLookMs >= leastMs)
  const isDue = isOld && log.size > size
  if (!isDue && sinceLookMs < lookMs) return null
  const found = await examineLog(audit)
  if (!found) return null
  const refusal = isDue && found.refusal === null ? await sign(audit, found) : found.refusal
  audit.found.refusal = refusal
  await setRefusal(database, found.log.log, refusal)
  if (refusal !== null) return 'refused'
  return isDue ? 'signed' : 'unchanged'
}

const unsigned = { ageMs: Infinity, size: 0 }

/** @returns why it must not be published, or null. */
async function sign(
  { database, hsm, outside, withMlDsa, witnesses }: AuditLogContext,
  { log: { log, origin, size }, mayReplace, root }: Continuation,
): Promise<string | null> {
  if (!root) throw new Error('A tree without a root is refused.')
  const checkpoint = { origin, size, root }
  const text = checkpointText(checkpoint)
  const signatures = await hsm.signCheckpoint(checkpoint, { at: new Date(), withMlDsa })
  const note = composeNote(
    text,
    signatures.map(({ key, signature }) => ({
      name: origin,
      id: noteKeyId(origin, selectSignatureType(key), key.publicKey),
      signature,
    })),
  )
  const proofFrom = (oldSize: number) =>
    consistencyProof(oldSize, size, createTileReader(database, log))
  const signed = { origin, size, text, note, proofFrom }
  const cosigned = witnesses ? await cosign(witnesses, signed) : null
  // What a witness disputes is not to be remembered here as the newest.
  const refusal = cosigned?.disputed ?? cosigned?.ahead
  if (refusal) return refusal
  // Before anybody can read it: whatever becomes of the database, this size has this root.
  const isKept = await outside.write(note, (known) => mayReplace(known, checkpoint))
  // This process was held up, and another signed meanwhile: what that one did stands.
  if (!isKept) throw new Error('A newer checkpoint is remembered than the one to be published.')
  const lines = cosigned?.lines ?? []
  await insertCheckpoint(database, log, { ...checkpoint, note: `${note}${lines.join('')}` })
  return null
}

/** Selects the type of a key's signatures (c2sp.org/signed-note). */
export const selectSignatureType = ({ algorithm }: Pick<AuditKey, 'algorithm'>): number =>
  algorithm === 'Ed25519' ? signatureTypes.ed25519 : signatureTypes.mlDsa44

/**
 * Has this machine remember what another has signed, and look whether it goes on from what it
 * remembers: another may sign a database that went back, and have forgotten, or never known, what
 * was signed of it.
 */
export function createFollower(audit: AuditLogContext): () => Promise<void> {
  const { database, outside } = audit
  let [askedAt, lookedAt, seen] = [-Infinity, -Infinity, '']
  return async () => {
    if (performance.now() - askedAt < leastMs) return
    askedAt = performance.now()
    const log = await findAuditLog(database)
    const note = (log && (await findNewestCheckpoint(database, log.log))?.note) ?? ''
    const isSeen = note === seen && audit.found.refusal === null
    if (isSeen && performance.now() - lookedAt < lookMs) return
    const found = await examineLog(audit)
    lookedAt = performance.now()
    // Who signs may remember less than this machine: it is said here, whatever the other one says.
    audit.found.refusal = found?.refusal ?? null
    const newest = found?.newest
    // What contradicts the log stays remembered, and so does what is as new.
    if (newest && found.refusal === null && newest.size > found.rememberedSize) {
      await outside.write(newest.note, (known) => found.mayReplace(known, newest))
    }
    seen = note
  }
}
