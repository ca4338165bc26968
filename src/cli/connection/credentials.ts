import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importJWK, type JWK, SignJWT } from 'jose'
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
}

/** What is sent to ask for a token: headers and form of `POST /oauth/token`. */
export interface TokenRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/**
 * How a token is asked for, anew each time: by the client that was named, or by the sandbox's own.
 * @throws UsageError where there is neither.
 */
export async function tokenRequest(
  issuer: string,
  role: Role,
  { clientId, clientSecret, jwkFile }: NamedClient,
  sandbox: SandboxFile | null,
): Promise<TokenRequest> {
  if (clientId !== null && jwkFile !== null) {
    const assertion = await clientAssertion(issuer, clientId, jwkFile)
    return { headers: {}, form: { ...assertionForm, client_assertion: assertion } }
  }
  if (clientId !== null && clientSecret !== null) return withSecret(clientId, clientSecret)
  const own = role === 'admin' ? sandbox?.admin : sandbox
  if (!own || clientId !== null) throw new UsageError(whoAreYou)
  return withSecret(own.clientId, own.clientSecret)
}

const whoAreYou =
  'Say who you are: --client ID --jwk-file FILE, or PINFOLD_CLIENT_ID with PINFOLD_JWK_FILE or PINFOLD_CLIENT_SECRET.'

const grant = { grant_type: 'client_credentials' } as const
const assertionForm = {
  ...grant,
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
} as const

function withSecret(clientId: string, clientSecret: string): TokenRequest {
  const pair = [clientId, clientSecret].map(encodeURIComponent).join(':')
  return {
    headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
    form: grant,
  }
}

/** RFC 7523, section 3. The private key stays in this process. */
async function clientAssertion(issuer: string, client: string, jwkFile: string): Promise<string> {
  const jwk: JWK = await readJsonFile(jwkFile)
  const alg = jwk.alg ?? 'ES256'
  const key = await importJWK(jwk, alg).catch((cause: unknown) => {
    throw new UsageError(`${jwkFile} holds no private key (JWK) for ${alg}.`, { cause })
  })
  return new SignJWT({})
    .setProtectedHeader({ alg, ...(jwk.kid !== undefined && { kid: jwk.kid }) })
    .setIssuer(client)
    .setSubject(client)
    .setAudience(issuer)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(key)
}

/** What the sandbox tells of its demo clients, or null. */
export async function readSandboxFile(dataDir: string): Promise<SandboxFile | null> {
  const text = await readFile(join(dataDir, 'sandbox.json'), 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as SandboxFile)
}
