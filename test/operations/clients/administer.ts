import assert from 'node:assert/strict'
import { hashClientSecret } from '../../../src/operations/clients/credentials.ts'
import { upsertClient } from '../../../src/storage/clients/clients.ts'
import type { Answer, TestService } from '../../support/service.ts'

/** Calls the private listener as the sandbox's administrator. */
export const administerOf =
  (service: TestService) =>
  (
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    service.call(method, `/${path}`, {
      as: 'admin',
      listener: 'private',
      headers,
      ...(body && { body }),
    })

/** A product that can be made, with what a test wants otherwise. */
export const newProduct = (members: object = {}): Record<string, unknown> => ({
  productId: 5001,
  productName: 'House Debit',
  schemeName: 'Visa',
  bin: '45000012',
  currencyCode: 'EUR',
  cardTypes: ['Virtual'],
  ...members,
})

/** Asks for a token with a client's secret. @returns the status and the token. */
export const askToken = async (
  service: TestService,
  clientId: string,
  clientSecret: string,
): Promise<{ status: number; token: string }> => {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const answer = await service.call('POST', '//oauth/token', {
    token: null,
    payload: 'grant_type=client_credentials',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  return { status: answer.status, token: answer.json.access_token ?? '' }
}

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
    clientId,
    clientName: clientId,
    kind: 'admin',
    scopes: ['admin'],
    jwks: null,
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
