import { refuse } from '../../src/crypto/refusal.ts'

/** The keys of a block of version A or C are the KBPK with each byte changed (TR-31:2018 5.3.1). */
const variants = { encryption: 0x45, authentication: 0x4d } as const

/**
 * The two keys of a key block of version A or C, which the product takes no block in.
 *
 * @param kbpk 16 or 24 bytes.
 * @throws CryptoRefusal `key_derivation_refused` on any other length.
 */
export function keyBlockVariantsOf(kbpk: Uint8Array): { kbek: Buffer; kbak: Buffer } {
  if (kbpk.length !== 16 && kbpk.length !== 24) refuse('key_derivation_refused')
  const varied = (variant: number): Buffer => Buffer.from(kbpk.map((byte) => byte ^ variant))
  return { kbek: varied(variants.encryption), kbak: varied(variants.authentication) }
}
