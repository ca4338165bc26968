import { parseCheckpoint } from '../../packages/audit/checkpoints.ts'
import { parseNote } from '../../packages/audit/notes.ts'
import { parseReceipt } from '../../packages/audit/receipt.ts'
import type { AuditEntry } from '../domain/audit-entry.ts'

/** A signature as its line states it: nothing here is verified. */
interface StatedSignature {
  readonly name: string
  /** Null in a signature without a time. */
  readonly at: string | null
}

/** The path of a proof, from an entry to the signatures. */
interface DescribedReceipt {
  /** Null after the erasure of the entry. */
  readonly entry: AuditEntry | null
  readonly index: number
  readonly origin: string
  /** The number of entries under the checkpoint. */
  readonly size: number
  /** When the log signed, if one of its signatures has a time. */
  readonly signedAt: string | null
  readonly witnesses: readonly StatedSignature[]
}

/**
 * Describes a receipt of this log for people, without verification.
 * @throws AuditFault when it is malformed.
 */
export function describeReceipt(text: string): DescribedReceipt {
  const { checkpoint, index, opening } = parseReceipt(text)
  const note = parseNote(checkpoint)
  const { origin, size } = parseCheckpoint(note.text)
  const signatures = note.signatures.map(({ name, signature }) => ({
    name,
    at: readTime(signature),
  }))
  const own = signatures.filter(({ name }) => name === origin)
  return {
    entry: opening && (JSON.parse(opening.text) as AuditEntry),
    index,
    origin,
    size,
    signedAt: own.find(({ at }) => at !== null)?.at ?? null,
    witnesses: signatures.filter(({ name }) => name !== origin),
  }
}

const timeLength = 8
/** The lengths of signatures with a time: Ed25519 and ML-DSA-44 (c2sp.org/tlog-cosignature). */
const timedLengths = [timeLength + 64, timeLength + 2_420]

function readTime(signature: Uint8Array): string | null {
  if (!timedLengths.includes(signature.length)) return null
  const seconds = Number(Buffer.from(signature).readBigUInt64BE(0))
  const at = new Date(seconds * 1_000)
  return seconds > 0 && !Number.isNaN(at.getTime()) ? at.toISOString() : null
}
