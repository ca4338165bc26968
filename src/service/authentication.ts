import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { ListenerName } from '../domain/client.ts'
import { StartRefusal } from '../domain/problem.ts'
import type { Hsm, TokenSigningKey } from '../hsm/contract/hsm.ts'
import { findClientCertificate } from '../listeners/http/tls.ts'
import {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
} from '../listeners/oauth/access-token-verifier.ts'
import { createAuthorizationServer } from '../listeners/oauth/authorization-server.ts'
import type { ClientRegister } from '../listeners/oauth/client-store.ts'
import type { PublicAuthorizationServer } from '../listeners/public/routes/oauth.ts'
import { recordRegistration } from '../operations/acts/acts.ts'
import {
  type FirstAdministrator,
  parseFirstAdministrators,
} from '../operations/clients/credentials.ts'
import { rememberAssertion } from '../storage/clients/assertions.ts'
import { findClient, upsertClient } from '../storage/clients/clients.ts'
import type { Connection, Database, Databases } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'
import type { OutsideIssuer } from './config/variables.ts'
import { issuerFetcher } from './outbound.ts'
import { certificateListeners } from './tls.ts'

interface Authentication {
  readonly authorizationServer: PublicAuthorizationServer
  readonly verifiers: Readonly<Record<ListenerName, AccessTokenVerifier>>
}

/** The same, with what it has cached about clients and their tokens. */
interface CachingAuthentication extends Authentication {
  forget(): void
}

/**
 * Creates the embedded authorization server and the token verifiers of both listeners. Both are
 * replaced when the signing keys change; this discards tokens that a removed key signed.
 */
export async function createAuthentication(
  config: Config,
  databases: Databases,
  hsm: Hsm,
  log: Logger,
): Promise<CachingAuthentication> {
  let made: { readonly keyIds: string; readonly authentication: Authentication } | null = null
  const current = async (): Promise<Authentication> => {
    const keys = await hsm.tokenSigningKeys()
    const keyIds = keys.map(({ keyId }) => keyId).join()
    if (made?.keyIds !== keyIds) {
      made = { keyIds, authentication: authenticationWith(keys, config, databases, log) }
    }
    return made.authentication
  }
  await current()
  const verifier = (listener: ListenerName): AccessTokenVerifier => ({
    verify: async (header, presented) =>
      (await current()).verifiers[listener].verify(header, presented),
  })
  return {
    authorizationServer: {
      issueToken: async (...exchange) =>
        (await current()).authorizationServer.issueToken(...exchange),
      document: async (name) => (await current()).authorizationServer.document(name),
    },
    verifiers: { public: verifier('public'), private: verifier('private') },
    forget() {
      made = null
    },
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
    clients: clientRegister(databases.clients),
    signingKeys,
    findClientCertificate: certificateListeners(config).has('public')
      ? findClientCertificate
      : null,
    onError: (err) => log.error({ err }, 'no token could be issued'),
  })
  const databasesByListener = { public: databases.clients, private: databases.networks }
  const fetchJson = issuerFetcher(config)
  const verifier = (listener: ListenerName, outside: OutsideIssuer | null) =>
    createAccessTokenVerifier({
      listener,
      findClient: (clientId) => findClient(databasesByListener[listener], clientId),
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

/** Reads the clients in the database for the token endpoint. */
export const clientRegister = (connection: Connection): ClientRegister => ({
  findClient: (clientId) => findClient(connection, clientId),
  rememberAssertion: (assertion) => rememberAssertion(connection, assertion),
})

/**
 * Registers the first administrators, who authenticate with their private keys (RFC 7523). No other
 * administrator approves this, so a changed key is logged.
 * @throws `StartRefusal` that names the file, never its content.
 */
export async function registerAdministrators(
  database: Database,
  jwkFile: string,
  log: Logger,
): Promise<void> {
  let administrators: readonly FirstAdministrator[]
  try {
    administrators = parseFirstAdministrators(JSON.parse(await readFile(jwkFile, 'utf8')))
  } catch (error) {
    const needed = 'the public JWK of the first administrator, or a set of several'
    const message = `${jwkFile} must hold ${needed}.`
    // The parser's message quotes malformed JSON, and the file may contain another secret.
    if (!(error instanceof Error) || error instanceof SyntaxError) throw new StartRefusal(message)
    throw new StartRefusal(`${message} ${error.message}`, { cause: error })
  }
  for (const { clientId, jwks } of administrators) {
    const registered = await findClient(database, clientId)
    if (registered && registered.jwks !== jwks) {
      log.warn({ clientId }, 'the first administrator has another key, from ADMIN_JWK_FILE')
    }
    await database.transaction(async (connection) => {
      await upsertClient(connection, {
        clientId,
        clientName: 'First administrator',
        kind: 'admin',
        scopes: ['admin'],
        secretHash: null,
        jwks,
      })
      if (registered?.jwks !== jwks) await recordRegistration(connection, clientId)
    })
  }
}
