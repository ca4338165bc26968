import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import * as operations from '../../../operations/approvals/approvals.ts'
import * as decisions from '../../../operations/approvals/decide.ts'
import type { Answer } from '../../../operations/idempotency/idempotency.ts'
import { requireCaller } from '../../http/authentication.ts'
import { cutPage, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import type { PrivateApi } from '../api.ts'
import * as approvalSchemas from '../schemas/approvals.ts'

const tags = ['Approvals']

/** Every possible requester sees at least their own approvals. */
const readers = {
  access: ['approve', 'admin', 'audit.read', 'keys.write', 'support.write'],
} as const
const approver = { access: 'approve', repeatable: true, bodyRequired: true } as const

/** Routes that list approvals, waiting and decided. */
export function approvalRoutes({ app, approvals }: PrivateApi): void {
  app.get(
    '/approvals',
    {
      config: { ...readers, lists: true },
      schema: {
        operationId: 'listApprovals',
        summary: 'List approvals, newest first',
        description:
          'Callers with `approve`, `audit.read` or `admin` get all approvals, others only ' +
          'their own requests.',
        tags,
        querystring: approvalSchemas.ApprovalsQuerySchema,
        response: { 200: Type.Array(approvalSchemas.ListedApprovalSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit, requestedBy: requesterId = null, state = null } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([at, id]) => {
        const requestedAt = parseInstant(at)
        return requestedAt !== null && isUuid(id) ? { requestedAt, approvalId: id } : null
      })
      const page = { after, limit: pageSize + 1 }
      const filter = { requesterId, state: state as operations.Approval['state'] | null }
      const listed = await operations.listApprovals(approvals, requireCaller(request), filter, page)
      return cutPage(request, reply, listed, {
        limit: pageSize,
        toPosition: ({ position }) => [position.requestedAt, position.approvalId],
      }).map(listedAnswer)
    },
  )
  app.get(
    '/approvals/waiting',
    {
      config: readers,
      schema: {
        operationId: 'countWaitingApprovals',
        summary: 'Count the requests that wait for you',
        description:
          'Requests of others that the caller may approve or refuse; 0 without `approve`.',
        tags,
        response: { 200: approvalSchemas.WaitingApprovalsSchema },
      },
    },
    async (request) => ({
      count: await operations.countWaitingFor(approvals, requireCaller(request)),
    }),
  )
  app.get(
    '/approvals/:approvalId',
    {
      config: readers,
      schema: {
        operationId: 'readApproval',
        summary: 'Read an approval with its exact payload',
        tags,
        params: approvalSchemas.ApprovalParamsSchema,
        response: { 200: approvalSchemas.ApprovalSchema },
      },
    },
    async (request) =>
      shownAnswer(
        await operations.findShownApproval(
          approvals,
          requireCaller(request),
          parseApprovalId(request),
        ),
      ),
  )
}

const params = approvalSchemas.ApprovalParamsSchema
const response = { 200: approvalSchemas.ApprovalSchema }

/** Routes by which another person decides an approval. */
export function decideApprovalRoutes({ app, approvals }: PrivateApi): void {
  app.post(
    '/approvals/:approvalId/approve',
    {
      config: {
        ...approver,
        problems: [
          ...(['approval_over', 'approval_stale', 'payload_hash_mismatch'] as const),
          ...(['same_person', 'login_too_old'] as const),
        ],
      },
      schema: {
        operationId: 'approveApproval',
        summary: 'Approve the request of another person',
        description:
          'For a person who signed in within five minutes. The request is executed in the ' +
          'background, once.',
        tags,
        params,
        response,
        body: approvalSchemas.ApproveSchema,
      },
    },
    async (request, reply) => {
      const { payloadHash } = request.body
      const decider = createDecider(request)
      return decided(
        reply,
        await decisions.approve(approvals, decider, payloadHash, repeatable(request)),
      )
    },
  )
  app.post(
    '/approvals/:approvalId/refuse',
    {
      config: { ...approver, problems: ['approval_over', 'same_person'] },
      schema: {
        operationId: 'refuseApproval',
        summary: 'Refuse the request of another person',
        tags,
        params,
        response,
        body: approvalSchemas.DecisionReasonSchema,
      },
    },
    async (request, reply) => {
      const { reason } = request.body
      const decider = createDecider(request)
      return decided(
        reply,
        await decisions.refuseRequest(approvals, decider, reason, repeatable(request)),
      )
    },
  )
}

/** Routes by which requesters withdraw their requests or approve them in an emergency. */
export function ownApprovalRoutes({ app, approvals }: PrivateApi): void {
  app.post(
    '/approvals/:approvalId/withdraw',
    {
      config: { ...readers, repeatable: true, problems: ['approval_over', 'not_requester'] },
      schema: {
        operationId: 'withdrawApproval',
        summary: 'Withdraw your own request',
        tags,
        params,
        response,
        body: EmptyBodySchema,
      },
    },
    async (request, reply) =>
      decided(
        reply,
        await decisions.withdraw(approvals, createDecider(request), repeatable(request)),
      ),
  )
  app.post(
    '/approvals/:approvalId/break-glass',
    {
      config: {
        ...approver,
        problems: ['approval_over', 'approval_stale', 'not_requester', 'login_too_old'],
      },
      schema: {
        operationId: 'breakGlass',
        summary: 'Execute your own request in an emergency',
        description:
          'The audit log records the act as break-glass; `/health` and the metrics report it ' +
          'for 30 days.',
        tags,
        params,
        response,
        body: approvalSchemas.DecisionReasonSchema,
      },
    },
    async (request, reply) => {
      const { reason } = request.body
      const decider = createDecider(request)
      return decided(
        reply,
        await decisions.breakGlass(approvals, decider, reason, repeatable(request)),
      )
    },
  )
}

type ApprovalRequest = FastifyRequest<{ Params: { approvalId: string } }>

/** @throws `Problem` `not_found` if the text cannot be the id of an approval. */
function parseApprovalId({ params }: Pick<ApprovalRequest, 'params'>): string {
  if (!isUuid(params.approvalId)) throw new Problem('not_found')
  return params.approvalId
}

const createDecider = (request: FastifyRequest) => ({
  ...requireCaller(request),
  requestId: request.id,
  approvalId: parseApprovalId(request as ApprovalRequest),
})

const decided = (reply: FastifyReply, answer: Answer<operations.ShownApproval>) =>
  shownAnswer(markReplay(reply, answer))

/** Converts an approval to its schema, whose lists are mutable. */
const listedAnswer = ({ scopes, ...approval }: operations.Approval) => ({
  ...approval,
  scopes: [...scopes],
})

const shownAnswer = ({
  client,
  keyThumbprints,
  outcome,
  payload,
  ...approval
}: operations.ShownApproval) => ({
  ...listedAnswer(approval),
  client: client && {
    ...client,
    scopes: [...client.scopes],
    credentialsGivenBy: [...client.credentialsGivenBy],
    keyThumbprints: [...client.keyThumbprints],
  },
  keyThumbprints: [...keyThumbprints],
  payload,
  outcome,
})
