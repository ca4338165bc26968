import { createHmac } from 'node:crypto'
import type { Hsm, RecordPurpose } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
import { open, seal } from './sealing.ts'

/** Seals text that belongs to a subject, and fingerprints requests. */
export const recordVerbs = (
  ring: KeyRing,
): Pick<Hsm, 'sealRecord' | 'revealRecord' | 'fingerprintRequest'> => ({
  async sealRecord(purpose, subject, text) {
    return seal(ring, 'personal-data', associated(purpose, subject), Buffer.from(text))
  },
  async revealRecord(purpose, subject, sealed) {
    return open(ring, 'personal-data', associated(purpose, subject), sealed).toString()
  },
  async fingerprintRequest(request) {
    const { key } = ring.active('request-fingerprint')
    return createHmac('sha256', key.reveal()).update(request).digest()
  },
})

const associated = (purpose: RecordPurpose, subject: string): string => `${purpose}\n${subject}`
