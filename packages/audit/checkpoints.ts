/** The signed texts of an audit log: C2SP tlog-checkpoint and tlog-cosignature. */
import { AuditFault } from './audit-fault.ts'
import { concat, eightBytes, fromBase64, toBase64, utf8 } from './bytes.ts'
import { hashBytes } from './tree.ts'

/** The signed content: the number of entries and the root. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** Composes the text of a checkpoint. */
export const checkpointText = ({ origin, root, size }: Checkpoint): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`

/** Parses the text of a checkpoint, without its signatures. @throws AuditFault `malformed` */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...more] = text.split('\n')
  const isWhole = more.at(-1) === '' && !more.slice(0, -1).includes('')
  const isSize = /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size))
  if (origin === '' || !isSize || !isWhole) {
    throw new AuditFault('malformed', 'a checkpoint has an origin, a size and a root')
  }
  const bytes = fromBase64(root)
  if (bytes.length !== hashBytes) throw new AuditFault('malformed', 'a root is 32 bytes')
  return { origin, size: Number(size), root: bytes }
}

/** Composes the message of an Ed25519 cosignature. @param timestamp seconds since 1970 */
export const cosignatureMessage = (checkpoint: string, timestamp: number): Uint8Array =>
  utf8(`cosignature/v1\ntime ${timestamp}\n${checkpoint}`)

/**
 * Composes the message of an ML-DSA-44 signature by a log or a cosigner: the whole tree as a
 * subtree.
 * @param timestamp seconds since 1970
 */
export function mlDsaMessage(
  name: string,
  { origin, root, size }: Checkpoint,
  timestamp: number,
): Uint8Array {
  return concat([
    utf8('subtree/v1\n\0'),
    shortText(name),
    eightBytes(timestamp),
    shortText(origin),
    eightBytes(0),
    eightBytes(size),
    root,
  ])
}

/** Encodes a text after its length in one byte. */
function shortText(text: string): Uint8Array {
  const bytes = utf8(text)
  return concat([Uint8Array.of(bytes.length), bytes])
}
