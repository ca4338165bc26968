import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Config, OutsideIssuer } from '../config.ts'
import type { Hsm } from '../hsm/hsm.ts'
import {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
} from '../oauth/access-token-verifier.ts'
import {
  type AuthorizationServer,
  createAuthorizationServer,
} from '../oauth/authorization-server.ts'
import { parseClientJwks } from '../oauth/client-jwks.ts'
import type { Listener } from '../oauth/scopes.ts'
import { findClient, upsertClient } from '../storage/clients.ts'
import type { Database } from '../storage/database.ts'

export interface Authentication {
  readonly authorizationServer: AuthorizationServer
  readonly verifiers: Readonly<Record<Listener, AccessTokenVerifier>>
}

/** The embedded authorization server, and who verifies tokens on each listener. */
export async function createAuthentication(
  config: Config,
  database: Database,
  hsm: Hsm,
  log: Logger,
): Promise<Authentication> {
  const audiences = { public: config.baseUrl, private: `${config.baseUrl}/private` }
  const authorizationServer = createAuthorizationServer({
    issuer: config.baseUrl,
    audiences,
    database,
    signingKeys: await hsm.tokenSigningKeys(),
    onError: (err) => log.error({ err }, 'no token could be issued'),
  })
  const verifier = (listener: Listener, outside: OutsideIssuer | null) =>
    createAccessTokenVerifier({
      listener,
      findClient: (clientId) => findClient(database, clientId),
      ...(outside
        ? { ...outside, keys: { discoverFrom: outside.issuer } }
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

/** Registers the first administrator, who proves itself by its private key alone (RFC 7523). */
export async function registerAdministrator(database: Database, jwkFile: string): Promise<void> {
  await upsertClient(database, {
    clientId: 'admin',
    clientName: 'First administrator',
    kind: 'admin',
    scopes: ['admin'],
    secretHash: null,
    jwks: await readPublicJwk(jwkFile),
  })
}

/** @throws Error that names the file, never its content. */
async function readPublicJwk(jwkFile: string): Promise<string> {
  try {
    return parseClientJwks({ keys: [JSON.parse(await readFile(jwkFile, 'utf8'))] })
  } catch (cause) {
    throw new Error(`${jwkFile} must hold the public JWK of the first administrator.`, { cause })
  }
}
