import { type KeyBlockHeader, readKeyBlockHeader } from '../../crypto/key-block-header.ts'
import { type KeyKind, parseCipher } from '../contract/catalogue.ts'
import type { KeyPurpose } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { refuseOtherCheckValue } from './key-check.ts'
import { refuseOtherPurpose } from './key-purposes.ts'
import { refuseWeakerProtection } from './key-strength.ts'

/** What a key is protected by: its algorithm as key blocks name it, and its length. */
export interface Protection {
  readonly algorithm: string
  readonly lengthBytes: number
}

/** The version of the blocks that a key protects: B by TDES, D by AES (X9.143:2021 6.2). */
export const blockVersionUnder = ({ algorithm }: Pick<Protection, 'algorithm'>): 'B' | 'D' =>
  parseCipher(algorithm) === 'AES' ? 'D' : 'B'

/**
 * Refuses a block of the version that is not for its protection key: one key is not to be used by
 * two algorithms.
 * @throws KeyRefusal; CryptoRefusal `key_block_refused` when the header is malformed.
 */
export function refuseOtherBlockVersion(protection: Protection, keyBlock: string): void {
  const { version } = readKeyBlockHeader(keyBlock).header
  if (version === blockVersionUnder(protection)) return
  throw new KeyRefusal(
    'The version of the key block does not match the algorithm of the zone master key.',
  )
}

/** A key that came in a key block, and what its sender said of it. */
interface TransportedKey {
  readonly header: KeyBlockHeader
  readonly key: Uint8Array
  readonly keyCheckValue: string | null
}

/**
 * The kind that a key becomes that came in a key block.
 * @throws KeyRefusal unless it may be taken in for the purpose: one key, protected by one as
 *   strong, for the use that the purpose asks for, and with the check value that was given.
 */
export function transportedKind(
  protection: Protection,
  purpose: KeyPurpose,
  { header, key, keyCheckValue }: TransportedKey,
): KeyKind {
  refuseWeakerProtection(protection, { algorithm: header.algorithm, lengthBytes: key.length })
  // A key version that begins so says that a component is in the block (X9.143:2021 6.2).
  if (header.keyVersion.startsWith('c')) {
    throw new KeyRefusal('The key block contains a component, not a key.')
  }
  const kind = refuseOtherPurpose(purpose, header, key.length)
  refuseOtherCheckValue(header.algorithm, key, keyCheckValue)
  return kind
}
