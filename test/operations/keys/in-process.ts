import type { TestService } from '../../support/service.ts'
import type { Send } from './mixed-load.ts'
import type { Administer } from './rotating.ts'

/** One service in this process, called by inject, as a load and an administrator call it. */

export const subjectOf = (service: TestService) => {
  const send: Send = async (as, method, path, body, key) => {
    const listener = as === 'network' ? 'private' : 'public'
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const answer = await service.call(method, path, {
      as,
      listener,
      headers,
      ...(body && { body }),
    })
    return { ...answer, header: (name) => String(answer.headers[name] ?? '') || null }
  }
  const administer: Administer = (method, path, body) =>
    service.call(method, path, { as: 'admin', listener: 'private', ...(body && { body }) })
  const zoneKey = Buffer.from(service.sandbox?.network.zoneKeys[0]?.value ?? '', 'hex')
  return { dataDir: service.dataDir, send, administer, zoneKey }
}
