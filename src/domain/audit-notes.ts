/**
 * The texts of the audit log that are signed: C2SP signed-note, tlog-checkpoint, tlog-cosignature and tlog-proof.
 * What is signed is made and read here; private keys are elsewhere.
 */
import { createPublicKey, hash, verify } from 'node:crypto'

/** Of what type a signature of a note is (C2SP signed-note, Signature types). */
export const signatureTypes = { ed25519: 1, cosignature: 4, mlDsa44: 6 } as const

/** A public key as it is handed to who verifies. */
export interface VerifierKey {
  readonly name: string
  /** Four bytes, in hexadecimal. */
  readonly id: string
  readonly type: number
  readonly publicKey: Uint8Array
}

/** One line of signature; `signature` is what stands behind the key's id. */
interface NoteSignature {
  readonly name: string
  readonly id: string
  readonly signature: Uint8Array
}

/** A checkpoint's text in its parts. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

/** A text that is not what it must be, or is not signed by whom it must be. */
export class NoteRefusal extends Error {
  readonly reason: 'malformed' | 'invalid signature' | 'unverified'

  constructor(reason: NoteRefusal['reason'], detail: string) {
    super(detail)
    this.reason = reason
  }
}

const malformed = (detail: string): NoteRefusal => new NoteRefusal('malformed', detail)

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** @throws NoteRefusal unless it is the one way to write these bytes. */
function fromBase64(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw malformed('base64 is not as RFC 4648 writes it')
  return new Uint8Array(bytes)
}

const isKeyName = (name: string): boolean => name !== '' && !/[\s+]/u.test(name)

/** The id of a key: four bytes in hexadecimal, of its name, type and public key. */
export const noteKeyId = (name: string, type: number, publicKey: Uint8Array): string =>
  hash(
    'sha256',
    Buffer.concat([Buffer.from(`${name}\n`), Uint8Array.of(type), publicKey]),
    'hex',
  ).slice(0, 8)

/** A verifier key as text: `example.com/log+530d903a+AekyeR…` (C2SP signed-note, Verifier keys). */
export const verifierKeyText = (name: string, type: number, publicKey: Uint8Array): string =>
  [name, noteKeyId(name, type, publicKey), toBase64(Uint8Array.of(type, ...publicKey))].join('+')

const keyLengths: Readonly<Record<number, number>> = { 1: 32, 4: 32, 6: 1312 }

/** @throws NoteRefusal where it is none, or of a type that is not known here. */
export function parseVerifierKey(text: string): VerifierKey {
  const [name = '', id = '', ...rest] = text.split('+')
  const [type = 0, ...key] = fromBase64(rest.join('+'))
  const publicKey = Uint8Array.from(key)
  if (!isKeyName(name) || keyLengths[type] !== publicKey.length) {
    throw malformed(`no verifier key of a type that is known: ${text.slice(0, 80)}`)
  }
  if (noteKeyId(name, type, publicKey) !== id) throw malformed(`${name}: the key's id is another`)
  return { name, id, type, publicKey }
}

/** A line of signature, with its newline. @param signature what stands behind the key's id */
export const signatureLine = ({ name, id, signature }: NoteSignature): string =>
  `— ${name} ${toBase64(Buffer.concat([Buffer.from(id, 'hex'), signature]))}\n`

/** A note: the text, which ends in a newline, and its signatures. */
export const noteOf = (text: string, signatures: readonly NoteSignature[]): string =>
  `${text}\n${signatures.map(signatureLine).join('')}`

/** Above what the standard asks to be accepted, and what one process reads of another at most. */
const maxSignatures = 100

/**
 * Takes a note apart, and verifies nothing.
 * @throws NoteRefusal where it is malformed
 */
export function parseNote(note: string): {
  readonly text: string
  readonly signatures: readonly NoteSignature[]
} {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note must have none
  if (!note.isWellFormed() || /[\u0000-\u0009\u000b-\u001f]/.test(note)) {
    throw malformed('a note is UTF-8 without control characters')
  }
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw malformed('a note ends in lines of signature')
  const lines = note
    .slice(end + 2)
    .split('\n')
    .slice(0, -1)
  if (lines.length === 0 || lines.length > maxSignatures) {
    throw malformed(`a note has 1 to ${maxSignatures} signatures`)
  }
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) }
}

function parseSignature(line: string): NoteSignature {
  const [dash, name = '', base64 = '', ...rest] = line.split(' ')
  const bytes = fromBase64(base64)
  if (dash !== '—' || !isKeyName(name) || rest.length > 0 || bytes.length < 5) {
    throw malformed('a line of signature is a dash, a name and base64')
  }
  return {
    name,
    id: Buffer.from(bytes.subarray(0, 4)).toString('hex'),
    signature: bytes.subarray(4),
  }
}

