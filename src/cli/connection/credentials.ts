import { readFile } from 'node:fs/promises'
import type { JWK } from 'jose'
import type { PrivateJwk } from '../../../sdk/client/options.ts'
import type { SandboxFile } from '../../sandbox/sandbox-file.ts'
import { UsageError } from '../command.ts'
import { readJsonFile } from '../output.ts'

/** Whom a command calls as: an administrator on the private listener, a client on the public one. */
export type Role = 'admin' | 'client'

/** Who was named on the command line or in the environment. */
export interface NamedClient {
  readonly clientId: string | null
  readonly clientSecret: string | null
  readonly jwkFile: string | null
  readonly tokenFile: string | null
}

/** Who calls, and what it proves itself by: its secret, or a private key that stays in this process; or a person, by a token. */
export interface CallerCredentials {
  readonly client:
    | ({ readonly clientId: string } & (
        | { readonly clientSecret: string }
        | { readonly privateKey: PrivateJwk }
      ))
    | { readonly token: string }
  /** The file of the private key, to be named where it is of no use. */
  readonly jwkFile: string | null
}

/**
 * The person whose token was named, the client that was, or the sandbox's own.
 * @throws UsageError where there is neither.
 */
export async function readCredentials(
  role: Role,
  { clientId, clientSecret, jwkFile, tokenFile }: NamedClient,
  sandbox: SandboxFile | null,
): Promise<CallerCredentials> {
  if (tokenFile !== null) {
    const text = await readFile(tokenFile, 'utf8').catch((cause: unknown) => {
      throw new UsageError(`${tokenFile} cannot be read.`, { cause })
    })
    return { client: { token: text.trim() }, jwkFile: null }
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
      'Say who you are: --client ID --jwk-file FILE, or PINFOLD_CLIENT_ID with PINFOLD_JWK_FILE or PINFOLD_CLIENT_SECRET.',
    )
  }
  return {
    client: { clientId: own.clientId, clientSecret: own.clientSecret },
    jwkFile: null,
  }
}
