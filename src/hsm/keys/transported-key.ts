import { type KeyBlockHeader, readKeyBlockHeader } from '../../crypto/key-block-header.ts'
import type { KeyKind } from '../contract/catalogue.ts'
import type { KeyPurpose } from '../contract/key-administration.ts'
import { refuseOtherCheckValue } from './key-check.ts'
import { refuseOtherPurpose } from './key-purposes.ts'
import { KeyRefusal, refuseWeakerProtection } from './key-strength.ts'

/** What a key is protected by: its algorithm as key blocks name it, and its length. */
export interface Protection {
  readonly algorithm: string
  readonly lengthBytes: number
}

/**
 * Refuses a block of the version that is not for its protection key: one key is not to be used by two
 * algorithms (X9.143:2021 6.2: B by TDES, D by AES).
 * @throws KeyRefusal; CryptoRefusal `key_block_refused` when the header is malformed.
 */
export function refuseOtherBlockVersion({ algorithm }: Protection, keyBlock: string): void {
  const { version } = readKeyBlockHeader(keyBlock).header
  if (version === (algorithm === 'A' ? 'D' : 'B')) return
  throw new KeyRefusal(
    'The version of the key block is not for a zone master key of its algorithm.',
  )
}

/** A key that came in a key block, and what its sender told of it. */
interface TransportedKey {
  readonly header: KeyBlockHeader
  readonly key: Uint8Array
  readonly keyCheckValue: string | null
}

/**
 * The kind that a key becomes that came in a key block.
 * @throws KeyRefusal unless it may be taken in for the purpose: one key, protected by one as strong, for
 *   the use that the purpose asks for, and with the check value that was told.
 */
export function travelledKind(
  protection: Protection,
  purpose: KeyPurpose,
  { header, key, keyCheckValue }: TransportedKey,
): KeyKind {
  refuseWeakerProtection(protection, { algorithm: header.algorithm, lengthBytes: key.length })
  // A key version that begins so says that a component is in the block (X9.143:2021 6.2).
  if (header.keyVersion.startsWith('c')) {
    throw new KeyRefusal('The key block says that it holds a component, not a key.')
  }
  const kind = refuseOtherPurpose(purpose, header, key.length)
  refuseOtherCheckValue(header.algorithm, key, keyCheckValue)
  return kind
}
