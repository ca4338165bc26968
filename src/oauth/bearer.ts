import { Problem } from '../errors.ts'

const tokenLengthLimit = 8_192

/** `credentials` of RFC 6750 section 2.1; the scheme in any case (RFC 9110 section 11.1). */
const credentials = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * The token in an `Authorization` header.
 * @throws Problem `unauthenticated`
 */
export function bearerToken(header: string | undefined): string {
  if (header === undefined || !/^bearer( |$)/i.test(header)) throw unauthenticated()
  const token = header.length > tokenLengthLimit ? undefined : credentials.exec(header)?.[1]
  if (token === undefined) throw invalidToken()
  return token
}

/** No token: the challenge alone, and no error (RFC 6750 section 3.1, last paragraph). */
const unauthenticated = (): Problem =>
  new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer realm="pinfold"' } })

/** A token that is not accepted, whatever the reason: which one it is would help a forger. */
export const invalidToken = (cause?: unknown): Problem =>
  new Problem('unauthenticated', {
    cause,
    headers: { 'www-authenticate': 'Bearer realm="pinfold", error="invalid_token"' },
  })
