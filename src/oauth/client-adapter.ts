import type { Adapter, AdapterPayload } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { rememberAssertion } from '../storage/client-assertions.ts'
import { type Client, findClient } from '../storage/clients.ts'
import type { Connection } from '../storage/database.ts'
import { isClientId } from './client-id.ts'
import { writeSecretHashes } from './client-secret.ts'
import { isScope, type Listener, listenerOf, scopeListeners } from './scopes.ts'

/** What this service adds to the client metadata of oidc-provider. */
export const clientMetadataExtensions = ['audience', 'grantable_scope']

/**
 * The storage that oidc-provider asks: clients are read, assertions are remembered. Access tokens
 * are self-contained and stored nowhere, and nothing else of the library is in use.
 * @param onProved told of a client whose assertion was taken: remembering it is the last of its checks.
 */
export const createClientAdapter =
  (
    database: Connection,
    audiences: Readonly<Record<Listener, string>>,
    onProved: (clientId: string) => void,
  ) =>
  (model: string): Adapter => ({
    ...unusedAdapter(model),
    ...(model === 'Client' && { find: (clientId) => findMetadata(database, audiences, clientId) }),
    ...(model === 'ReplayDetection' && {
      // The insert alone decides: a look-up before it would let two of one jti through at once.
      find: async () => undefined,
      upsert: async (id, payload, expiresIn) => {
        await rememberOnce(database, id, payload, expiresIn)
        onProved(String(payload.iss))
      },
    }),
  })

async function findMetadata(
  database: Connection,
  audiences: Readonly<Record<Listener, string>>,
  clientId: string,
): Promise<AdapterPayload | undefined> {
  const client = isClientId(clientId) ? await findClient(database, clientId) : null
  const authentication = client?.active ? authenticationOf(client) : undefined
  if (!client || !authentication) return undefined
  return {
    client_id: client.clientId,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    audience: audiences[listenerOf(client.kind)],
    grantable_scope: grantableScopes(client).join(' '),
    tls_client_certificate_bound_access_tokens: client.certificateBoundTokens,
    ...authentication,
  }
}

/** One method a client: what has a key must not fall back to a secret. */
function authenticationOf({
  jwks,
  previousSecretHash,
  secretHash,
}: Client): AdapterPayload | undefined {
  if (jwks !== null) {
    return { token_endpoint_auth_method: 'private_key_jwt', jwks: JSON.parse(jwks) }
  }
  return secretHash === null
    ? undefined
    : {
        // The library takes client_secret_post from such a client as well.
        token_endpoint_auth_method: 'client_secret_basic',
        client_secret: writeSecretHashes(secretHash, previousSecretHash),
      }
}

/** Scopes of the client's own listener: what belongs to the other could never be used. */
const grantableScopes = ({ kind, scopes }: Client): string[] =>
  scopes.filter((scope) => isScope(scope) && scopeListeners[scope] === listenerOf(kind))

async function rememberOnce(
  database: Connection,
  id: string,
  { iss }: AdapterPayload,
  expiresInSeconds = 0,
): Promise<void> {
  const unused = await rememberAssertion(database, {
    clientId: String(iss),
    jtiHash: Buffer.from(id, 'base64url'),
    expiresAt: new Date(Date.now() + expiresInSeconds * 1_000),
  })
  if (!unused) throw new errors.InvalidClientAuth('The assertion was used before.')
}

const unusedAdapter = (model: string): Adapter => {
  const refuse = async (): Promise<never> => {
    throw new Error(`oidc-provider asked for ${model}, which this service does not store.`)
  }
  return {
    find: refuse,
    upsert: refuse,
    destroy: refuse,
    consume: refuse,
    findByUid: refuse,
    findByUserCode: refuse,
    revokeByGrantId: refuse,
  }
}
