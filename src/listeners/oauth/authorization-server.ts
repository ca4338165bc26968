import { IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { JWK } from 'jose'
import { assertionAlgorithms, listScopes } from '../../domain/client.ts'
import {
  clientAuthenticationMethods,
  createTokenEndpoint,
  type TokenAttempt,
  type TokenEndpointOptions,
} from './token-endpoint.ts'
import { publishedJwk } from './token-signing-key.ts'

/** A published document of the server, under two paths. */
interface OauthDocument {
  readonly mediaType: string
  readonly text: string
}

export interface AuthorizationServer {
  /**
   * Answers a POST to the token endpoint.
   * @param body the body, if it has already been read; otherwise it is read from the request.
   * @param attempt counts the outcome; by default nothing does.
   */
  issueToken(
    request: IncomingMessage,
    response: ServerResponse,
    body?: Uint8Array,
    attempt?: TokenAttempt,
  ): Promise<void>
  /** Returns its public keys, or its metadata: composed from its options only. */
  document(name: 'jwks' | 'metadata'): Promise<OauthDocument>
  /** The public part of every signing key, for a verifier in this process. */
  readonly publicKeys: readonly JWK[]
}

/** The paths of the server. */
export const authorizationServerPaths = {
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  metadata: '/.well-known/oauth-authorization-server',
} as const

/**
 * Creates the embedded authorization server: client credentials, and the discovery for clients.
 * @throws Error if there is no signing key, or an option is invalid.
 */
export function createAuthorizationServer(options: TokenEndpointOptions): AuthorizationServer {
  const { audiences, issuer, signingKeys } = options
  if (signingKeys.length === 0) throw new Error('No key for signing access tokens exists.')
  for (const uri of [issuer, audiences.public, audiences.private]) {
    if (!URL.canParse(uri) || uri.includes('#')) throw new Error(`Not an absolute URI: ${uri}`)
  }
  if (audiences.public === audiences.private) {
    throw new Error('The public and the private listener need different audiences.')
  }
  const publicKeys = signingKeys.map(publishedJwk)
  const answerTokenRequest = createTokenEndpoint(options, authorizationServerPaths.token)
  const documents = {
    jwks: { mediaType: 'application/jwk-set+json', text: JSON.stringify({ keys: publicKeys }) },
    metadata: { mediaType: 'application/json', text: JSON.stringify(composeMetadata(options)) },
  }
  return {
    publicKeys,
    document: async (name) => documents[name],
    issueToken: (request, response, body, attempt = uncounted) =>
      answerTokenRequest(body ? withBody(request, body) : request, response, attempt),
  }
}

/** Counts nothing. */
const uncounted: TokenAttempt = { succeeded: () => ({}), failed: () => ({}) }

/** RFC 8414 section 2. The addresses come from the issuer, never from a Host header. */
const composeMetadata = ({
  findClientCertificate,
  issuer,
}: TokenEndpointOptions): Record<string, unknown> => ({
  issuer,
  token_endpoint: `${issuer}${authorizationServerPaths.token}`,
  jwks_uri: `${issuer}${authorizationServerPaths.jwks}`,
  scopes_supported: listScopes(),
  response_types_supported: [],
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: clientAuthenticationMethods,
  token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  // RFC 8705 section 3.3. The token endpoint with a certificate is the same, so it needs no alias.
  ...(findClientCertificate && { tls_client_certificate_bound_access_tokens: true }),
})

/** Copies the request with its body, because a body can be read from the connection only once. */
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
