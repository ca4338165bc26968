import { errors, type KoaContextWithOIDC } from 'oidc-provider'

/** How long before its `exp` an assertion may be used, which bounds how long it is remembered. */
const lifetimeLimitSeconds = 300
const clockToleranceSeconds = 15
const jtiLengthLimit = 255

/** Media types that an assertion may name; none is named by many clients (RFC 7523). */
const assertionTypes = new Set([undefined, 'JWT', 'client-authentication+jwt'])

/**
 * What this service asks of a `private_key_jwt` beyond the library's own checks of signature, `iss`,
 * `sub`, `exp` and `jti`: it is meant for this issuer alone and lives for minutes (RFC 7523
 * section 3; draft-ietf-oauth-rfc7523bis section 4).
 * @throws InvalidClientAuth
 */
export function assertClientAssertion(
  ctx: KoaContextWithOIDC,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>>,
): void {
  const now = Math.floor(Date.now() / 1_000)
  const { aud, exp, iat, jti } = claims
  const accepted =
    isOnly(aud, ctx.oidc.issuer) &&
    (header.typ === undefined || assertionTypes.has(String(header.typ))) &&
    typeof exp === 'number' &&
    exp <= now + lifetimeLimitSeconds + clockToleranceSeconds &&
    (iat === undefined || (typeof iat === 'number' && iat <= now + clockToleranceSeconds)) &&
    typeof jti === 'string' &&
    jti.length <= jtiLengthLimit
  if (!accepted) throw new errors.InvalidClientAuth('The assertion breaks a rule of this service.')
}

/** An assertion that names other servers too could be replayed here by one of them. */
const isOnly = (audience: unknown, issuer: string): boolean =>
  audience === issuer ||
  (Array.isArray(audience) && audience.length === 1 && audience[0] === issuer)
