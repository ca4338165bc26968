import { aesCmac, tdesCmac } from './cmac.ts'
import { orRefuse, refuse } from './refusal.ts'

/**
 * How the two keys of a key block are derived from the key block protection key (KBPK): by
 * TDES-CMAC (version B) or AES-CMAC (version D).
 */
export type KeyBlockMethod = 'tdesCmac' | 'aesCmac'

/** The key usages in the derivation data (X9.143:2021 tables 24, 25). */
const keyUsages = { encryption: 0x0000, authentication: 0x0001 } as const

/** The number of bytes of one MAC. */
const macLengths = { tdesCmac: 8, aesCmac: 16 } as const

/** The algorithm in the derivation data, by the length of the KBPK in bytes. */
const indicators: Record<'tdesCmac' | 'aesCmac', Readonly<Record<number, number>>> = {
  tdesCmac: { 16: 0x0000, 24: 0x0001 },
  aesCmac: { 16: 0x0002, 24: 0x0003, 32: 0x0004 },
}

/** The two keys of a key block: for encryption, for authentication. */
export type KeyBlockKeys = {
  readonly kbek: Buffer
  readonly kbak: Buffer
}

/**
 * Derives both keys of a key block (X9.143:2021 7.2.1 for AES, 7.2.2 for TDES).
 *
 * @param kbpk 16 or 24 bytes; for `aesCmac` also 32.
 * @returns keys as long as the KBPK.
 * @throws CryptoRefusal `key_derivation_refused` for any other length.
 */
export function deriveKeyBlockKeys(kbpk: Uint8Array, method: KeyBlockMethod): KeyBlockKeys {
  const mac = method === 'aesCmac' ? aesCmac : tdesCmac
  return orRefuse('key_derivation_refused', () =>
    deriveKeysByMac((message) => mac(kbpk, message), kbpk.length, method),
  )
}

/**
 * Derives both keys from a KBPK outside this process (X9.143:2021 7.2.1, 7.2.2).
 *
 * @param mac the method's CMAC under the KBPK; its messages have at most one block.
 * @param kbpkLength 16 or 24 bytes; for `aesCmac` also 32.
 * @throws CryptoRefusal `key_derivation_refused` for any other length.
 */
export function deriveKeysByMac(
  mac: (message: Uint8Array) => Uint8Array,
  kbpkLength: number,
  method: KeyBlockMethod,
): KeyBlockKeys {
  const indicator = indicators[method][kbpkLength] ?? refuse('key_derivation_refused')
  const derive = (keyUsage: number): Buffer => {
    const count = Math.ceil(kbpkLength / macLengths[method])
    const blocks = Array.from({ length: count }, (_, at) => {
      // Counter, usage, separator, algorithm, bits of key (X9.143:2021 tables 24, 25).
      const derivation = Buffer.alloc(8)
      derivation.writeUInt8(at + 1, 0)
      derivation.writeUInt16BE(keyUsage, 1)
      derivation.writeUInt16BE(indicator, 4)
      derivation.writeUInt16BE(kbpkLength * 8, 6)
      return mac(derivation)
    })
    return Buffer.concat(blocks).subarray(0, kbpkLength)
  }
  return { kbek: derive(keyUsages.encryption), kbak: derive(keyUsages.authentication) }
}
