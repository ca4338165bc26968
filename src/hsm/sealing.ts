import { randomBytes } from 'node:crypto'
import type { KeyRing } from './key-ring.ts'

const versionLength = 2
const ivLength = 12
const tagLength = 16

/** The keys that seal. */
type SealingKeyName = 'pan' | 'personal-data'

/**
 * Seals bytes under the active version of a key (AES-256-GCM, SP 800-38D).
 * @returns key version (2 bytes), iv (12), ciphertext, tag (16).
 */
export async function seal(
  ring: KeyRing,
  name: SealingKeyName,
  associated: string,
  clear: Uint8Array,
): Promise<Buffer> {
  const { key, version } = await ring.active(name)
  const prefix = Buffer.alloc(versionLength)
  prefix.writeUInt16BE(version)
  const iv = randomBytes(ivLength)
  const { ciphertext, tag } = await key.seal(iv, Buffer.from(associated), clear)
  return Buffer.concat([prefix, iv, ciphertext, tag])
}

/** The version of its key that {@link seal} wrote before what it sealed. */
export const sealedVersionOf = (sealed: Uint8Array): number =>
  Buffer.from(sealed.subarray(0, versionLength)).readUInt16BE(0)

/** Opens what {@link seal} made, under the version that it names. @throws Error when it did not. */
export async function open(
  ring: KeyRing,
  name: SealingKeyName,
  associated: string,
  sealed: Uint8Array,
): Promise<Buffer> {
  const bytes = Buffer.from(sealed)
  const bodyStart = versionLength + ivLength
  if (bytes.length < bodyStart + tagLength) throw new Error('This is no sealed record.')
  const { key } = await ring.version(name, bytes.readUInt16BE(0))
  return key.open(bytes.subarray(versionLength, bodyStart), Buffer.from(associated), {
    ciphertext: bytes.subarray(bodyStart, -tagLength),
    tag: bytes.subarray(-tagLength),
  })
}
