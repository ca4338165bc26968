import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importJWK, type JWK, SignJWT } from 'jose'
import type { Config } from '../../src/config.ts'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import type { Options } from './command.ts'
import { UsageError } from './usage.ts'

/** How the administrator asks for a token: headers and form of `POST /oauth/token`. */
export interface TokenRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** The administrator that was named, or the sandbox's own. @throws UsageError where there is neither. */
export async function tokenRequest(
  { baseUrl, dataDir }: Config,
  { client, 'jwk-file': jwkFile }: Options,
  sandbox: SandboxFile | null,
): Promise<TokenRequest> {
  if (client !== undefined && jwkFile !== undefined) {
    const assertion = await clientAssertion(baseUrl, client, jwkFile)
    return { headers: {}, form: { ...assertionForm, client_assertion: assertion } }
  }
  const admin = (sandbox ?? (await readSandboxFile(dataDir)))?.admin
  if (!admin) throw new UsageError('Say who you are: --client ID --jwk-file FILE.')
  const basic = Buffer.from(`${admin.clientId}:${admin.clientSecret}`).toString('base64')
  return { headers: { authorization: `Basic ${basic}` }, form: credentials }
}

const credentials = { grant_type: 'client_credentials', scope: 'admin' } as const
const assertionForm = {
  ...credentials,
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
} as const

/** RFC 7523, section 3. The private key stays in this process. */
async function clientAssertion(issuer: string, client: string, jwkFile: string): Promise<string> {
  const jwk = JSON.parse(await readFile(jwkFile, 'utf8')) as JWK
  const alg = jwk.alg ?? 'ES256'
  return new SignJWT({})
    .setProtectedHeader({ alg, ...(jwk.kid !== undefined && { kid: jwk.kid }) })
    .setIssuer(client)
    .setSubject(client)
    .setAudience(issuer)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(await importJWK(jwk, alg))
}

/** What the sandbox tells of its demo clients, or null. */
export async function readSandboxFile(dataDir: string): Promise<SandboxFile | null> {
  const text = await readFile(join(dataDir, 'sandbox.json'), 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as SandboxFile)
}
