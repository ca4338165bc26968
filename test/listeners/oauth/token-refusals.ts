import { hashClientSecret } from '../../../src/operations/clients/credentials.ts'
import { audiences, basic, secret } from './support.ts'

const storedHash = Buffer.from(hashClientSecret(secret)).toString('base64url')
const form = { 'content-type': 'application/x-www-form-urlencoded' }
/** Requests to the token endpoint, and how RFC 6749 section 5.2 and RFC 8707 have them refused. */
export const tokenRefusals: readonly {
  readonly title: string
  readonly parameters: Readonly<Record<string, string>> | [string, string][]
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  readonly error: string
}[] = [
  {
    title: 'a wrong secret in the header',
    parameters: {},
    headers: { authorization: basic('acme', 'wrong') },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'a wrong secret in the body',
    parameters: { client_id: 'acme', client_secret: 'wrong' },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'an unknown client',
    parameters: {},
    headers: { authorization: basic('nobody') },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'a client id that no database takes',
    parameters: { client_id: 'ac\0me', client_secret: secret },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'the stored hash in place of the secret',
    parameters: { client_id: 'acme', client_secret: storedHash },
    status: 401,
    error: 'invalid_client',
  },
  { title: 'no client authentication', parameters: {}, status: 401, error: 'invalid_client' },
  {
    title: 'a client id without a secret',
    parameters: { client_id: 'acme' },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'a Basic header that is not base64',
    parameters: {},
    headers: { authorization: 'Basic %%%' },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'another scheme than Basic',
    parameters: {},
    headers: { authorization: 'Bearer abc' },
    status: 401,
    error: 'invalid_client',
  },
  {
    title: 'two ways of authentication at once',
    parameters: { client_id: 'acme', client_secret: secret },
    headers: { authorization: basic('acme') },
    status: 400,
    error: 'invalid_request',
  },
  {
    title: 'a parameter twice',
    parameters: [
      ['grant_type', 'client_credentials'],
      ['scope', 'cards.read'],
      ['scope', 'cards.write'],
    ],
    headers: { authorization: basic('acme') },
    status: 400,
    error: 'invalid_request',
  },
  {
    title: 'no grant type',
    parameters: { grant_type: '' },
    headers: { authorization: basic('acme') },
    status: 400,
    error: 'invalid_request',
  },
  ...['authorization_code', 'password', 'refresh_token', 'implicit', '__proto__'].map((grant) => ({
    title: `the grant type ${grant}`,
    parameters: { grant_type: grant },
    headers: { authorization: basic('acme') },
    status: 400,
    error: 'unsupported_grant_type',
  })),
  ...[
    'cvv.read',
    'cards.read cvv.read',
    'nonsense',
    'openid',
    'admin',
    'cards.read  pin.write',
  ].map((scope) => ({
    title: `the scope "${scope}" that the client lacks`,
    parameters: { scope },
    headers: { authorization: basic('acme') },
    status: 400,
    error: 'invalid_scope',
  })),
  ...['https://elsewhere.test', 'not a URI', `${audiences.public}#a`].map((resource) => ({
    title: `the resource ${resource}`,
    parameters: { resource },
    headers: { authorization: basic('acme') },
    status: 400,
    error: 'invalid_target',
  })),
  {
    title: 'a body that is not a form',
    parameters: {},
    headers: { 'content-type': 'application/json', authorization: basic('acme') },
    status: 400,
    error: 'invalid_request',
  },
  {
    title: 'a wrong secret, to a browser',
    parameters: {},
    headers: { ...form, accept: 'text/html', authorization: basic('acme', 'wrong') },
    status: 401,
    error: 'invalid_client',
  },
]
