import { aesKeyCheckValue } from '../crypto/key-check-value.ts'
import { cardNumberVerbs } from './card-number-verbs.ts'
import type { Hsm } from './hsm.ts'
import { openKeyRing } from './key-ring.ts'
import type { KeyStore } from './key-store.ts'
import { pinVerbs } from './pin-verbs.ts'
import { type DigitSource, randomDigits } from './random-digits.ts'
import { recordVerbs } from './record-verbs.ts'
import type { SecretKey } from './secret-key.ts'
import { openSoftwareKeyEngine } from './software-key-engine.ts'
import { tokenSigningVerbs } from './token-signing-verbs.ts'
import { verificationVerbs } from './verification-verbs.ts'
import { openZoneKeys, zoneKeyVerbs } from './zone-key-verbs.ts'

export interface SoftwareHsmOptions {
  /** AES-256: every other key is kept as a key block under it. */
  readonly masterKey: SecretKey
  readonly keyStore: KeyStore
  /** Where tokens, PANs and PINs are drawn from; unpredictable unless given. */
  readonly drawDigits?: DigitSource
}

/**
 * The HSM contract in this process's memory. It is no secure cryptographic device (ISO 13491): whoever
 * reads this process's memory reads the keys, so it is not for production PINs.
 */
export async function openSoftwareHsm(options: SoftwareHsmOptions): Promise<Hsm> {
  const { drawDigits = randomDigits, keyStore, masterKey } = options
  const ring = await openKeyRing(openSoftwareKeyEngine(masterKey), keyStore)
  return {
    ...cardNumberVerbs(ring, drawDigits),
    ...pinVerbs(ring, drawDigits),
    ...recordVerbs(ring),
    ...tokenSigningVerbs(ring),
    ...zoneKeyVerbs(masterKey),
    ...verificationVerbs(ring, openZoneKeys(masterKey)),
    ping: async () => {},
  }
}

/** The master key's check value: AES-CMAC of zeros, five bytes in hex (X9.143, annex C). */
export const masterKeyCheckValue = (masterKey: SecretKey): string =>
  aesKeyCheckValue(masterKey.reveal()).toString('hex').toUpperCase()
