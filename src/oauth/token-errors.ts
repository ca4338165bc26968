import type { KoaContextWithOIDC } from 'oidc-provider'
import { Problem } from '../errors.ts'

/** The body of a refusal (RFC 6749 section 5.2). */
interface TokenError {
  readonly error: string
  readonly error_description?: string
}

/** Gives the answers of the library the form that RFC 6749 section 5 asks for. */
export async function shapeTokenAnswer(
  ctx: KoaContextWithOIDC,
  next: () => Promise<void>,
): Promise<void> {
  await next()
  ctx.set('Pragma', 'no-cache')
  removeCors(ctx)
  const refusal = readError(ctx.body)
  if (refusal) answerError(ctx, refusal)
}

/**
 * Answers what is no fault of the client: 503 when something the server depends on is away, else 500.
 */
export function answerServerError(ctx: KoaContextWithOIDC, error: unknown): void {
  if (!(error instanceof Problem && error.code === 'unavailable')) return
  ctx.status = error.status
  ctx.body = {
    error: 'temporarily_unavailable',
    error_description: 'The service cannot answer right now.',
  }
  ctx.set(error.headers)
}

function answerError(ctx: KoaContextWithOIDC, { error, error_description }: TokenError): void {
  const failedToAuthenticate = lacksAuthentication(ctx, error)
  if (failedToAuthenticate) ctx.status = 401
  if (ctx.status === 401) challenge(ctx)
  ctx.body = failedToAuthenticate
    ? { error: 'invalid_client', error_description: 'client authentication failed' }
    : { error, ...(error_description !== undefined && { error_description }) }
}

/** RFC 9110 section 15.5.2: a 401 names a scheme, even where the client tried another. */
const challenge = (ctx: KoaContextWithOIDC): void => {
  ctx.set('WWW-Authenticate', 'Basic realm="pinfold"')
}

/**
 * The library says `invalid_request` where no client is named or the Authorization header cannot be
 * read; RFC 6749 section 5.2 has `invalid_client` for both. More than one form of authentication,
 * which needs a parameter in the body, stays `invalid_request`.
 */
function lacksAuthentication({ oidc }: KoaContextWithOIDC, error: string): boolean {
  // A registered key that cannot be used lets nobody in, and its reason concerns nobody outside.
  if (error === 'invalid_client_metadata') return true
  if (error !== 'invalid_request' || !oidc.body || oidc.entities.Client) return false
  const { client_assertion, client_id, client_secret } = oidc.body
  return client_id === undefined && client_secret === undefined && client_assertion === undefined
}

/** Tokens are for servers: no page of another origin may read them. */
function removeCors(ctx: KoaContextWithOIDC): void {
  for (const name of Object.keys(ctx.response.headers)) {
    if (name.startsWith('access-control-') || name === 'vary') ctx.remove(name)
  }
}

const readError = (body: unknown): TokenError | undefined =>
  typeof body === 'object' && body !== null && 'error' in body ? (body as TokenError) : undefined
