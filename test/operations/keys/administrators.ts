import assert from 'node:assert/strict'
import { hashClientSecret } from '../../../src/operations/clients/credentials.ts'
import { upsertClient } from '../../../src/storage/clients/clients.ts'
import type { Answer, TestService } from '../../support/service.ts'
import { askToken } from '../clients/administer.ts'

/** Administrators of a test: those whom the configuration names, and those whom others register. */

export type Administrator = {
  clientId: string
  call: (method: string, path: string, body?: object) => Promise<Answer>
}

/** One who calls with the token of a client's secret. */
export const signIn = async (
  service: TestService,
  clientId: string,
  secret: string,
): Promise<Administrator> => {
  const { status, token } = await askToken(service, clientId, secret)
  assert.equal(status, 200, clientId)
  const call: Administrator['call'] = (method, path, body) =>
    service.call(method, `/${path}`, { token, listener: 'private', ...(body && { body }) })
  return { clientId, call }
}

/** One whom the configuration names: nobody had a hand in it. */
export const rootOf = async (service: TestService, clientId: string): Promise<Administrator> => {
  const secretHash = hashClientSecret(`secret of ${clientId}`)
  await upsertClient(service.database, {
    ...{ clientId, clientName: clientId, kind: 'admin', scopes: ['admin'], jwks: null },
    secretHash,
  })
  return signIn(service, clientId, `secret of ${clientId}`)
}

export const newAdministrator = (clientId: string) => ({
  clientId,
  clientName: clientId,
  kind: 'admin',
  scopes: ['admin'],
})

/** One whom another registers, who gets the secret. */
export const registeredBy = async (
  service: TestService,
  maker: Administrator,
  clientId: string,
): Promise<Administrator> => {
  const { json, status, text } = await maker.call('POST', '/clients', newAdministrator(clientId))
  assert.equal(status, 201, text)
  return signIn(service, clientId, json.clientSecret)
}
