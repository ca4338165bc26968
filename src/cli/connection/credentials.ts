import type { JWK } from 'jose'
import type { PrivateJwk } from '../../../packages/sdk/client/options.ts'
import type { SandboxFile } from '../../sandbox/sandbox-file.ts'
import { UsageError } from '../command.ts'
import { readJsonFile } from '../files.ts'

/**
 * The role of a command's caller: an administrator on the private listener, a client on the public
 * one.
 */
export type ClientRole = 'admin' | 'client'

/** The caller in the options or the environment. */
export interface NamedClient {
  readonly clientId: string | null
  readonly clientSecret: string | null
  readonly jwkFile: string | null
  /** A person's access token, used instead of a client's. */
  readonly personToken: string | null
}

/** The caller's credentials: its secret, or a private key that stays in this process. */
export interface CallerCredentials {
  readonly client: { readonly clientId: string } & (
    | { readonly clientSecret: string }
    | { readonly privateKey: PrivateJwk }
  )
  /** The file of the private key, for errors about it. */
  readonly jwkFile: string | null
  /** An existing token: no other is requested. */
  readonly personToken?: string
}

/**
 * Returns the credentials of the named client, or the sandbox's own.
 * @throws UsageError without either.
 */
export async function readCredentials(
  role: ClientRole,
  { clientId, clientSecret, jwkFile, personToken }: NamedClient,
  sandbox: SandboxFile | null,
): Promise<CallerCredentials> {
  if (personToken !== null) {
    if (role !== 'admin')
      throw new UsageError('A signed-in person can call only the private listener.')
    // A client's own credentials are never sent, since no token is requested.
    return {
      client: { clientId: 'person', clientSecret: personToken },
      jwkFile: null,
      personToken,
    }
  }
  if (clientId !== null && jwkFile !== null) {
    const jwk: JWK = await readJsonFile(jwkFile)
    return { client: { clientId, privateKey: { alg: 'ES256', ...jwk } }, jwkFile }
  }
  if (clientId !== null && clientSecret !== null) {
    return { client: { clientId, clientSecret }, jwkFile: null }
  }
  const own = role === 'admin' ? sandbox?.admin : sandbox
  if (!own || clientId !== null) {
    throw new UsageError(
      'The command needs credentials: --client ID --jwk-file FILE, or PINFOLD_CLIENT_ID with ' +
        'PINFOLD_JWK_FILE or PINFOLD_CLIENT_SECRET.',
    )
  }
  return {
    client: { clientId: own.clientId, clientSecret: own.clientSecret },
    jwkFile: null,
  }
}
