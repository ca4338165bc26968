import { createHash } from 'node:crypto'
import { refuse } from './refusal.ts'

/** What a key is derived for, the shared secret aside. */
export type ConcatKdfInputs = {
  /** `enc` for direct agreement, such as `A256GCM`; `alg` where the key wraps another. */
  readonly algorithm: string
  /** Agreement PartyUInfo, decoded; may be empty. */
  readonly apu: Uint8Array
  /** Agreement PartyVInfo, decoded; may be empty. */
  readonly apv: Uint8Array
  /** Bits of key wanted, a multiple of 8, at most 512. */
  readonly keyBits: number
}

/**
 * Concat KDF with SHA-256, as ECDH-ES uses it (RFC 7518 4.6.2, SP 800-56A 5.8.1).
 *
 * @param sharedSecret Z, the x coordinate that both sides agree on.
 * @throws CryptoRefusal `key_derivation_refused` when the length is not one of these.
 */
export function concatKdf(sharedSecret: Uint8Array, inputs: ConcatKdfInputs): Buffer {
  const { algorithm, apu, apv, keyBits } = inputs
  const isLength = keyBits > 0 && keyBits <= 512 && keyBits % 8 === 0
  if (!isLength) refuse('key_derivation_refused')
  const otherInfo = Buffer.concat([
    withLength(Buffer.from(algorithm)),
    withLength(apu),
    withLength(apv),
    uint32(keyBits),
  ])
  const rounds = [1, 2].map((counter) =>
    createHash('sha256').update(uint32(counter)).update(sharedSecret).update(otherInfo).digest(),
  )
  return Buffer.concat(rounds).subarray(0, keyBits / 8)
}

function withLength(bytes: Uint8Array): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
