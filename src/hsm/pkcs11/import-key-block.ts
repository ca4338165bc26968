import { cmac } from '../../crypto/cmac.ts'
import { unwrapKeyBlockWith } from '../../crypto/key-block.ts'
import { deriveKeysByMac, type KeyBlockKeys } from '../../crypto/key-block-derivation.ts'
import { CryptoRefusal } from '../../crypto/refusal.ts'
import type { KeyPurpose } from '../contract/key-administration.ts'
import { KeyRefusal, type WrappedKey } from '../contract/stored-keys.ts'
import { unusable } from '../keys/key-strength.ts'
import {
  type Protection,
  refuseOtherBlockVersion,
  transportedKind,
} from '../keys/transported-key.ts'
import { encipherBlocks } from './ciphers.ts'
import { type Handle, mechanism } from './cryptoki.ts'
import { importTokenKey } from './make-keys.ts'
import { findObject, parseLabel, parseReference, refuseExtractable } from './objects.ts'
import type { TokenSession } from './session.ts'

/** A zone master key in the token. */
interface ZoneMasterKey extends Protection {
  readonly object: Handle
}

/**
 * Imports a key block under a zone master key of the token. PKCS#11 has no verb for key blocks: the
 * token computes the MACs that derive the block's two keys, and the unwrapped key is in this
 * process until the token stores it.
 * @throws KeyRefusal if the block is invalid or has another purpose.
 */
export function importKeyBlock(
  session: TokenSession,
  purpose: KeyPurpose,
  zoneMasterKeyReference: string,
  { keyBlock, keyCheckValue }: { readonly keyBlock: string; readonly keyCheckValue: string | null },
): WrappedKey {
  const zoneMasterKey = openZoneMasterKey(session, zoneMasterKeyReference)
  const { header, key } = unwrapUnder(session, zoneMasterKey, keyBlock)
  try {
    const kind = transportedKind(zoneMasterKey, purpose, { header, key, keyCheckValue })
    return importTokenKey(session, kind, key)
  } finally {
    key.fill(0)
  }
}

function openZoneMasterKey(session: TokenSession, reference: string): ZoneMasterKey {
  const key = parseReference(reference)
  const { algorithm, keyUsage, lengthBytes, purpose } = parseLabel(key)
  if (keyUsage !== 'K1' || purpose !== 'zone-master' || lengthBytes === null) {
    throw new KeyRefusal('The key is not a zone master key.')
  }
  const object = findObject(session, key, 'whole')
  refuseExtractable(session, object)
  return { object, algorithm, lengthBytes }
}

function unwrapUnder(session: TokenSession, zoneMasterKey: ZoneMasterKey, keyBlock: string) {
  const { algorithm, lengthBytes, object } = zoneMasterKey
  const [cipher, blockLength] =
    algorithm === 'A' ? ([mechanism.aesEcb, 16] as const) : ([mechanism.des3Ecb, 8] as const)
  // For a single block, CBC from an IV of zeros is the bare cipher.
  const encipher = (block: Uint8Array) => encipherBlocks(session, object, cipher, block)
  const mac = (message: Uint8Array) => cmac(encipher, blockLength, message)
  const derived: KeyBlockKeys[] = []
  try {
    refuseOtherBlockVersion(zoneMasterKey, keyBlock)
    return unwrapKeyBlockWith((method) => {
      const keys = deriveKeysByMac(mac, lengthBytes, method)
      derived.push(keys)
      return keys
    }, keyBlock)
  } catch (error) {
    if (error instanceof CryptoRefusal) throw new KeyRefusal(unusable)
    throw error
  } finally {
    for (const { kbak, kbek } of derived) {
      kbak.fill(0)
      kbek.fill(0)
    }
  }
}
