import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { ApprovalKind, AskedRequest } from '../../domain/approval.ts'
import { toMembers } from '../../domain/members.ts'
import { Problem, type ProblemError, validationFailed } from '../../domain/problem.ts'
import { Secret } from '../../domain/secret.ts'
import type { ApprovalContext } from '../../operations/approvals/approvals.ts'
import { requestApproval } from '../../operations/approvals/ask.ts'
import { listNeededScopes, requireCaller } from '../http/authentication.ts'
import { markReplay, repeatable } from '../http/repeatable.ts'
import { ApprovalSchema } from './schemas/approvals.ts'

type ApprovalKinds = readonly [ApprovalKind, ...ApprovalKind[]]

/** What of a route another person approves, where the configuration says so. */
interface ApprovalRule {
  readonly kinds: ApprovalKinds
  /** The schema of the body that the rule reads. */
  readonly body?: TSchema
  /** Those that a call is of; without it, the first. Asked once the call is valid. */
  readonly findKinds?: (request: FastifyRequest) => Promise<readonly ApprovalKind[]>
  /** What cannot be asked for although it could be done at once. */
  readonly findFault?: (request: FastifyRequest) => Promise<ProblemError | null>
}

interface BodyRule<Body> {
  readonly kinds: ApprovalKinds
  findKinds?(
    body: Body,
    request: FastifyRequest,
  ): readonly ApprovalKind[] | Promise<readonly ApprovalKind[]>
  findFault?(
    body: Body,
    request: FastifyRequest,
  ): ProblemError | null | Promise<ProblemError | null>
}

/**
 * A rule that reads the body as the route's schema types it: a member that is renamed in the schema
 * does not compile in the rule. A route with another schema does not start.
 */
export function approvalByBody<Schema extends TSchema>(
  body: Schema,
  rule: BodyRule<Static<Schema>>,
): ApprovalRule {
  const { kinds } = rule
  const readBody = (request: FastifyRequest) => request.body as Static<Schema>
  return {
    kinds,
    body,
    findKinds: async (request) =>
      rule.findKinds ? rule.findKinds(readBody(request), request) : kinds.slice(0, 1),
    findFault: async (request) => rule.findFault?.(readBody(request), request) ?? null,
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly approval?: ApprovalRule
  }
}

/**
 * Stands before every route that names a kind of approval: where that kind needs one here, a call
 * that is valid and allowed is kept for another person to approve, and answered 202. One that is
 * approved passes.
 */
export function guardByApproval(app: FastifyInstance, approvals: ApprovalContext): void {
  app.addHook('onRoute', (route) => {
    if (!route.config?.approval) return
    const { body, response } = route.schema ?? {}
    const read = route.config.approval.body
    if (read && read !== body) throw new Error(`The approval of ${route.url} reads another schema.`)
    route.schema = { ...route.schema, response: { 202: ApprovalSchema, ...toMembers(response) } }
  })
  app.addHook('preHandler', async (request, reply) => {
    const { access, approval } = request.routeOptions.config
    if (!approval || access === undefined || access === 'open') return
    if (isApproved(request)) return
    const kinds = approval.findKinds
      ? await approval.findKinds(request)
      : approval.kinds.slice(0, 1)
    const kind = kinds.find((each) => approvals.required.has(each))
    if (kind === undefined) return
    const fault = await approval.findFault?.(request)
    if (fault) throw validationFailed(fault)
    const asked = describeRequest(request)
    const wanted = {
      ...asked,
      kind,
      access: listNeededScopes(access),
      requestId: request.id,
      members: { ...Object(request.params), ...asked.body },
    }
    const repeated = repeatable(request)
    // Its answer is another than that of the same request where none is needed.
    const own = repeated && {
      ...repeated,
      request: new Secret(`APPROVAL\n${repeated.request.reveal()}`),
    }
    const answer = await requestApproval(approvals, requireCaller(request), wanted, own)
    const shown = markReplay(reply, answer)
    return reply
      .code(202)
      .header('location', `/approvals/${shown.approvalId}`)
      .type('application/json; charset=utf-8')
      .serializer((document: unknown) => JSON.stringify(document))
      .send(shown)
  })
}

/**
 * Checks a call again in its transaction: what the gate read may have changed, so that the call
 * needs an approval now.
 * @param fault a fault of the call that no approval can lift.
 * @throws `Problem` `unavailable` if the call needs an approval now; its repeat is stored for
 *   another person. `validation_failed` for the fault of an approved call.
 */
export function judgeAgain(
  { required }: Pick<ApprovalContext, 'required'>,
  request: FastifyRequest,
  kinds: readonly ApprovalKind[],
  fault: ProblemError | null = null,
): void {
  const isApprovedCall = requireCaller(request).carriesOut !== undefined
  if (isApprovedCall && fault) throw validationFailed(fault)
  if (isApprovedCall || !kinds.some((kind) => required.has(kind))) return
  throw new Problem('unavailable', {
    detail: 'Another request has changed the same client. Send the request again.',
    retryAfterSeconds: 1,
  })
}

/**
 * Whether this process sends what was approved.
 * @throws `Problem` where it is another request: that would be a fault of ours.
 */
function isApproved(request: FastifyRequest): boolean {
  const { carriesOut } = requireCaller(request)
  if (!carriesOut) return false
  const { body, method, path } = carriesOut
  // What was asked for before paths were written in one way has its path as it was sent.
  const paths = [composePath(request), request.url]
  const isSame =
    JSON.stringify([method, body]) === JSON.stringify([request.method, request.body ?? null])
  if (isSame && paths.includes(path)) return true
  throw new Problem('internal_error')
}

const describeRequest = (request: FastifyRequest): AskedRequest => ({
  method: request.method,
  path: composePath(request),
  body: (request.body ?? null) as object | null,
})

/**
 * The path in its one spelling: the route's, with its parameters decoded and nothing encoded
 * without need.
 */
const composePath = ({ params, routeOptions, url }: FastifyRequest): string => {
  const given = params as Readonly<Record<string, string>>
  const pattern = routeOptions.url ?? url
  return pattern.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(given[name] ?? ''))
}
