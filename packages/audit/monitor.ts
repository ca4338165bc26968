import { AuditFault } from './audit-fault.ts'
import { readTile } from './bundle.ts'
import { concat, isSame } from './bytes.ts'
import { findMissingCosignatures, witnessesIn } from './cosignatures.ts'
import type { Finding, FindingCode } from './findings.ts'
import { openCheckpoint, type SignedCheckpoint, type VerifierKey } from './notes.ts'
import type { ReadFile } from './openings.ts'
import { consistencyProof, tileWidth } from './tiles.ts'
import { verifyConsistency } from './tree.ts'

/** The result of checking a published log. */
export interface Growth {
  /** The newest signed checkpoint: to be stored when there is no finding. */
  readonly note: string
  readonly checkpoint: SignedCheckpoint
  readonly findings: readonly Finding[]
}

/**
 * Checks that a published log's tree extends an older checkpoint: nothing was changed, removed or
 * lost since.
 * @param read reads below the log's URL
 * @param remembered the note of the previous check; null at the first
 * @param quorum the required number of witnesses among those with a given key; all of them unless
 *   set
 * @throws AuditFault when the checkpoint is not the log's, or its proof cannot be read;
 *   `another_log` when it is a successor's; `memory_lost` when the note is not the log's, so that
 *   nothing can be checked
 */
export async function checkGrowth(
  read: ReadFile,
  keys: readonly VerifierKey[],
  remembered: string | null,
  quorum?: number,
): Promise<Growth> {
  const bytes = await read('checkpoint')
  if (!bytes)
    throw new AuditFault(
      'unreachable',
      'no audit log is at this address, or it has no checkpoint yet',
    )
  const note = new TextDecoder().decode(bytes)
  const checkpoint = await openCheckpoint(note, keys)
  const older = remembered === null ? null : await openRemembered(remembered, keys)
  const findings: Finding[] = []
  const { origin, root, size } = checkpoint
  const report = (code: FindingCode, where: string, detail: string): void => {
    findings.push({ code, origin, where, detail })
  }
  const missing = findMissingCosignatures(checkpoint, witnessesIn(keys), quorum)
  if (missing && !missing.isEnough) report('cosignature_missing', 'checkpoint', missing.detail)
  if (older && older.origin !== origin) {
    throw new AuditFault('another_log', `${origin} has replaced ${older.origin}`)
  }
  if (older && older.size > size) {
    report('rolled_back', 'checkpoint', `${older.size} entries were signed, and ${size} exist`)
  } else if (older?.size === size) {
    if (!isSame(older.root, root)) {
      report('two_roots', 'checkpoint', `another tree of ${size} entries was signed`)
    }
  } else if (older && older.size > 0) {
    const proof = await consistencyProof(older.size, size, async (level, index) => {
      const width = Math.min(tileWidth, Math.floor(size / tileWidth ** level) - index * tileWidth)
      const hashes = await readTile({ read, report }, level, index, width)
      if (!hashes) throw new AuditFault('unreachable', 'a tile of the signed tree is missing')
      return concat(hashes)
    })
    const claim = { oldSize: older.size, size, oldRoot: older.root, root, proof }
    if (!verifyConsistency(claim)) {
      report('two_roots', 'checkpoint', `its tree does not extend that of ${older.size} entries`)
    }
  }
  return { note, checkpoint, findings }
}

const openRemembered = (note: string, keys: readonly VerifierKey[]): Promise<SignedCheckpoint> =>
  openCheckpoint(note, keys).catch((cause) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new AuditFault('memory_lost', `the remembered checkpoint: ${why}`, { cause })
  })
