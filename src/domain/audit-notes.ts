import { createHash, createPublicKey, verify } from 'node:crypto'

/** Texts that a log is spoken of in: checkpoints, signed notes, keys, proofs (c2sp.org). */

/** What a checkpoint says (c2sp.org/tlog-checkpoint). */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  /** 32 bytes. */
  readonly root: Uint8Array
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** The bytes, or null where the text is not their one form in base64. */
function fromBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

export const checkpointText = ({ origin, root, size }: Checkpoint): string =>
  `${origin}\n${size}\n${base64(root)}\n`

/** Reads the text of a checkpoint; extension lines are passed over. @throws Error */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...more] = text.split('\n')
  const bytes = fromBase64(root)
  const isWhole = origin !== '' && /^(0|[1-9][0-9]{0,15})$/.test(size) && bytes?.length === 32
  if (!isWhole || more.at(-1) !== '') throw new Error('This is no checkpoint.')
  return { origin, size: Number(size), root: bytes }
}

/** Types of signatures (c2sp.org/signed-note, c2sp.org/tlog-cosignature). */
export const signatureTypes = { ed25519: 0x01, cosignature: 0x04, mlDsa44: 0x06 } as const

/** A key that verifies signatures of notes. */
export interface VerifierKey {
  readonly name: string
  readonly type: number
  /** As its algorithm encodes it. */
  readonly publicKey: Uint8Array
}

/** What a signature names its key by: 4 bytes. */
export const keyIdOf = ({ name, publicKey, type }: VerifierKey): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(publicKey)
    .digest()
    .subarray(0, 4)

/** `name+hex of the id+base64 of type and key`. */
export const verifierKeyText = (key: VerifierKey): string =>
  `${key.name}+${keyIdOf(key).toString('hex')}+${base64(Buffer.concat([Buffer.of(key.type), key.publicKey]))}`

/** @throws Error when it is none, or its id is not the one of its key. */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', id = '', encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? []
  const bytes = fromBase64(encoded)
  const key = { name, type: bytes?.[0] ?? 0, publicKey: bytes?.subarray(1) ?? Buffer.alloc(0) }
  if (keyIdOf(key).toString('hex') !== id) throw new Error('This is no verifier key.')
  return key
}

/** A line of a note's signatures: `— name base64(id and signature)`. */
export interface NoteSignature {
  readonly name: string
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

export const signatureLine = ({ keyId, name, signature }: NoteSignature): string =>
  `— ${name} ${base64(Buffer.concat([keyId, signature]))}\n`

interface SignedNote {
  /** With its last newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** Reads a signed note, and verifies nothing. @throws Error */
export function parseNote(note: string): SignedNote {
  const end = note.lastIndexOf('\n\n')
  if (end < 0) throw new Error('This is no signed note.')
  return { text: note.slice(0, end + 1), signatures: parseSignatures(note.slice(end + 2)) }
}

/** Reads lines of signatures, as a witness answers them. @throws Error */
export function parseSignatures(lines: string): readonly NoteSignature[] {
  if (!lines.endsWith('\n')) throw new Error('These are no signatures.')
  return lines
    .slice(0, -1)
    .split('\n')
    .map((line) => {
      const [, name = '', encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? []
      const bytes = fromBase64(encoded)
      if (!bytes || bytes.length < 5) throw new Error('These are no signatures.')
      return { name, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) }
    })
}

/** The signature of a key among those of a note, or null. Verified: see `verifies`. */
export const signatureOf = (
  key: VerifierKey,
  signatures: readonly NoteSignature[],
): NoteSignature | null =>
  signatures.find(({ keyId, name }) => name === key.name && keyIdOf(key).equals(keyId)) ?? null

/** Whether a signature is this key's on the text of a checkpoint. */
export function verifies(key: VerifierKey, text: string, { signature }: NoteSignature): boolean {
  const bytes = Buffer.from(signature)
  if (key.type === signatureTypes.ed25519) return verifiesEd25519(key, text, bytes)
  const isTimed = key.type === signatureTypes.cosignature || key.type === signatureTypes.mlDsa44
  if (!isTimed || bytes.length < 8) return false
  const seconds = bytes.readBigUInt64BE()
  if (key.type === signatureTypes.cosignature) {
    const cosigned = `cosignature/v1\ntime ${seconds}\n${text}`
    return verifiesEd25519(key, cosigned, bytes.subarray(8))
  }
  const jwk = { kty: 'AKP', alg: 'ML-DSA-44', pub: base64url(key.publicKey) }
  try {
    const message = cosignedMessage(key.name, parseCheckpoint(text), seconds)
    return verify(null, message, createPublicKey({ key: jwk, format: 'jwk' }), bytes.subarray(8))
  } catch {
    return false
  }
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

function verifiesEd25519({ publicKey }: VerifierKey, text: string, signature: Buffer): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: base64url(publicKey) }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  return verify(null, Buffer.from(text), key, signature)
}

/** What ML-DSA-44 signs of a checkpoint (c2sp.org/tlog-cosignature). */
export function cosignedMessage(
  cosigner: string,
  { origin, root, size }: Checkpoint,
  seconds: bigint,
): Buffer {
  const prefixed = (text: string) =>
    Buffer.concat([Buffer.of(Buffer.byteLength(text)), Buffer.from(text)])
  const uint64 = (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64BE(value)
    return bytes
  }
  const label = Buffer.from('subtree/v1\n\0')
  const names = [prefixed(cosigner), uint64(seconds), prefixed(origin)]
  return Buffer.concat([label, ...names, uint64(0n), uint64(BigInt(size)), root])
}

/** A proof that an entry is in a log (c2sp.org/tlog-proof). */
interface TlogProof {
  readonly extra: Uint8Array
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  /** The signed checkpoint, verbatim. */
  readonly note: string
}

export const tlogProofText = ({ extra, hashes, index, note }: TlogProof): string =>
  [
    'c2sp.org/tlog-proof@v1',
    `extra ${base64(extra)}`,
    `index ${index}`,
    ...hashes.map(base64),
    '',
    note,
  ].join('\n')