/** A signature that was verified, by one of the keys that were given. */
interface VerifiedSignature {
  readonly key: VerifierKey
  /** Seconds since 1970 of a cosignature; null where the type has no time. */
  readonly timestamp: number | null
}

/**
 * Verifies every signature of a note by a key that is given; others are passed over.
 * @throws NoteRefusal where the note is malformed, one by a given key is wrong, or there is none by any
 */
export function openNote(
  note: string,
  keys: readonly VerifierKey[],
): { readonly text: string; readonly verified: readonly VerifiedSignature[] } {
  const { text, signatures } = parseNote(note)
  const verified = signatures.flatMap((each) => {
    const key = keys.find(({ name, id }) => name === each.name && id === each.id)
    return key ? [verifySignature(key, text, each.signature)] : []
  })
  if (verified.length === 0) throw new NoteRefusal('unverified', 'no signature by a known key')
  return { text, verified }
}

function verifySignature(key: VerifierKey, text: string, bytes: Uint8Array): VerifiedSignature {
  const isTimed = key.type !== signatureTypes.ed25519
  const timestamp =
    isTimed && bytes.length > 8 ? Number(Buffer.from(bytes).readBigUInt64BE()) : null
  const signature = isTimed ? bytes.subarray(8) : bytes
  const message = timestamp === null ? Buffer.from(text) : timedMessage(key, text, timestamp)
  const [algorithm, der] = subjectPublicKeyInfo(key)
  const isValid =
    isTimed === (timestamp !== null) &&
    verify(null, message, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature)
  if (!isValid) throw new NoteRefusal('invalid signature', `${algorithm} of ${key.name} is wrong`)
  return { key, timestamp }
}

/** The 8 bytes before a signature that has a time. */
export function timestampBytes(timestamp: number): Uint8Array {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(timestamp))
  return new Uint8Array(bytes)
}

function timedMessage(key: VerifierKey, text: string, timestamp: number): Uint8Array {
  return key.type === signatureTypes.cosignature
    ? cosignatureMessage(text, timestamp)
    : mlDsaMessage(key.name, parseCheckpoint(text), timestamp)
}

/** What a cosigner signs by Ed25519 (C2SP tlog-cosignature). @param timestamp seconds since 1970 */
export const cosignatureMessage = (checkpoint: string, timestamp: number): Uint8Array =>
  Buffer.from(`cosignature/v1\ntime ${timestamp}\n${checkpoint}`)

/** What a log or a cosigner signs by ML-DSA-44: the whole tree as a subtree (C2SP tlog-cosignature). */
export function mlDsaMessage(name: string, checkpoint: Checkpoint, timestamp: number): Uint8Array {
  const short = (text: string): Buffer => {
    const bytes = Buffer.from(text)
    return Buffer.concat([Uint8Array.of(bytes.length), bytes])
  }
  return Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    short(name),
    timestampBytes(timestamp),
    short(checkpoint.origin),
    timestampBytes(0),
    timestampBytes(checkpoint.size),
    checkpoint.root,
  ])
}

/** RFC 8410 section 4 and RFC 9881 section 4: what stands before the bytes of a public key. */
function subjectPublicKeyInfo({ publicKey, type }: VerifierKey): [string, Buffer] {
  const isMlDsa = type === signatureTypes.mlDsa44
  const head = isMlDsa
    ? '30820532300b060960864801650304031103820521 00'.replace(' ', '')
    : '302a300506032b6570032100'
  const der = Buffer.concat([Buffer.from(head, 'hex'), publicKey])
  return [isMlDsa ? 'ML-DSA-44' : 'Ed25519', der]
}

/** The text of a checkpoint (C2SP tlog-checkpoint): what is signed. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`

/** Reads the text of a checkpoint, without its signatures. @throws NoteRefusal */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...more] = text.split('\n')
  const isWhole = more.at(-1) === '' && !more.slice(0, -1).includes('')
  const isSize = /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size))
  if (origin === '' || !isSize || !isWhole) {
    throw malformed('a checkpoint has an origin, a size and a root')
  }
  const bytes = fromBase64(root)
  if (bytes.length !== 32) throw malformed('a root is 32 bytes')
  return { origin, size: Number(size), root: bytes }
}

/** What proves, without the log, that an entry is in it (C2SP tlog-proof). */
interface LogProof {
  /** What the application adds: here the JSON of the entry's salt and text. */
  readonly extra: Uint8Array | null
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

/** A proof as the file that is kept: `….tlog-proof`. */
export const proofText = ({ extra, index, hashes, checkpoint }: LogProof): string =>
  [
    'c2sp.org/tlog-proof@v1',
    ...(extra ? [`extra ${toBase64(extra)}`] : []),
    `index ${index}`,
    ...hashes.map(toBase64),
    '',
    checkpoint,
  ].join('\n')
