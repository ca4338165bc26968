import type { Hsm, RecordPurpose } from './hsm.ts'
import type { KeyRing } from './key-ring.ts'
import { open, seal } from './sealing.ts'

/** Seals text that belongs to a subject, and fingerprints requests. */
export const recordVerbs = (
  ring: KeyRing,
): Pick<Hsm, 'sealRecord' | 'revealRecord' | 'fingerprintRequest' | 'fingerprintRequestId'> => ({
  sealRecord: (purpose, subject, text) =>
    seal(ring, 'personal-data', associated(purpose, subject), Buffer.from(text)),
  async revealRecord(purpose, subject, sealed) {
    return (await open(ring, 'personal-data', associated(purpose, subject), sealed)).toString()
  },
  async fingerprintRequest({ clientId, idempotencyKey, request }) {
    const versions = await ring.versions('request-fingerprint')
    // A request begins with its method, in capitals: no key and no request id is ever one.
    const idempotent = Buffer.from(`idempotency-key\n${clientId}\n${idempotencyKey}`)
    return Promise.all(
      versions.map(async ({ key }) => {
        const macs = [key.mac(idempotent), key.mac(Buffer.from(request))] as const
        const [keyHash, fingerprint] = await Promise.all(macs)
        return { keyHash, fingerprint }
      }),
    )
  },
  async fingerprintRequestId(requestId) {
    const { key } = await ring.active('request-fingerprint')
    return key.mac(Buffer.from(`request-id\n${requestId}`))
  },
})

const associated = (purpose: RecordPurpose, subject: string): string => `${purpose}\n${subject}`
