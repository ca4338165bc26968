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
