import type { KoaContextWithOIDC } from 'oidc-provider'
import { Problem } from '../errors.ts'
import type { TokenAttempt } from './token-attempt.ts'

/** The body of a refusal (RFC 6749 section 5.2). */
export interface TokenError {
  readonly error: string
  readonly error_description?: string
}

/**
 * A failure that is told in problem documents elsewhere, as the token endpoint tells it. RFC 6749 has no code
 * for a client that is to come back later: `temporarily_unavailable` is its own for that, from section 4.1.2.1.
 */
export function tokenErrorOf({ detail, status, title }: Problem): TokenError {
  const laterOrNever = status === 500 ? 'server_error' : 'temporarily_unavailable'
  const error = status === 429 || status >= 500 ? laterOrNever : 'invalid_request'
  return { error, error_description: detail ?? title }
}

/**
 * Gives the answers of the library the form that RFC 6749 section 5 asks for.
 * @param unproved the attempt, where the client has not proved who it is
 */
export function shapeTokenAnswer(ctx: KoaContextWithOIDC, unproved: TokenAttempt | null): void {
  ctx.set('Pragma', 'no-cache')
  removeCors(ctx)
  const refusal = readError(ctx.body)
  if (!refusal) return
  answerError(ctx, refusal)
  if (unproved && ctx.status < 500) chargeFailure(ctx, unproved)
}

/** All that fail are charged alike, whether or not there is such a client, and refused alike. */
function chargeFailure(ctx: KoaContextWithOIDC, attempt: TokenAttempt): void {
  try {
    ctx.set(attempt.failed())
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    ctx.remove('WWW-Authenticate')
    answerProblem(ctx, error)
  }
}

/**
 * Answers what the library takes for a fault of its own: 503 when something the server depends on is away,
 * 429 for a client that asks too often, else 500.
 */
export function answerServerError(ctx: KoaContextWithOIDC, error: unknown): void {
  if (error instanceof Problem && ['unavailable', 'rate_limited'].includes(error.code)) {
    answerProblem(ctx, error)
  }
}

function answerProblem(ctx: KoaContextWithOIDC, problem: Problem): void {
  ctx.status = problem.status
  // What is away concerns nobody outside.
  ctx.body = tokenErrorOf(problem.status === 503 ? new Problem('unavailable') : problem)
  ctx.set(problem.headers)
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
