/** Signed texts of an audit log, verified by Web Crypto: C2SP signed-note, tlog-checkpoint and tlog-cosignature. */
import { AuditFault } from './audit-fault.ts'
import { type Bytes, concat, sha256, utf8 } from './tree.ts'

/** A key that signatures are verified by. */
export interface VerifierKey {
  readonly name: string
  /** Four bytes, in hexadecimal. */
  readonly id: string
  /** 1 Ed25519, 4 a cosignature by Ed25519, 6 ML-DSA-44. */
  readonly type: number
  readonly publicKey: Bytes
}

/** What was signed: so many entries, with this root. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Bytes
}

/** A signature that was verified. */
export interface VerifiedSignature {
  readonly name: string
  readonly type: number
  /** When it says that it was made; null where it does not. */
  readonly at: Date | null
}

/** A checkpoint whose signatures were verified. */
export interface SignedCheckpoint extends Checkpoint {
  /** By keys of the log: their name is the origin. */
  readonly signedBy: readonly VerifiedSignature[]
  /** By others, whose keys were given: witnesses. */
  readonly cosignedBy: readonly VerifiedSignature[]
  /** Names of keys that were given and have signed, but by what this runtime cannot verify. */
  readonly uncheckedBy: readonly string[]
  /** Names that stand under it whose keys were not given: anybody may have written them. */
  readonly unknownBy: readonly string[]
}

interface NoteSignature {
  readonly name: string
  readonly id: string
  readonly signature: Bytes
}

const malformed = (detail: string): AuditFault => new AuditFault('malformed', detail)

/** @throws AuditFault unless it is base64 as RFC 4648 section 4 writes it. */
export function fromBase64(text: string): Bytes {
  try {
    const binary = atob(text)
    if (btoa(binary) === text) return Uint8Array.from(binary, (each) => each.charCodeAt(0))
  } catch {
    // It is refused below.
  }
  throw malformed('it holds base64 that is none')
}

/** Base64 as RFC 4648 section 4 writes it. */
export const toBase64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

const isKeyName = (name: string): boolean => name !== '' && !/[\s+]/u.test(name)

const keyLengths: Readonly<Record<number, number>> = { 1: 32, 4: 32, 6: 1_312 }

/** Reads `name+id+base64`. @throws AuditFault where it is no key, or of a type that is not known here. */
export async function parseVerifierKey(text: string): Promise<VerifierKey> {
  const [name = '', id = '', ...rest] = text.split('+')
  const bytes = fromBase64(rest.join('+'))
  const [type = 0] = bytes
  const publicKey = bytes.slice(1)
  if (!isKeyName(name) || keyLengths[type] !== publicKey.length) {
    throw malformed(`${text.slice(0, 60)} is no verifier key of a type that is known`)
  }
  const computed = hexOf((await sha256(concat(utf8(`${name}\n`), bytes))).subarray(0, 4))
  if (computed !== id) throw malformed(`the key of ${name} has another id than it says`)
  return { name, id, type, publicKey }
}

/** The verifier keys in a file: one a line, or in the lines of a policy, or as strings of JSON; others are passed over. */
export const parseVerifierKeys = (text: string): Promise<VerifierKey[]> =>
  Promise.all((text.match(verifierKey) ?? []).map(parseVerifierKey))

const verifierKey = /[^\s+"#]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{40,}={0,2}/g

/** Text and signatures of a note, not verified. */
function parseNote(note: string): { text: string; signatures: NoteSignature[] } {
  const end = note.lastIndexOf('\n\n')
  const lines = note.slice(end + 2).split('\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note must have none
  const isText = !/[\u0000-\u0009\u000b-\u001f\ufffd]/.test(note)
  if (!isText || end < 0 || lines.pop() !== '' || lines.length === 0 || lines.length > 100) {
    throw malformed('it is no signed note')
  }
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) }
}

