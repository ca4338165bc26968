import { deviceKeyVerbs } from './card-data-device-key.ts'
import type { CardDataHsm } from './card-data-hsm.ts'
import { publishedKeyVerbs } from './card-data-keys.ts'
import { encryptedPinVerbs } from './card-data-pin.ts'
import { sessionKeyVerbs } from './card-data-session-key.ts'
import type { Hsm } from './hsm.ts'
import type { KeyEngine } from './key-engine.ts'
import type { KeyRing } from './key-ring.ts'
import type { KeyStore } from './key-store.ts'

/** Card data to the device, and PINs from it. */
export const cardDataVerbs = (
  engine: KeyEngine,
  ring: KeyRing,
  keyStore: KeyStore,
  pins: Pick<Hsm, 'importPin'>,
): CardDataHsm => ({
  ...publishedKeyVerbs(engine, ring, keyStore),
  ...sessionKeyVerbs(ring),
  ...deviceKeyVerbs(ring),
  ...encryptedPinVerbs(ring, pins),
})
