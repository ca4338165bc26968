import type { KeyAdministration } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { selectKeyCheckMethod } from '../keys/key-check.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import { mayLeave, selectKeyKind } from '../keys/key-purposes.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { orProblem } from '../keys/key-strength.ts'
import { computeFingerprints, openPan } from './card-numbers.ts'
import { encipherStoredPin, openPin } from './pins.ts'
import { open, readSealedVersion, recordVerbs, seal } from './records.ts'

type KeyLifeVerbs = Omit<KeyAdministration, 'custody'>

/** The verbs of the key life cycle, for any engine. */
export function keyLifeVerbs(engine: KeyEngine, ring: KeyRing): KeyLifeVerbs {
  const { revealRecord, sealRecord } = recordVerbs(ring)
  return {
    countedUses: ring.countedUses,
    refreshKeys: ring.refresh,
    describeKey(keyBlock) {
      const { algorithm, exportability, keyUsage, modeOfUse } = engine.readKeyAttributes(keyBlock)
      const checkMethod = selectKeyCheckMethod(algorithm)
      return { keyUsage, algorithm, modeOfUse, exportability, checkMethod }
    },
    generateKey: (purpose, form, exportable) =>
      orProblem(() => {
        const kind = selectKeyKind(purpose, form)
        if (exportable && !mayLeave(purpose)) {
          throw new KeyRefusal('Keys of this purpose cannot be exported.')
        }
        return engine.generate(kind, exportable ? 'E' : 'N')
      }),
    refuseOtherForm: (purpose, form) =>
      orProblem(() => {
        selectKeyKind(purpose, form)
      }),
    readSealedVersion,
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
    panFingerprints: async (card) => computeFingerprints(ring, await openPan(ring, card)),
  }
}
