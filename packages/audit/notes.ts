/**
 * Signed notes: C2SP signed-note. Composed and parsed here, and verified by Web Crypto; private
 * keys are elsewhere.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { AuditFault } from './audit-fault.ts'
import { concat, formatHex, fromBase64, fromHex, toBase64, utf8 } from './bytes.ts'
import {
  type Checkpoint,
  cosignatureMessage,
  mlDsaMessage,
  parseCheckpoint,
} from './checkpoints.ts'

/** The signature types of notes (C2SP signed-note, Signature types). */
export const signatureTypes = { ed25519: 1, cosignature: 4, mlDsa44: 6 } as const

/** A key that verifies signatures. */
export interface VerifierKey {
  readonly name: string
  /** Four bytes, in hexadecimal. */
  readonly id: string
  /** 1 Ed25519, 4 a cosignature by Ed25519, 6 ML-DSA-44. */
  readonly type: number
  readonly publicKey: Uint8Array
}

/** A verified signature. */
export interface VerifiedSignature {
  readonly name: string
  readonly type: number
  /** The time in the signature; null without one. */
  readonly at: Date | null
}

/** A checkpoint with verified signatures. */
export interface SignedCheckpoint extends Checkpoint {
  /** Signatures by the log's keys: their name is the origin. */
  readonly signedBy: readonly VerifiedSignature[]
  /** Signatures by other given keys: witnesses. */
  readonly cosignedBy: readonly VerifiedSignature[]
  /** Names of given keys whose signatures this runtime cannot verify. */
  readonly uncheckedBy: readonly string[]
  /** Names of signatures without a given key, which anyone may have added. */
  readonly unknownBy: readonly string[]
}

/** One signature line; `signature` is the part after the key's ID. */
interface NoteSignature {
  readonly name: string
  readonly id: string
  readonly signature: Uint8Array
}

const malformed = (detail: string): AuditFault => new AuditFault('malformed', detail)

const isKeyName = (name: string): boolean => name !== '' && !/[\s+]/u.test(name)

/** Computes a key's ID: four bytes in hexadecimal, of its name, type and public key. */
export const noteKeyId = (name: string, type: number, publicKey: Uint8Array): string =>
  formatHex(sha256(concat([utf8(`${name}\n`), Uint8Array.of(type), publicKey])).subarray(0, 4))

/** Formats a verifier key: `example.com/log+530d903a+AekyeR…` (C2SP signed-note, Verifier keys). */
export const verifierKeyText = (name: string, type: number, publicKey: Uint8Array): string =>
  [name, noteKeyId(name, type, publicKey), toBase64(concat([Uint8Array.of(type), publicKey]))].join(
    '+',
  )

const keyLengths: Readonly<Record<number, number>> = { 1: 32, 4: 32, 6: 1_312 }

/**
 * Parses `name+id+base64`.
 * @throws AuditFault `malformed` for a malformed key, or an unknown type.
 */
export function parseVerifierKey(text: string): VerifierKey {
  const [name = '', id = '', ...rest] = text.split('+')
  const bytes = fromBase64(rest.join('+'))
  const [type = 0] = bytes
  const publicKey = bytes.slice(1)
  if (!isKeyName(name) || keyLengths[type] !== publicKey.length) {
    throw malformed(`the verifier key has an unknown type: ${text.slice(0, 80)}`)
  }
  if (noteKeyId(name, type, publicKey) !== id)
    throw malformed(`${name}: the id does not match the key`)
  return { name, id, type, publicKey }
}

/**
 * Parses the verifier keys in a file: one per line, in the lines of a policy, or as strings of
 * JSON; other text is ignored.
 */
export const parseVerifierKeys = (text: string): VerifierKey[] =>
  (text.match(verifierKey) ?? []).map(parseVerifierKey)

const verifierKey = /[^\s+"#]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{40,}={0,2}/g

/** Formats a signature line, with its newline. */
export const signatureLine = ({ id, name, signature }: NoteSignature): string =>
  `— ${name} ${toBase64(concat([fromHex(id), signature]))}\n`

/** Composes a note: the text, which ends in a newline, and its signatures. */
export const composeNote = (text: string, signatures: readonly NoteSignature[]): string =>
  `${text}\n${signatures.map(signatureLine).join('')}`

/** Above the minimum of the standard, and the maximum that one process reads of another. */
const maxSignatures = 100

/** Invalid in a note: control characters and the replacement character of invalid UTF-8. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a note must have none
const notText = /[\u0000-\u0009\u000b-\u001f\ufffd]|\p{Surrogate}/u

/** Parses a note without verification. @throws AuditFault `malformed` */
export function parseNote(note: string): {
  readonly text: string
  readonly signatures: readonly NoteSignature[]
} {
  if (notText.test(note)) throw malformed('a note is UTF-8 without control characters')
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw malformed('a note must end in signature lines')
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
    throw malformed('a signature line must be a dash, a name and base64')
  }
  return { name, id: formatHex(bytes.subarray(0, 4)), signature: bytes.slice(4) }
}

