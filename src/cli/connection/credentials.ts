import type { JWK } from 'jose'
import type { PrivateJwk } from '../../../packages/sdk/client/options.ts'
import type { SandboxFile } from '../../sandbox/sandbox-file.ts'
import { UsageError } from '../command.ts'
import { readJsonFile } from '../files.ts'

/**
 * Whom a command calls as: an administrator on the private listener, a client on the public one.
 */
export type ClientRole = 'admin' | 'client'

/** Who was named on the command line or in the environment. */
export interface NamedClient {
  readonly clientId: string | null
  readonly clientSecret: string | null
  readonly jwkFile: string | null
  /** The access token of a person, who calls in place of a client. */
  readonly personToken: string | null
}

/**
 * Who calls, and what it proves itself by: its secret, or a private key that stays in this process.
 */
export interface CallerCredentials {
  readonly client: { readonly clientId: string } & (
    | { readonly clientSecret: string }
    | { readonly privateKey: PrivateJwk }
  )
  /** The file of the private key, to be named where it is of no use. */
  readonly jwkFile: string | null
  /** Whose token is at hand: none is asked for. */
  readonly personToken?: string
}

/**
 * The client that was named, or the sandbox's own.
 * @throws UsageError where there is neither.
 */
export async function readCredentials(
  role: ClientRole,
  { clientId, clientSecret, jwkFile, personToken }: NamedClient,
  sandbox: SandboxFile | null,
): Promise<CallerCredentials> {
  if (personToken !== null) {
    if (role !== 'admin')
      throw new UsageError('A signed-in person can call only the private listener.')
    // What a client would prove itself by is never sent: no token is asked for.
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
