import { importJWK, SignJWT } from 'jose'
import { CallFailed } from '../errors/call-failed.ts'
import type { Settings } from '../options.ts'
import type { PrivateJwk } from './private-jwk.ts'

/** What a request to the token endpoint shows of its client. */
export interface ClientAuthentication {
  readonly headers: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * `client_secret_basic` (RFC 6749 section 2.3.1) or `private_key_jwt` (RFC 7523). A new one for each
 * request: an assertion is taken once.
 * @throws CallFailed `invalid_argument` for a key that cannot sign.
 */
export async function authenticateClient(settings: Settings): Promise<ClientAuthentication> {
  const { clientId, clientSecret, issuer, privateKey } = settings
  if (privateKey) return { headers: {}, parameters: await assertion(clientId, issuer, privateKey) }
  const pair = `${formEncode(clientId)}:${formEncode(clientSecret ?? '')}`
  return { headers: { authorization: `Basic ${btoa(pair)}` }, parameters: {} }
}

async function assertion(
  clientId: string,
  issuer: string,
  { alg, kid, ...privateKey }: PrivateJwk,
): Promise<Record<string, string>> {
  try {
    const signed = await new SignJWT({})
      .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime('60s')
      .sign(await importJWK(privateKey, alg))
    return {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: signed,
    }
  } catch {
    // The cause is left aside: what a library says of a key that it cannot read may quote it.
    throw new CallFailed('invalid_argument', { detail: 'privateKey cannot sign.' })
  }
}

const formEncode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
