import { aesCmac, tdesCmac } from './cmac.ts'
import { orRefuse, refuse } from './refusal.ts'

/**
 * How a key block's two keys come from the key block protection key (KBPK): by a variant (versions
 * A and C), by TDES-CMAC (version B) or by AES-CMAC (version D).
 */
export type KeyBlockMethod = 'variant' | 'tdesCmac' | 'aesCmac'

type Purpose = { readonly usage: number; readonly variant: number }

const encryption: Purpose = { usage: 0x0000, variant: 0x45 }
const authentication: Purpose = { usage: 0x0001, variant: 0x4d }

/** Bytes that one MAC yields. */
const macLengths = { tdesCmac: 8, aesCmac: 16 } as const

/** By length of the KBPK in bytes: the algorithm that the derivation data names. */
const indicators: Record<'tdesCmac' | 'aesCmac', Readonly<Record<number, number>>> = {
  tdesCmac: { 16: 0x0000, 24: 0x0001 },
  aesCmac: { 16: 0x0002, 24: 0x0003, 32: 0x0004 },
}

/**
 * Derives the key block encryption key, KBEK (X9.143:2021 7.2.1 for AES, 7.2.2 for TDES).
 *
 * @param kbpk 16 or 24 bytes; for `aesCmac` also 32.
 * @returns as many bytes as the KBPK has.
 * @throws CryptoRefusal `key_derivation_refused` when its length is another.
 */
export function deriveKbek(kbpk: Uint8Array, method: KeyBlockMethod): Buffer {
  return derive(kbpk, method, encryption)
}

/**
 * Derives the key block authentication key, KBAK (X9.143:2021 7.2.1 for AES, 7.2.2 for TDES).
 *
 * @param kbpk 16 or 24 bytes; for `aesCmac` also 32.
 * @returns as many bytes as the KBPK has.
 * @throws CryptoRefusal `key_derivation_refused` when its length is another.
 */
export function deriveKbak(kbpk: Uint8Array, method: KeyBlockMethod): Buffer {
  return derive(kbpk, method, authentication)
}

/** The two keys of a key block. */
export type KeyBlockKeys = {
  readonly kbek: Buffer
  readonly kbak: Buffer
}

/**
 * Derives both keys from a KBPK that this process does not hold (X9.143:2021 7.2.1, 7.2.2).
 *
 * @param mac the method's CMAC under the KBPK; it is given messages of at most one block.
 * @param kbpkLength 16 or 24 bytes; for `aesCmac` also 32.
 * @throws CryptoRefusal `key_derivation_refused` when the length is another.
 */
export function deriveKeyBlockKeys(
  mac: (message: Uint8Array) => Uint8Array,
  kbpkLength: number,
  method: 'tdesCmac' | 'aesCmac',
): KeyBlockKeys {
  return {
    kbek: deriveByMac(mac, kbpkLength, method, encryption),
    kbak: deriveByMac(mac, kbpkLength, method, authentication),
  }
}

function derive(kbpk: Uint8Array, method: KeyBlockMethod, purpose: Purpose): Buffer {
  if (method === 'variant') return deriveVariant(kbpk, purpose)
  const cmacOf = method === 'aesCmac' ? aesCmac : tdesCmac
  return orRefuse('key_derivation_refused', () =>
    deriveByMac((message) => cmacOf(kbpk, message), kbpk.length, method, purpose),
  )
}

function deriveByMac(
  mac: (message: Uint8Array) => Uint8Array,
  kbpkLength: number,
  method: 'tdesCmac' | 'aesCmac',
  purpose: Purpose,
): Buffer {
  const indicator = indicators[method][kbpkLength] ?? refuse('key_derivation_refused')
  const count = Math.ceil(kbpkLength / macLengths[method])
  const blocks = Array.from({ length: count }, (_, at) =>
    mac(derivationData(at + 1, purpose.usage, indicator, kbpkLength * 8)),
  )
  return Buffer.concat(blocks).subarray(0, kbpkLength)
}

function deriveVariant(kbpk: Uint8Array, purpose: Purpose): Buffer {
  if (kbpk.length !== 16 && kbpk.length !== 24) refuse('key_derivation_refused')
  return Buffer.from(kbpk.map((byte) => byte ^ purpose.variant))
}

/** Counter, usage, separator, algorithm, bits of key (X9.143:2021 tables 24, 25). */
function derivationData(counter: number, usage: number, indicator: number, bits: number): Buffer {
  const derivation = Buffer.alloc(8)
  derivation.writeUInt8(counter, 0)
  derivation.writeUInt16BE(usage, 1)
  derivation.writeUInt16BE(indicator, 4)
  derivation.writeUInt16BE(bits, 6)
  return derivation
}
