import { cardDataVerbs } from './card-data-verbs.ts'
import { cardNumberVerbs } from './card-number-verbs.ts'
import type { Hsm } from './hsm.ts'
import type { KeyAdministration, KeyCustody } from './key-administration.ts'
import type { KeyEngine } from './key-engine.ts'
import { keyLifeVerbs } from './key-life-verbs.ts'
import { type KeyRing, openKeyRing } from './key-ring.ts'
import type { KeyStore } from './key-store.ts'
import { pinVerbs } from './pin-verbs.ts'
import { type DigitSource, randomDigits } from './random-digits.ts'
import { recordVerbs } from './record-verbs.ts'
import { tokenSigningVerbs } from './token-signing-verbs.ts'
import { verificationVerbs } from './verification-verbs.ts'
import { openZoneKeys, zoneKeyVerbs } from './zone-key-verbs.ts'

/** What every implementation of the HSM needs, wherever its keys lie. */
export interface HsmOptions {
  readonly keyStore: KeyStore
  /** Where tokens, PANs and PINs are drawn from; unpredictable unless given. */
  readonly drawDigits?: DigitSource
  /** How old a reading of the key store may be before nothing is answered from it. */
  readonly staleAfterMs?: number
}

/** The verbs, on keys that lie wherever the engine has them. */
export async function openEngineHsm(
  engine: KeyEngine,
  options: HsmOptions,
  custody: KeyCustody,
): Promise<Hsm & KeyAdministration> {
  const { drawDigits = randomDigits(engine.random), keyStore } = options
  const ring = await openKeyRing(engine, keyStore, options)
  const pins = pinVerbs(ring, drawDigits)
  return {
    custody,
    ...keyLifeVerbs(engine, ring),
    ...cardNumberVerbs(ring, drawDigits),
    ...pins,
    ...recordVerbs(ring),
    ...tokenSigningVerbs(ring),
    ...zoneKeyVerbs(engine),
    ...cardDataVerbs(engine, ring, keyStore, pins),
    ...verificationVerbs(ring, openZoneKeys(engine)),
    ping: () => useKey(ring),
  }
}

/** The way that every verb goes, down to a key that works. */
async function useKey(ring: KeyRing): Promise<void> {
  const { key } = await ring.active('request-fingerprint')
  await key.mac(Buffer.from('ping'))
}
