import { IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { JWK } from 'jose'
import { assertionAlgorithms, type ListenerName, scopesOf } from '../../domain/client.ts'

import type { Connection } from '../../storage/engine/database.ts'
import { entityTagOf, hasEntity, publishedCacheControl } from '../http/published-document.ts'
import { type TokenAttempt, uncounted } from './token-attempts.ts'
import { clientAuthenticationMethods, createTokenEndpoint } from './token-endpoint.ts'
import { type OauthSigningKey, publishedJwk } from './token-signing-key.ts'

export interface AuthorizationServerOptions {
  /** `BASE_URL`: https, or http on loopback; no query, no fragment, no slash at its end. */
  readonly issuer: string
  /** `aud` of the tokens for each listener: absolute URIs without fragment (RFC 8707 section 2). */
  readonly audiences: Readonly<Record<ListenerName, string>>
  readonly database: Connection
  /** At least one. The first signs, all are published. */
  readonly signingKeys: readonly OauthSigningKey[]
  /** Whether the token endpoint asks callers for a certificate: then tokens can be bound to it. */
  readonly bindsTokens: boolean
  /** Told of what went wrong on this side, for the log: a 500, a 503, a registered key of no use. */
  onError(error: unknown): void
}

export interface AuthorizationServer {
  /**
   * Answers the three paths below, and 404 on every other.
   * @param body what was read of the request already; left out, it is read from the request.
   * @param attempt counts the outcome of a request for a token; left out, nobody does.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    body?: Uint8Array,
    attempt?: TokenAttempt,
  ): Promise<void>
  /** The public part of every signing key, for a verifier in this process. */
  readonly publicKeys: readonly JWK[]
}

/** What the server answers. */
export const authorizationServerPaths = {
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  metadata: '/.well-known/oauth-authorization-server',
} as const

/**
 * The embedded authorization server: client credentials, and what a client needs to find it.
 * @throws Error when there is no signing key, or an option is not of the form that it says.
 */
export function createAuthorizationServer(
  options: AuthorizationServerOptions,
): AuthorizationServer {
  refuseBadOptions(options)
  const publicKeys = options.signingKeys.map(publishedJwk)
  const issueToken = createTokenEndpoint(options, authorizationServerPaths.token)
  const documents = new Map<string, Document>([
    [authorizationServerPaths.jwks, document('application/jwk-set+json', { keys: publicKeys })],
    [authorizationServerPaths.metadata, document('application/json', metadataOf(options))],
  ])
  return {
    publicKeys,
    handle: async (request, response, body, attempt = uncounted) => {
      const path = request.url?.split('?', 1)[0] ?? ''
      const published = documents.get(path)
      if (published) answerDocument(request, response, published)
      else if (path !== authorizationServerPaths.token) refuse(response, 404)
      else if (request.method !== 'POST') refuse(response, 405, { allow: 'POST' })
      else await issueToken(body ? withBody(request, body) : request, response, attempt)
    },
  }
}

function refuseBadOptions({ audiences, issuer, signingKeys }: AuthorizationServerOptions): void {
  if (signingKeys.length === 0) throw new Error('No key to sign access tokens with.')
  for (const uri of [issuer, audiences.public, audiences.private]) {
    if (!URL.canParse(uri) || uri.includes('#')) throw new Error(`Not an absolute URI: ${uri}`)
  }
  if (audiences.public === audiences.private) {
    throw new Error('The public and the private listener need different audiences.')
  }
}

/** RFC 8414 section 2. The addresses come from the issuer, never from a Host header. */
const metadataOf = ({
  bindsTokens,
  issuer,
}: AuthorizationServerOptions): Record<string, unknown> => ({
  issuer,
  token_endpoint: `${issuer}${authorizationServerPaths.token}`,
  jwks_uri: `${issuer}${authorizationServerPaths.jwks}`,
  scopes_supported: scopesOf(),
  response_types_supported: [],
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: clientAuthenticationMethods,
  token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  // RFC 8705 section 3.3. The token endpoint is the same with a certificate: it needs no alias.
  ...(bindsTokens && { tls_client_certificate_bound_access_tokens: true }),
})

interface Document {
  readonly mediaType: string
  readonly text: string
  readonly entityTag: string
}

function document(mediaType: string, content: unknown): Document {
  const text = JSON.stringify(content)
  return { mediaType, text, entityTag: entityTagOf(text) }
}

function answerDocument(
  request: IncomingMessage,
  response: ServerResponse,
  { entityTag, mediaType, text }: Document,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    refuse(response, 405, { allow: 'GET, HEAD' })
    return
  }
  const headers = { 'cache-control': publishedCacheControl, etag: entityTag }
  if (hasEntity(request.headers['if-none-match'], entityTag)) {
    response.writeHead(304, headers).end()
    return
  }
  response.writeHead(200, {
    'content-type': mediaType,
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}

const refuse = (
  response: ServerResponse,
  status: 404 | 405,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(status, { 'cache-control': 'no-store', 'content-length': 0, ...headers }).end()
}

/** The request with its body to be read once more: a body can be read from the wire only once. */
function withBody(request: IncomingMessage, body: Uint8Array): IncomingMessage {
  const copy = new IncomingMessage(new Socket())
  copy.method = request.method
  copy.url = request.url
  copy.headers = request.headers
  copy.push(body)
  copy.push(null)
  copy.complete = true
  return copy
}
