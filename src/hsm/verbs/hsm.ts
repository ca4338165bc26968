import { keyCatalogue, publishedKeyId } from '../contract/catalogue.ts'
import type { Hsm } from '../contract/hsm.ts'
import type { KeyAdministration, KeyCustody } from '../contract/key-administration.ts'
import type { KeyStore } from '../contract/stored-keys.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import { openKeyRing } from '../keys/key-ring.ts'
import { auditVerbs } from './audit.ts'
import { cardDataVerbs } from './card-data.ts'
import { cardNumberVerbs, type DigitSource, randomDigits } from './card-numbers.ts'
import { chipVerbs } from './chips.ts'
import { keyLifeVerbs } from './keys.ts'
import { macVerbs } from './macs.ts'
import { pinVerbs } from './pins.ts'
import { recordVerbs } from './records.ts'
import { stripeVerbs } from './stripes.ts'
import { openZoneKeys, verificationVerbs, zoneKeyVerbs } from './verification.ts'
import { virtualChipVerbs } from './virtual-chips.ts'

/** The options of every implementation of the HSM. */
export interface HsmOptions {
  readonly keyStore: KeyStore
  /** The source of tokens, PANs and PINs; unpredictable by default. */
  readonly drawDigits?: DigitSource
  /** The maximum age of a read of the key store before answers are refused. */
  readonly staleAfterMs?: number
}

/** Opens the HSM verbs on an engine. */
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
    ...zoneKeyVerbs(engine),
    ...macVerbs(engine),
    ...auditVerbs(engine, ring, keyStore),
    ...cardDataVerbs(engine, ring, keyStore, pins),
    ...chipVerbs(ring),
    ...stripeVerbs(ring),
    ...virtualChipVerbs(ring),
    ...verificationVerbs(ring, openZoneKeys(engine)),
    async tokenSigningKeys() {
      return (await ring.versions('token-signing')).map(({ key, version }) => ({
        keyId: publishedKeyId('token-signing', version),
        algorithm: keyCatalogue['token-signing'].publication.algorithm,
        publicJwk: key.publicJwk,
        sign: (message) => key.sign(message),
      }))
    },
    // Uses the same path as every verb, including a working key.
    async ping() {
      const { key } = await ring.active('request-fingerprint')
      await key.mac(Buffer.from('ping'))
    },
  }
}
