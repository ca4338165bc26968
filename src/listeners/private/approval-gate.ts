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

/** The approval rule of a route, which the configuration enables. */
interface ApprovalRule {
  readonly kinds: ApprovalKinds
  /** The schema of the body that the rule reads. */
  readonly body?: TSchema
  /** The kinds of the call; by default the first. Called after the call is validated. */
  readonly findKinds?: (request: FastifyRequest) => Promise<readonly ApprovalKind[]>
  /** Returns why a valid call cannot be requested for approval. */
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
 * Makes a rule that reads the body with the type of the route's schema: renaming a member in the
 * schema breaks the compilation of the rule. A route with another schema does not start.
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
 * Guards the routes with a kind of approval. If the kind requires an approval here, a valid and
 * allowed call is stored until another person approves it, and answered with 202. An approved call
 * passes.
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
    // Its answer differs from that of the same request without an approval.
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
 * Whether this process sends the approved request.
 * @throws `Problem` if it is another request, which would be a fault of this service.
 */
function isApproved(request: FastifyRequest): boolean {
  const { carriesOut } = requireCaller(request)
  if (!carriesOut) return false
  const { body, method, path } = carriesOut
  // Requests from before paths were normalized have their path as sent.
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

/** Normalizes the path: the route's, with decoded parameters and no unnecessary encoding. */
const composePath = ({ params, routeOptions, url }: FastifyRequest): string => {
  const given = params as Readonly<Record<string, string>>
  const pattern = routeOptions.url ?? url
  return pattern.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(given[name] ?? ''))
}
