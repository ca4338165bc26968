import type { Logger } from 'pino'
import type { Config, OutsideIssuer } from '../config.ts'
import type { Hsm, TokenSigningKey } from '../hsm/hsm.ts'
import {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
} from '../oauth/access-token-verifier.ts'
import {
  type AuthorizationServer,
  createAuthorizationServer,
} from '../oauth/authorization-server.ts'
import type { Listener } from '../oauth/scopes.ts'
import { findClient } from '../storage/clients.ts'
import type { Databases } from '../storage/database.ts'
import { issuerFetcher } from './outbound.ts'
import { certificateListeners } from './tls.ts'

export interface Authentication {
  readonly authorizationServer: AuthorizationServer
  readonly verifiers: Readonly<Record<Listener, AccessTokenVerifier>>
}

/**
 * The embedded authorization server, and who verifies tokens on each listener. Both are made anew when
 * the signing keys have changed, which forgets the tokens that were verified with one that is gone.
 */
export async function createAuthentication(
  config: Config,
  databases: Databases,
  hsm: Hsm,
  log: Logger,
): Promise<Authentication> {
  const current = following(hsm, (keys) => authenticationWith(keys, config, databases, log))
  let { authorizationServer } = await current()
  const verifier = (listener: Listener): AccessTokenVerifier => ({
    verify: async (header, presented) =>
      (await current()).verifiers[listener].verify(header, presented),
  })
  return {
    authorizationServer: {
      async handle(...exchange) {
        authorizationServer = (await current()).authorizationServer
        await authorizationServer.handle(...exchange)
      },
      get publicKeys() {
        return authorizationServer.publicKeys
      },
    },
    verifiers: { public: verifier('public'), private: verifier('private') },
  }
}

/** Made with the signing keys of the HSM, and again when they are others. */
function following(
  hsm: Hsm,
  make: (keys: readonly TokenSigningKey[]) => Authentication,
): () => Promise<Authentication> {
  let made: { readonly keyIds: string; readonly authentication: Authentication } | null = null
  return async () => {
    const keys = await hsm.tokenSigningKeys()
    const keyIds = keys.map(({ keyId }) => keyId).join()
    if (made?.keyIds !== keyIds) made = { keyIds, authentication: make(keys) }
    return made.authentication
  }
}

function authenticationWith(
  signingKeys: readonly TokenSigningKey[],
  config: Config,
  databases: Databases,
  log: Logger,
): Authentication {
  const audiences = { public: config.baseUrl, private: `${config.baseUrl}/private` }
  const authorizationServer = createAuthorizationServer({
    issuer: config.baseUrl,
    audiences,
    database: databases.clients,
    signingKeys,
    bindsTokens: certificateListeners(config).has('public'),
    onError: (err) => log.error({ err }, 'no token could be issued'),
  })
  const callersOf = { public: databases.clients, private: databases.networks }
  const fetchJson = issuerFetcher(config)
  const verifier = (listener: Listener, outside: OutsideIssuer | null) =>
    createAccessTokenVerifier({
      listener,
      findClient: (clientId) => findClient(callersOf[listener], clientId),
      ...(outside
        ? { ...outside, keys: { discoverFrom: outside.issuer, fetchJson } }
        : {
            issuer: config.baseUrl,
            audience: audiences[listener],
            keys: authorizationServer.publicKeys,
          }),
    })
  return {
    authorizationServer,
    verifiers: {
      public: verifier('public', config.outsideIssuer),
      private: verifier('private', config.privateOutsideIssuer),
    },
  }
}
