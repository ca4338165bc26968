import { randomBytes } from 'node:crypto'
import { xaesNonceLength } from '../../crypto/xaes-256-gcm.ts'
import type { Hsm, RecordPurpose } from '../contract/hsm.ts'
import type { KeyRing } from '../keys/key-ring.ts'

/** Seals text that belongs to a subject, and fingerprints requests. */
export const recordVerbs = (
  ring: KeyRing,
): Pick<Hsm, 'sealRecord' | 'revealRecord' | 'fingerprintRequest' | 'fingerprintRequestId'> => ({
  sealRecord: (purpose, subject, text) =>
    seal(ring, 'personal-data', associated(purpose, subject), Buffer.from(text)),
  async revealRecord(purpose, subject, sealed) {
    return (await open(ring, 'personal-data', associated(purpose, subject), sealed)).toString()
  },
  async fingerprintRequest({ clientId, idempotencyKey, request }) {
    const versions = await ring.versions('request-fingerprint')
    // A request begins with its method, in capitals, so no key and no request id equals one.
    const idempotent = Buffer.from(`idempotency-key\n${clientId}\n${idempotencyKey}`)
    return Promise.all(
      versions.map(async ({ key }) => {
        const macs = [key.mac(idempotent), key.mac(Buffer.from(request.reveal()))] as const
        const [keyHash, fingerprint] = await Promise.all(macs)
        return { keyHash, fingerprint }
      }),
    )
  },
  async fingerprintRequestId(requestId) {
    const { key } = await ring.active('request-fingerprint')
    return key.mac(Buffer.from(`request-id\n${requestId}`))
  },
})

const associated = (purpose: RecordPurpose, subject: string): string => `${purpose}\n${subject}`

/** The prefix of a sealed record: its form, then the version of its key (2 bytes), then a nonce. */
const extendedForm = 0xf2
// Records from before forms existed begin with the version, which was always below this value.
const versionLimit = extendedForm << 8

const ivLength = 12
const tagLength = 16

/** The names of the keys that seal. */
type SealingKeyName = 'pan' | 'personal-data'

/**
 * Seals bytes under the active version of a key, each record under a derived key (XAES-256-GCM).
 * Nonces can then be random for any number of records, while one AES-GCM key allows 2^32 only (SP
 * 800-38D 8.3).
 * @returns form (1 byte), key version (2), nonce (24), ciphertext, tag (16).
 */
export async function seal(
  ring: KeyRing,
  name: SealingKeyName,
  associated: string,
  clear: Uint8Array,
): Promise<Buffer> {
  const { key, version } = await ring.active(name)
  if (version >= versionLimit)
    throw new Error('The key version exceeds the limit of the record format.')
  const nonce = randomBytes(xaesNonceLength)
  const { ciphertext, tag } = await key.seal(nonce, Buffer.from(associated), clear)
  const prefix = Buffer.of(extendedForm, version >> 8, version & 0xff)
  return Buffer.concat([prefix, nonce, ciphertext, tag])
}

/** Reads the key version at the start of the output of {@link seal}. */
export const readSealedVersion = (sealed: Uint8Array): number => readPrefix(sealed).version

/**
 * Opens the output of {@link seal}, in its present or earlier form, with the version that it names.
 * @throws Error for other bytes.
 */
export async function open(
  ring: KeyRing,
  name: SealingKeyName,
  associated: string,
  sealed: Uint8Array,
): Promise<Buffer> {
  const { bodyStart, nonceStart, version } = readPrefix(sealed)
  if (sealed.length < bodyStart + tagLength) throw new Error('The bytes are not a sealed record.')
  const { key } = await ring.version(name, version)
  return key.open(sealed.subarray(nonceStart, bodyStart), Buffer.from(associated), {
    ciphertext: Buffer.from(sealed.subarray(bodyStart, -tagLength)),
    tag: Buffer.from(sealed.subarray(-tagLength)),
  })
}

/** Earlier records have no form: the version (2 bytes), then an IV of AES-256-GCM. */
function readPrefix(sealed: Uint8Array) {
  const [versionStart, nonceLength] =
    sealed[0] === extendedForm ? [1, xaesNonceLength] : [0, ivLength]
  const nonceStart = versionStart + 2
  const version = ((sealed[versionStart] ?? 0) << 8) | (sealed[versionStart + 1] ?? 0)
  return { version, nonceStart, bodyStart: nonceStart + nonceLength }
}
