import { type KeyBlockHeader, readKeyBlockHeader } from '../../crypto/key-block-header.ts'
import { type KeyKind, parseCipher } from '../contract/catalogue.ts'
import type { KeyPurpose } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { refuseOtherCheckValue } from './key-check.ts'
import { refuseOtherPurpose } from './key-purposes.ts'
import { refuseWeakerProtection } from './key-strength.ts'

/** The key that protects another one: its algorithm as in key blocks, and its length. */
export interface Protection {
  readonly algorithm: string
  readonly lengthBytes: number
}

/** Returns the block version for a protection key: B for TDES, D for AES (X9.143:2021 6.2). */
export const blockVersionUnder = ({ algorithm }: Pick<Protection, 'algorithm'>): 'B' | 'D' =>
  parseCipher(algorithm) === 'AES' ? 'D' : 'B'

/**
 * Rejects a block whose version does not match its protection key: a key must not be used by two
 * algorithms.
 * @throws KeyRefusal; CryptoRefusal `key_block_refused` if the header is malformed.
 */
export function refuseOtherBlockVersion(protection: Protection, keyBlock: string): void {
  const { version } = readKeyBlockHeader(keyBlock).header
  if (version === blockVersionUnder(protection)) return
  throw new KeyRefusal(
    'The version of the key block does not match the algorithm of the zone master key.',
  )
}

/** A key from a key block, and its attributes by the sender. */
interface TransportedKey {
  readonly header: KeyBlockHeader
  readonly key: Uint8Array
  readonly keyCheckValue: string | null
}

/**
 * Selects the kind of a key from a key block.
 * @throws KeyRefusal unless the key can be imported for the purpose: one key, under a protection
 *   key at least as strong, for the purpose's use, and with the given check value.
 */
export function transportedKind(
  protection: Protection,
  purpose: KeyPurpose,
  { header, key, keyCheckValue }: TransportedKey,
): KeyKind {
  refuseWeakerProtection(protection, { algorithm: header.algorithm, lengthBytes: key.length })
  // A key version with this prefix means that the block holds a component (X9.143:2021 6.2).
  if (header.keyVersion.startsWith('c')) {
    throw new KeyRefusal('The key block contains a component, not a key.')
  }
  const kind = refuseOtherPurpose(purpose, header, key.length)
  refuseOtherCheckValue(header.algorithm, key, keyCheckValue)
  return kind
}
