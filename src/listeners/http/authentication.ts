import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../../domain/client.ts'
import { Problem, type ProblemCode } from '../../domain/problem.ts'
import type { AccessTokenVerifier, Caller } from '../oauth/access-token-verifier.ts'
import type { RateLimiter } from './rate-limit.ts'
import { type BodyRule, parseAuthorization } from './request.ts'
import { computeClientThumbprint } from './tls.ts'

/** The scopes of a route. */
export type Access = Scope | readonly [Scope, ...Scope[]] | 'open'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The required scope, or several of which one suffices; `open` requires no token. Every route
     * states it.
     */
    readonly access?: Access
    /**
     * Whether the route accepts every host name, and none: monitoring calls a machine by its
     * address.
     */
    readonly anyHost?: boolean
    /** Whether an open route has its own limit, in addition to the limit by address. */
    readonly limitsItself?: boolean
    /** Whether an idempotency key is honoured. */
    readonly repeatable?: boolean
    /**
     * Why an idempotency key has no effect on a POST, PUT or PATCH. A malformed key is still
     * rejected.
     */
    readonly notRepeatable?: string
    /** Whether a call without a body is malformed. */
    readonly bodyRequired?: boolean
    /** Whether the exact bytes of the body are kept for the route. */
    readonly keepsBody?: boolean
    /**
     * Members of a body that are ciphertext. Every fault of such a member has the same answer, from
     * the operation.
     */
    readonly ciphertexts?: readonly string[]
    /**
     * Rules that the schema cannot express; their faults are reported together with those of the
     * schema.
     */
    readonly bodyRules?: readonly BodyRule[]
    /** The problems that are specific to this operation, for its description. */
    readonly problems?: readonly ProblemCode[]
    /** Whether the answer discloses data and names its entry of the audit log. */
    readonly discloses?: boolean
    /** Runs before a failure is answered to a known caller. Never rejects. */
    readonly beforeProblem?: (request: FastifyRequest, problem: Problem) => Promise<void>
  }
  interface FastifyRequest {
    /** The caller; set on every route that is not open. */
    caller: Caller | null
  }
}

/**
 * Refuses in this order: missing or invalid token, missing scope, too many calls
 * (docs/reference/api.md, "Order of checks"). Only the token determines the client.
 */
export const authenticate =
  (verifier: AccessTokenVerifier, rate: RateLimiter | null) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { access, answersRequests } = request.routeOptions.config
    if (request.is404 || access === 'open') return
    const presented = computeClientThumbprint(request.raw.socket)
    const caller = await verifier.verify(parseAuthorization(request.raw), presented)
    request.caller = caller
    // A route without a stated scope is closed.
    if (access === undefined) throw new Problem('not_found')
    requireScope(caller, ...listNeededScopes(access))
    // Cardholders are waiting at a terminal: requests of a card network, and the answers of clients
    // to them, are queued, and never rejected by rate.
    if (!rate || answersRequests || caller.kind === 'network') return
    reply.headers(rate.spend(caller.clientId))
  }

/** Lists the scopes; a caller needs one of them. */
export const listNeededScopes = (access: Exclude<Access, 'open'>): readonly Scope[] =>
  typeof access === 'string' ? [access] : access

/**
 * @throws `Problem` `insufficient_scope`, naming the first scope, if the caller has none of them.
 */
export function requireScope({ scopes }: Caller, ...wanted: readonly Scope[]): void {
  if (wanted.some((scope) => scopes.has(scope))) return
  throw new Problem('insufficient_scope', {
    detail: `The scope ${wanted.join(' or ')} is needed.`,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${wanted[0]}"` },
  })
}

/** Returns the caller of a route that needs a token. */
export function requireCaller(request: FastifyRequest): Caller {
  if (!request.caller) throw new Problem('unauthenticated')
  return request.caller
}
