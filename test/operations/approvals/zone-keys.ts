import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { xor } from '../../../src/crypto/refusal.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import type { TestService } from '../../support/service.ts'

/** Calls the private listener as the administrator, and returns the answer of a success. */
export const administer = async (
  service: TestService,
  method: string,
  path: string,
  body?: object,
) => {
  const given = { as: 'admin', listener: 'private', ...(body && { body }) } as const
  const answer = await service.call(method, `/${path}`, given)
  assert.ok(answer.status < 300, answer.text)
  return answer.json
}

/** A zone master key that two people brought, in the sandbox by one client. */
export const bringZoneMasterKey = async (service: TestService, key: string) => {
  const parts = [randomBytes(32), randomBytes(32)] as const
  const entry = await administer(service, 'POST', '/component-entries', {
    family: 'zone-master',
    key,
    algorithm: 'AES',
    lengthBytes: 32,
    componentCount: 2,
    keyCheckValue: computeKeyCheckValue('A', xor(...parts)),
  })
  for (const [at, part] of parts.entries()) {
    await administer(service, 'POST', `/component-entries/${entry.entryId}/components`, {
      person: `Person ${at}`,
      component: part.toString('hex'),
      keyCheckValue: computeKeyCheckValue('A', part),
    })
  }
}

/** The request of a zone key of the demo network. */
export const zoneKey = (key: string) => ({
  family: 'zone',
  key,
  clientId: 'demo-network',
  algorithm: 'AES',
  lengthBytes: 32,
  pinBlockFormats: ['ISO_FORMAT_4'],
})
