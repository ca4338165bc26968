import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type JWK, type JWTPayload, SignJWT } from 'jose'
import {
  type AuthorizationServer,
  authorizationServerPaths,
  createAuthorizationServer,
} from '../../../src/listeners/oauth/authorization-server.ts'
import type { OauthSigningKey } from '../../../src/listeners/oauth/token-signing-key.ts'
import { hashClientSecret } from '../../../src/operations/clients/credentials.ts'
import { clientRegister } from '../../../src/service/authentication.ts'
import { type NewClient, upsertClient } from '../../../src/storage/clients/clients.ts'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { migrate } from '../../../src/storage/engine/migrate.ts'
import { openTestPglite } from '../../support/pglite.ts'

export const audiences = {
  public: 'https://cards.test/public',
  private: 'https://cards.test/private',
}

export const secret = 'Zk8t1Yp0c3JmT2xhV1nQe5b7u9rXhLdK4sGfAoMiNwE'

/** A signing key whose private part stands for the one inside an HSM. */
export function signingKey(keyId: string): OauthSigningKey & { readonly privateKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    keyId,
    algorithm: 'ES256',
    publicJwk: publicKey.export({ format: 'jwk' }) as JWK,
    privateKey,
    sign: async (bytes) => sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  }
}

/** A listener on a free port of loopback. */
export async function listen(
  listenerFor: (origin: string) => RequestListener,
): Promise<{ readonly origin: string; readonly server: Server }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  server.on('request', listenerFor(origin))
  return { origin, server }
}

/** The server without the rest of the public listener. */
export const requestListenerOf =
  (server: AuthorizationServer): RequestListener =>
  async (request, response) => {
    if (request.url !== authorizationServerPaths.jwks) return server.issueToken(request, response)
    response.end((await server.document('jwks')).text)
  }

const openDatabase = (): Promise<Database> =>
  openTestPglite({
    prepare: (fresh) => migrate(fresh, new URL('../../../database/migrations/', import.meta.url)),
  })

export interface Running {
  readonly issuer: string
  readonly database: Database
  readonly keys: readonly ReturnType<typeof signingKey>[]
  readonly server: AuthorizationServer
  /** What the server told its log. */
  readonly failures: unknown[]
  close(): Promise<void>
}

/** The authorization server over a real database and a real listener. */
export async function runAuthorizationServer(
  wrap: (database: Database) => Connection = (database) => database,
): Promise<Running> {
  const database = await openDatabase()
  const keys = [signingKey('first'), signingKey('second')]
  const failures: unknown[] = []
  let running: AuthorizationServer | undefined
  const { origin, server: listener } = await listen((issuer) => {
    running = createAuthorizationServer({
      issuer,
      audiences,
      clients: clientRegister(wrap(database)),
      signingKeys: keys,
      findClientCertificate: null,
      onError: (error) => failures.push(error),
    })
    return requestListenerOf(running)
  })
  if (!running) throw new Error('The server was not made.')
  return {
    issuer: origin,
    database,
    keys,
    server: running,
    failures,
    close: async () => {
      listener.closeAllConnections()
      listener.close()
      await database.close()
    },
  }
}

/** Registers a client with a secret, and overrides. */
export const register = (database: Connection, client: Partial<NewClient>): Promise<void> =>
  upsertClient(database, {
    clientId: 'acme',
    clientName: 'Acme',
    kind: 'client',
    scopes: ['cards.read', 'cards.write', 'pin.write'],
    secretHash: hashClientSecret(secret),
    jwks: null,
    ...client,
  })

export const basic = (clientId: string, password = secret): string =>
  `Basic ${Buffer.from(`${clientId}:${password}`).toString('base64')}`

export interface TokenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** Asks for a token; `grant_type` is given unless said otherwise. */
export async function askToken(
  issuer: string,
  parameters: Readonly<Record<string, string>> | [string, string][],
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> {
  const body = new URLSearchParams(
    Array.isArray(parameters) ? parameters : { grant_type: 'client_credentials', ...parameters },
  )
  const response = await fetch(`${issuer}/oauth/token`, { method: 'POST', body, headers })
  const answer = (await response.json()) as TokenAnswer['body']
  return { status: response.status, headers: response.headers, body: answer }
}

/** A token as the embedded issuer makes it, with what a test wants to be otherwise. */
export const forge = (
  key: KeyObject,
  issuer: string,
  claims: JWTPayload = {},
  header: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const now = Math.floor(Date.now() / 1_000)
  return new SignJWT({
    iss: issuer,
    aud: audiences.public,
    sub: 'acme',
    client_id: 'acme',
    scope: 'cards.read cards.write',
    jti: 'a',
    iat: now,
    exp: now + 3_600,
    ...claims,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'first', ...header })
    .sign(key)
}

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
