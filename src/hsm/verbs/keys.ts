import type { KeyAdministration } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { keyCheckMethodOf } from '../keys/key-check.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import { keyKindOf, mayLeave } from '../keys/key-purposes.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { orProblem } from '../keys/key-strength.ts'
import { fingerprintsOf, openPan } from './card-numbers.ts'
import { encipherStoredPin, openPin } from './pins.ts'
import { open, recordVerbs, seal, sealedVersionOf } from './records.ts'

type KeyLifeVerbs = Omit<KeyAdministration, 'custody'>

/** What the life of keys asks of any HSM, wherever its keys lie. */
export function keyLifeVerbs(engine: KeyEngine, ring: KeyRing): KeyLifeVerbs {
  const { revealRecord, sealRecord } = recordVerbs(ring)
  return {
    countedUses: ring.countedUses,
    refreshKeys: ring.refresh,
    describeKey(keyBlock) {
      const { algorithm, exportability, keyUsage, modeOfUse } = engine.usageOf(keyBlock)
      const checkMethod = keyCheckMethodOf(algorithm)
      return { keyUsage, algorithm, modeOfUse, exportability, checkMethod }
    },
    generateKey: (purpose, form, exportable) =>
      orProblem(() => {
        const kind = keyKindOf(purpose, form)
        if (exportable && !mayLeave(purpose)) {
          throw new KeyRefusal('A key of this purpose never leaves.')
        }
        return engine.generate(kind, exportable ? 'E' : 'N')
      }),
    refuseOtherForm: (purpose, form) =>
      orProblem(() => {
        keyKindOf(purpose, form)
      }),
    sealedVersionOf,
    async rewrapPan({ encryptedPan, publicToken }) {
      return seal(ring, 'pan', publicToken, await open(ring, 'pan', publicToken, encryptedPan))
    },
    async rewrapPin(card, { pinBlock, pinKey }) {
      const pan = await openPan(ring, card)
      return encipherStoredPin(ring, pan, await openPin(ring, pan, pinBlock, pinKey))
    },
    async rewrapRecord(purpose, subject, sealed) {
      return sealRecord(purpose, subject, await revealRecord(purpose, subject, sealed))
    },
    panFingerprints: async (card) => fingerprintsOf(ring, await openPan(ring, card)),
  }
}
