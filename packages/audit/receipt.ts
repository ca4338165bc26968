import { AuditFault } from './audit-fault.ts'
import { fromBase64, toBase64 } from './bytes.ts'
import { findMissingCosignatures, witnessesIn } from './cosignatures.ts'
import { openCheckpoint, type SignedCheckpoint, type VerifierKey } from './notes.ts'
import { isCanonical } from './said.ts'
import { computeCommitment, encodeEntry, leafHash, verifyInclusion } from './tree.ts'

/** An entry with a verified proof. */
export interface VerifiedReceipt {
  /** The act: its time, its actor and its subject. */
  readonly entry: Readonly<Record<string, unknown>>
  /** The entry's text, byte for byte. */
  readonly text: string
  readonly index: number
  readonly checkpoint: SignedCheckpoint
}

/** The parts of an unverified receipt (C2SP tlog-proof). */
export interface Receipt {
  readonly index: number
  readonly proof: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
  /** The salt and the text of the entry; null if it was erased. */
  readonly opening: { readonly salt: Uint8Array; readonly text: string } | null
}

/** The proof that an entry is in the log (C2SP tlog-proof). */
interface LogProof {
  /** The application's extra data: the JSON of the entry's salt and text. */
  readonly extra: Uint8Array | null
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

/** Formats a proof as a file: `….tlog-proof`. */
export const proofText = ({ checkpoint, extra, hashes, index }: LogProof): string =>
  [
    'c2sp.org/tlog-proof@v1',
    ...(extra ? [`extra ${toBase64(extra)}`] : []),
    `index ${index}`,
    ...hashes.map(toBase64),
    '',
    checkpoint,
  ].join('\n')

/** @throws AuditFault when it is malformed. */
export function parseReceipt(receipt: string): Receipt {
  const end = receipt.indexOf('\n\n')
  const [title, ...lines] = receipt.slice(0, end).split('\n')
  const extra = lines[0]?.startsWith('extra ') ? lines.shift()?.slice(6) : undefined
  const index = /^index (0|[1-9][0-9]{0,15})$/.exec(lines.shift() ?? '')?.[1]
  if (end < 0 || title !== 'c2sp.org/tlog-proof@v1' || index === undefined || lines.length > 63) {
    throw new AuditFault('malformed', 'it is not a receipt (c2sp.org/tlog-proof@v1)')
  }
  return {
    index: Number(index),
    proof: lines.map(fromBase64),
    checkpoint: receipt.slice(end + 2),
    opening: extra === undefined ? null : parseOpening(fromBase64(extra)),
  }
}

function parseOpening(bytes: Uint8Array): Receipt['opening'] {
  try {
    const { salt, text } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof salt === 'string' && typeof text === 'string')
      return { salt: fromBase64(salt), text }
  } catch {
    // It is refused below.
  }
  throw new AuditFault('malformed', 'its extra data is not a salt and a text')
}

/**
 * Verifies a receipt without the service: the log signed, with one of these keys, a tree that
 * contains the entry.
 * @param keys of the log and, if cosignatures are required, of witnesses; not from the sender of
 *   the receipt
 * @param entryId the requested entry: the receipt of another one proves nothing about it
 * @param quorum the required number of witnesses among those with a given key; all of them unless
 *   set
 * @throws AuditFault
 */
export async function verifyReceipt(
  receipt: string,
  keys: readonly VerifierKey[],
  entryId?: string,
  quorum?: number,
): Promise<VerifiedReceipt> {
  const { checkpoint: note, index, opening, proof } = parseReceipt(receipt)
  const checkpoint = await openCheckpoint(note, keys)
  const missing = findMissingCosignatures(checkpoint, witnessesIn(keys), quorum)
  if (missing && !missing.isEnough) throw new AuditFault('unverified', missing.detail)
  if (!opening) throw new AuditFault('erased', 'it has no text: the entry was erased')
  const { salt, text } = opening
  if (!isCanonical(text)) {
    throw new AuditFault('malformed', 'its text does not have the form of an entry')
  }
  const leaf = leafHash(encodeEntry(computeCommitment(salt, text)))
  const { root, size } = checkpoint
  if (!verifyInclusion({ index, size, root, leafHash: leaf, proof })) {
    throw new AuditFault('not_included', 'the entry is not in the signed tree')
  }
  const entry: VerifiedReceipt['entry'] = JSON.parse(text)
  if (entryId !== undefined && entry.entry !== entryId) {
    throw new AuditFault('not_included', 'it is the receipt of another entry')
  }
  return { entry, text, index, checkpoint }
}