/**
 * Verifies the signatures of a note by the given keys and ignores all others.
 * @returns the verified signatures, the names whose signatures this runtime cannot verify, and the
 *   names without a given key
 * @throws AuditFault when the text is no note, when a signature by a given key is wrong, or when no
 *   given key signed it
 */
export async function openNote(
  note: string,
  keys: readonly VerifierKey[],
): Promise<{
  readonly text: string
  readonly verified: readonly VerifiedSignature[]
  readonly unchecked: readonly string[]
  readonly unknown: readonly string[]
}> {
  const { signatures, text } = parseNote(note)
  const verified: VerifiedSignature[] = []
  const unchecked: string[] = []
  const unknown: string[] = []
  for (const each of signatures) {
    const key = keys.find(({ id, name }) => name === each.name && id === each.id)
    const signature = key && (await verifySignature(key, text, each.signature))
    if (signature) verified.push(signature)
    else if (key) unchecked.push(key.name)
    else unknown.push(each.name)
  }
  if (verified.length > 0) return { text, verified, unchecked, unknown }
  throw unchecked.length > 0
    ? new AuditFault('unsupported', 'this runtime does not verify ML-DSA-44')
    : new AuditFault('unverified', 'no signature is by a known key')
}

/**
 * Verifies a checkpoint: signed by its log, whose keys have its origin as their name.
 * @throws AuditFault
 */
export async function openCheckpoint(
  note: string,
  keys: readonly VerifierKey[],
): Promise<SignedCheckpoint> {
  const { text, unchecked: uncheckedBy, unknown: unknownBy, verified } = await openNote(note, keys)
  const checkpoint = parseCheckpoint(text)
  const signedBy = verified.filter(({ name }) => name === checkpoint.origin)
  const cosignedBy = verified.filter(({ name }) => name !== checkpoint.origin)
  if (signedBy.length > 0) return { ...checkpoint, signedBy, cosignedBy, uncheckedBy, unknownBy }
  throw new AuditFault('unverified', 'no signature is by a key of its log')
}

/** @returns null when this runtime cannot verify it. @throws AuditFault when it is invalid. */
async function verifySignature(
  key: VerifierKey,
  text: string,
  bytes: Uint8Array,
): Promise<VerifiedSignature | null> {
  const isTimed = key.type !== signatureTypes.ed25519
  const isPostQuantum = key.type === signatureTypes.mlDsa44
  const seconds = isTimed ? secondsIn(bytes) : 0
  const algorithm = isPostQuantum ? 'ML-DSA-44' : 'Ed25519'
  // Web Crypto's name for the format of raw keys changed with ML-DSA.
  const format = (isPostQuantum ? 'raw-public' : 'raw') as 'raw'
  const imported = await crypto.subtle
    .importKey(format, new Uint8Array(key.publicKey), algorithm, false, ['verify'])
    .catch((cause) => {
      if (isPostQuantum) return null
      throw new AuditFault('unsupported', `this runtime does not verify ${algorithm}`, { cause })
    })
  if (!imported) return null
  const signature = new Uint8Array(isTimed ? bytes.subarray(8) : bytes)
  const message = new Uint8Array(composeMessage(key, text, seconds))
  if (!(await crypto.subtle.verify(algorithm, imported, signature, message))) {
    throw new AuditFault('wrong_signature', `the ${algorithm} signature of ${key.name} is wrong`)
  }
  return { name: key.name, type: key.type, at: isTimed ? new Date(seconds * 1_000) : null }
}

/** Reads the time in the 8 bytes before a signature; 0 if it is truncated. */
const secondsIn = (bytes: Uint8Array): number =>
  bytes.length < 8
    ? 0
    : Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0))

function composeMessage(key: VerifierKey, text: string, seconds: number): Uint8Array {
  if (key.type === signatureTypes.ed25519) return utf8(text)
  return key.type === signatureTypes.cosignature
    ? cosignatureMessage(text, seconds)
    : mlDsaMessage(key.name, parseCheckpoint(text), seconds)
}
