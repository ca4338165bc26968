import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../../domain/client.ts'
import { Problem, type ProblemCode } from '../../domain/problem.ts'
import type { AccessTokenVerifier, Caller } from '../oauth/access-token-verifier.ts'
import type { RateLimiter } from './rate-limit.ts'
import { type BodyRule, parseAuthorization } from './request.ts'
import { computeClientThumbprint } from './tls.ts'

/** Who may call a route. */
export type Access = Scope | readonly [Scope, ...Scope[]] | 'open'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The scope that a call needs, or several of which one is enough; `open` needs no token. Every
     * route says it.
     */
    readonly access?: Access
    /**
     * Whether it is answered under any name, and without one: what watches a machine calls it by
     * its address.
     */
    readonly anyHost?: boolean
    /** Whether an open route limits its callers by itself, and not by their address alone. */
    readonly limitsItself?: boolean
    /** Whether an idempotency key is honoured. */
    readonly repeatable?: boolean
    /**
     * Why an idempotency key has no effect on a POST or PUT. One that is no key is refused all the
     * same.
     */
    readonly notRepeatable?: string
    /** Whether a call without a body is malformed. */
    readonly bodyRequired?: boolean
    /**
     * Members of a body that are ciphertext: whatever is wrong with one has one answer, the
     * operation's.
     */
    readonly ciphertexts?: readonly string[]
    /** What its schema cannot say of a body; answered together with what the schema finds. */
    readonly bodyRules?: readonly BodyRule[]
    /** What this operation refuses, beside what any call may meet: for its description. */
    readonly problems?: readonly ProblemCode[]
    /** Whether an answer discloses something, and names its entry of the audit log. */
    readonly discloses?: boolean
    /** What is done before a known caller is answered a failure. Never rejects. */
    readonly beforeProblem?: (request: FastifyRequest, problem: Problem) => Promise<void>
  }
  interface FastifyRequest {
    /** Who calls: set on every route that is not open. */
    caller: Caller | null
  }
}

/**
 * Refuses in this order: no or bad token, missing scope, too many calls (docs/reference/api.md,
 * "Order of checks"). The client is read from the token and from nowhere else.
 */
export const authenticate =
  (verifier: AccessTokenVerifier, rate: RateLimiter | null) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { access } = request.routeOptions.config
    if (request.is404 || access === 'open') return
    const presented = computeClientThumbprint(request.raw.socket)
    const caller = await verifier.verify(parseAuthorization(request.raw), presented)
    request.caller = caller
    // A route that forgot to say what it needs is closed to everybody.
    if (access === undefined) throw new Problem('not_found')
    requireScope(caller, ...listNeededScopes(access))
    // A card network has cards waiting at a till: it is let in one after the other, and never
    // turned away.
    if (rate && caller.kind !== 'network') reply.headers(rate.spend(caller.clientId))
  }

/** Lists the scopes; a caller needs one of them. */
export const listNeededScopes = (access: Exclude<Access, 'open'>): readonly Scope[] =>
  typeof access === 'string' ? [access] : access

/** @throws `Problem` `insufficient_scope`, naming the first, where the caller has none of them. */
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
