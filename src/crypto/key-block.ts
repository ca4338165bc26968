import { randomBytes } from 'node:crypto'
import { decipherAesCbc, encipherAesCbc } from './aes.ts'
import { aesCmac, tdesCmac } from './cmac.ts'
import {
  deriveKeyBlockKeys,
  type KeyBlockKeys,
  type KeyBlockMethod,
} from './key-block-derivation.ts'
import {
  type KeyBlockHeader,
  keyBlockUnit,
  readKeyBlockHeader,
  writeKeyBlockHeader,
} from './key-block-header.ts'
import { areEqualBytes, orRefuse, refuse } from './refusal.ts'
import { decipherTdesCbc, encipherTdesCbc } from './tdes.ts'

/** The content of a key block after its MAC was verified. */
export type UnwrappedKeyBlock = {
  readonly header: KeyBlockHeader
  /** The text of the header in the block, including its optional blocks. */
  readonly headerText: string
  /** The key, in clear. */
  readonly key: Buffer
}

const versions = {
  B: { method: 'tdesCmac', mac: tdesCmac, encipher: encipherTdesCbc, decipher: decipherTdesCbc },
  D: { method: 'aesCmac', mac: aesCmac, encipher: encipherAesCbc, decipher: decipherAesCbc },
} as const

/**
 * The longest key of each algorithm in bytes. Padding up to this length hides the length of a key.
 */
const longestKey: Readonly<Record<string, number>> = { A: 32, T: 24 }

/**
 * Wraps a key in a key block of version B or D: the header is bound to the key by a MAC that is
 * also the IV (X9.143:2021 6.1 and 7.3.1, TR-31:2018).
 *
 * @param kbpk key block protection key: 16 or 24 bytes for B; 16, 24 or 32 for D.
 * @param header the attributes of the key; written in the normal form.
 * @param key 1 byte or more.
 * @param padding random by default; key, padding and two bytes of length fill whole blocks.
 * @returns the block, in ASCII.
 * @throws CryptoRefusal `key_block_refused`, whatever is wrong.
 */
export function wrapKeyBlock(
  kbpk: Uint8Array,
  header: KeyBlockHeader,
  key: Uint8Array,
  padding: Uint8Array | null = null,
): string {
  if (key.length === 0 || key.length > 0x1fff) refuse('key_block_refused')
  return orRefuse('key_block_refused', () => {
    const { method, mac, encipher } = versions[header.version]
    const unit = keyBlockUnit[header.version]
    const length = Buffer.alloc(2)
    length.writeUInt16BE(key.length * 8)
    // All keys of an algorithm appear as long as its longest key (X9.143:2021 6.1).
    const longest = 2 + Math.max(longestKey[header.algorithm] ?? 0, key.length)
    const drawn = () => randomBytes(Math.ceil(longest / unit) * unit - 2 - key.length)
    const clear = Buffer.concat([length, key, padding ?? drawn()])
    const headerText = writeKeyBlockHeader(header, 2 * (clear.length + unit))
    const { kbak, kbek } = deriveKeyBlockKeys(kbpk, method)
    const tag = mac(kbak, Buffer.concat([Buffer.from(headerText), clear]))
    const ciphertext = encipher(kbek, tag, clear)
    return `${headerText}${Buffer.concat([ciphertext, tag]).toString('hex').toUpperCase()}`
  })
}

/**
 * Unwraps a key block of version B or D. Deciphered bytes are used only after the MAC over them and
 * the header was verified in constant time.
 *
 * @param kbpk key block protection key: 16 or 24 bytes for B; 16, 24 or 32 for D.
 * @param block the block, in ASCII; its hexadecimal digits are capitals, so a block has one
 *   spelling.
 * @throws CryptoRefusal `key_block_refused`, whether the key, the header, the block or the MAC is
 *   wrong.
 */
export function unwrapKeyBlock(kbpk: Uint8Array, block: string): UnwrappedKeyBlock {
  return orRefuse('key_block_refused', () =>
    unwrapKeyBlockWith((method) => deriveKeyBlockKeys(kbpk, method), block),
  )
}

/**
 * Unwraps a key block as {@link unwrapKeyBlock} does, under a protection key that may be outside
 * this process.
 *
 * @param deriveKeys derives the block's keys; its errors are passed on.
 * @throws CryptoRefusal `key_block_refused`, whether the keys, the header, the block or the MAC is
 *   wrong.
 */
export function unwrapKeyBlockWith(
  deriveKeys: (method: KeyBlockMethod) => KeyBlockKeys,
  block: string,
): UnwrappedKeyBlock {
  const { header, headerText, blockLength } = readKeyBlockHeader(block)
  const { method, mac, decipher } = versions[header.version]
  const { kbak, kbek } = deriveKeys(method)
  return orRefuse('key_block_refused', () => {
    const unit = keyBlockUnit[header.version]
    const bodyText = block.slice(headerText.length)
    if (bodyText.length % 2 !== 0 || !/^[0-9A-F]+$/.test(bodyText)) refuse('key_block_refused')
    const body = Buffer.from(bodyText, 'hex')
    const isWhole = block.length === blockLength && headerText.length % unit === 0
    // The body has at least one block of key data, then the MAC.
    if (!isWhole || body.length < 2 * unit) refuse('key_block_refused')
    const tag = body.subarray(-unit)
    const clear = decipher(kbek, tag, body.subarray(0, -unit))
    const due = mac(kbak, Buffer.concat([Buffer.from(headerText), clear]))
    if (!areEqualBytes(due, tag)) refuse('key_block_refused')
    // The key follows its length in bits and precedes the padding.
    const bits = clear.readUInt16BE(0)
    const isKey = bits > 0 && bits % 8 === 0 && 2 + bits / 8 <= clear.length
    if (!isKey) refuse('key_block_refused')
    return { header, headerText, key: clear.subarray(2, 2 + bits / 8) }
  })
}
