import type { Hsm, RecordPurpose } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
import { open, seal } from './sealing.ts'

/** Seals text that belongs to a subject, and fingerprints requests. */
export const recordVerbs = (
  ring: KeyRing,
): Pick<Hsm, 'sealRecord' | 'revealRecord' | 'fingerprintRequest'> => ({
  sealRecord: (purpose, subject, text) =>
    seal(ring, 'personal-data', associated(purpose, subject), Buffer.from(text)),
  async revealRecord(purpose, subject, sealed) {
    return (await open(ring, 'personal-data', associated(purpose, subject), sealed)).toString()
  },
  async fingerprintRequest(request) {
    const versions = await ring.versions('request-fingerprint')
    return Promise.all(versions.map(({ key }) => key.mac(Buffer.from(request))))
  },
})

const associated = (purpose: RecordPurpose, subject: string): string => `${purpose}\n${subject}`
