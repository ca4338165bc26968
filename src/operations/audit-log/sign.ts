import { checkpointText } from '../../../packages/audit/checkpoints.ts'
import { composeNote, noteKeyId, signatureTypes } from '../../../packages/audit/notes.ts'
import { consistencyProof } from '../../../packages/audit/tiles.ts'
import type { AuditKey } from '../../hsm/contract/audit.ts'
import { findNewestCheckpoint, insertCheckpoint } from '../../storage/audit-log/checkpoints.ts'
import { findAuditLog, setRefusal } from '../../storage/audit-log/log.ts'
import { type AuditLogContext, createTileReader } from './audit-log.ts'
import { type Continuation, examineLog } from './continuation.ts'
import { cosign } from './witnesses.ts'

/** The minimum time between two checkpoints. */
const leastMs = 1_000
/** How often a log that does not grow is compared with its signed checkpoint. */
const lookMs = 30_000

/** The result of a signing attempt. */
type Signing = 'signed' | 'unchanged' | 'refused'

/**
 * Signs the committed entries if the log has grown since the newest checkpoint, and that one is at
 * least a second old. If the database does not continue the checkpoint that is remembered outside
 * it, nothing is signed: the log records the reason, and the service continues. One process does
 * this, by lease; two concurrent signers sign the same.
 */
export function createSigner(audit: AuditLogContext): () => Promise<Signing> {
  let lookedAt = -Infinity
  let last: Signing = 'unchanged'
  return async () => {
    const sinceLookMs = performance.now() - lookedAt
    // A witness that disputes is not asked repeatedly.
    if (last === 'refused' && sinceLookMs < leastMs) return last
    const signing = await signNext(audit, sinceLookMs)
    if (signing === null) return 'unchanged'
    lookedAt = performance.now()
    last = signing
    return signing
  }
}

/** @returns null if there was nothing to sign or compare. */
async function signNext(audit: AuditLogContext, sinceLookMs: number): Promise<Signing | null> {
  const { database } = audit
  const log = await findAuditLog(database)
  if (!log) return null
  const { ageMs, size } = (await findNewestCheckpoint(database, log.log)) ?? unsigned
  // A checkpoint in the future comes from a clock that has been set back.
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

/** @returns why the checkpoint must not be published, or null. */
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
  // A disputed checkpoint must not be remembered here as the newest.
  const refusal = cosigned?.disputed ?? cosigned?.ahead
  if (refusal) return refusal
  // Before the checkpoint is public: this size then has this root, even if the database is lost.
  const isKept = await outside.write(note, (known) => mayReplace(known, checkpoint))
  // Another process signed meanwhile, and its checkpoint stays.
  if (!isKept) throw new Error('A newer checkpoint is remembered than the one to be published.')
  const lines = cosigned?.lines ?? []
  await insertCheckpoint(database, log, { ...checkpoint, note: `${note}${lines.join('')}` })
  return null
}

/** Selects the type of a key's signatures (c2sp.org/signed-note). */
export const selectSignatureType = ({ algorithm }: Pick<AuditKey, 'algorithm'>): number =>
  algorithm === 'Ed25519' ? signatureTypes.ed25519 : signatureTypes.mlDsa44

/**
 * Creates a function by which this machine remembers the checkpoints of other signers and compares
 * them with its own: another machine may sign a restored database without knowing the lost
 * checkpoints.
 */
export function createFollower(audit: AuditLogContext): () => Promise<void> {
  const { database, outside } = audit
  let askedAt = -Infinity
  let lookedAt = -Infinity
  let seen = ''
  return async () => {
    if (performance.now() - askedAt < leastMs) return
    askedAt = performance.now()
    const log = await findAuditLog(database)
    const note = (log && (await findNewestCheckpoint(database, log.log))?.note) ?? ''
    const isSeen = note === seen && audit.found.refusal === null
    if (isSeen && performance.now() - lookedAt < lookMs) return
    const found = await examineLog(audit)
    lookedAt = performance.now()
    // The signer may remember less than this machine, so this machine's finding counts here.
    audit.found.refusal = found?.refusal ?? null
    const newest = found?.newest
    // A contradiction stays remembered, and so does a checkpoint that is as new.
    if (newest && found.refusal === null && newest.size > found.rememberedSize) {
      await outside.write(newest.note, (known) => found.mayReplace(known, newest))
    }
    seen = note
  }
}