function parseSignature(line: string): NoteSignature {
  const [dash, name = '', base64 = '', ...rest] = line.split(' ')
  const bytes = fromBase64(base64)
  if (dash !== '—' || !isKeyName(name) || rest.length > 0 || bytes.length < 5) {
    throw malformed('a line of signature is not as it must be')
  }
  return { name, id: hexOf(bytes.subarray(0, 4)), signature: bytes.slice(4) }
}

/** Reads the text of a checkpoint. @throws AuditFault */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...more] = text.split('\n')
  const isWhole = more.at(-1) === '' && !more.slice(0, -1).includes('')
  const isSize = /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size))
  if (origin === '' || !isSize || !isWhole) throw malformed('it is no checkpoint')
  const bytes = fromBase64(root)
  if (bytes.length !== 32) throw malformed('its root is not 32 bytes')
  return { origin, size: Number(size), root: bytes }
}

/**
 * Verifies every signature of a note by a key that is given, and passes over the others.
 * @returns beside those that are right, the names whose signatures this runtime cannot verify, and those of which no key was
 * given
 * @throws AuditFault where it is no note, a signature by a given key is wrong, or there is none
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
  const [unchecked, unknown]: [string[], string[]] = [[], []]
  for (const each of signatures) {
    const key = keys.find(({ id, name }) => name === each.name && id === each.id)
    const signature = key && (await verify(key, text, each.signature))
    if (signature) verified.push(signature)
    else if (key) unchecked.push(key.name)
    else unknown.push(each.name)
  }
  if (verified.length > 0) return { text, verified, unchecked, unknown }
  throw unchecked.length > 0
    ? new AuditFault('unsupported', 'this runtime does not verify ML-DSA-44')
    : new AuditFault('unverified', 'it is signed by none of the keys that were given')
}

/**
 * Verifies a checkpoint: signed by its log, whose keys bear the name that it has as its origin.
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
  throw new AuditFault('unverified', 'it is signed by none of the keys of its log')
}

/** @returns null where this runtime cannot verify it. @throws AuditFault where it is wrong. */
async function verify(
  key: VerifierKey,
  text: string,
  bytes: Bytes,
): Promise<VerifiedSignature | null> {
  const isTimed = key.type !== 1
  const isPostQuantum = key.type === 6
  const seconds = isTimed ? numberOf(bytes) : 0
  const name = isPostQuantum ? 'ML-DSA-44' : 'Ed25519'
  // What Web Crypto calls bare bytes differs between what it has long had and what came with ML-DSA.
  const format = (isPostQuantum ? 'raw-public' : 'raw') as 'raw'
  const imported = await crypto.subtle
    .importKey(format, key.publicKey, name, false, ['verify'])
    .catch((cause) => {
      if (isPostQuantum) return null
      throw new AuditFault('unsupported', `this runtime does not verify ${name}`, { cause })
    })
  if (!imported) return null
  const signature = isTimed ? bytes.slice(8) : bytes
  if (!(await crypto.subtle.verify(name, imported, signature, messageOf(key, text, seconds)))) {
    throw new AuditFault('wrong_signature', `the signature by ${key.name} is wrong`)
  }
  return { name: key.name, type: key.type, at: isTimed ? new Date(seconds * 1_000) : null }
}

const numberOf = (bytes: Bytes): number =>
  bytes.length < 8 ? 0 : Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0))

function messageOf(key: VerifierKey, text: string, seconds: number): Bytes {
  if (key.type === 1) return utf8(text)
  if (key.type === 4) return utf8(`cosignature/v1\ntime ${seconds}\n${text}`)
  const { origin, root, size } = parseCheckpoint(text)
  const [name, log] = [utf8(key.name), utf8(origin)]
  return concat(
    utf8('subtree/v1\n\0'),
    Uint8Array.of(name.length),
    name,
    eightBytes(seconds),
    Uint8Array.of(log.length),
    log,
    eightBytes(0),
    eightBytes(size),
    root,
  )
}

function eightBytes(number: number): Bytes {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number))
  return bytes
}
