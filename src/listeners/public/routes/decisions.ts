import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPublicToken, isUuid } from '../../../domain/identifiers.ts'
import { answerByCall } from '../../../operations/decisions/calls.ts'
import { findDecision, listDecisions } from '../../../operations/decisions/records.ts'
import { replayDecision } from '../../../operations/decisions/replay.ts'
import type { DecisionStream, StreamedRequest } from '../../../operations/decisions/streams.ts'
import { requireCaller } from '../../http/authentication.ts'
import { sendEventStream } from '../../http/event-stream.ts'
import { cutPage, parseLimit, readCursor } from '../../http/pages.ts'
import { findBody } from '../../http/request.ts'
import { EmptyBodySchema, shapeFaults } from '../../http/validation.ts'
import { createRequester, type PublicApi } from '../api.ts'
import * as schemas from '../schemas/decisions.ts'
import { boundTrials } from './decision-trials.ts'

const tags = ['Decisions']
const params = schemas.DecisionParamsSchema
const answerBodyLimit = 16_384
/** One of them suffices. */
const reading = ['decisions.write', 'payments.read'] as const

export function listDecisionsRoute({ app, base, deciding }: PublicApi): void {
  app.get(
    `${base}/decisions`,
    {
      config: { access: reading, lists: true },
      schema: {
        operationId: 'listDecisions',
        summary: 'List decisions',
        description:
          'What your endpoint was asked and who decided, newest first: of all cards or of one, ' +
          'for one purpose, by one decider.',
        tags,
        querystring: schemas.ListDecisionsQuerySchema,
        response: { 200: Type.Array(schemas.RecordedDecisionSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, decidedBy = null, limit, publicToken, purpose = null } = request.query
      const pageSize = parseLimit(limit)
      const decisions = await listDecisions(deciding, createRequester(request), {
        publicToken: isPublicToken(publicToken) ? publicToken : null,
        purpose,
        decidedBy,
        before: readCursor(cursor, ([id]) => (isUuid(id) ? id : null)),
        // One more than asked for shows whether there is a next page.
        limit: pageSize + 1,
      })
      return cutPage(request, reply, decisions, {
        limit: pageSize,
        toPosition: ({ decisionId }) => [decisionId],
      })
    },
  )
}

export function findDecisionRoute({ app, base, deciding }: PublicApi): void {
  app.get(
    `${base}/decisions/:decisionId`,
    {
      config: { access: reading },
      schema: {
        operationId: 'findDecision',
        summary: 'Read a decision',
        description: 'What your endpoint was asked, what it answered, and who decided.',
        tags,
        params,
        response: { 200: schemas.DecisionWithRequestSchema },
      },
    },
    async (request) => findDecision(deciding, createRequester(request), toId(request)),
  )
}

export function answerDecisionRoute({ app, base, deciding }: PublicApi): void {
  app.post(
    `${base}/decisions/:decisionId/answer`,
    {
      bodyLimit: answerBodyLimit,
      // The decision judges its answer, as it judges one by HTTP. The schema only names the faults.
      attachValidation: true,
      config: {
        access: 'decisions.write',
        answersRequests: true,
        bodyRequired: true,
        keepsBody: true,
        notRepeatable: 'the first answer counts',
        problems: ['decision_answered', 'decision_over'],
      },
      schema: {
        operationId: 'answerDecision',
        summary: 'Answer a decision',
        description:
          'For a request from the stream, or in place of the answer by HTTP. The first answer ' +
          'counts. One after the deadline changes nothing, and is reported as `decision.late`.',
        tags,
        params,
        body: schemas.DecisionAnswerSchema,
        response: { 200: schemas.AcceptedAnswerSchema },
      },
    },
    async (request) => {
      const { validationError } = request
      if (validationError && validationError.validationContext !== 'body') throw validationError
      const decisionId = toId(request)
      const { body } = request
      const stated = { body, bytes: findBody(request), shapeFaults: shapeFaults(request) }
      const answer = await answerByCall(deciding, createRequester(request), decisionId, stated)
      return { decisionId, decision: answer.decision }
    },
  )
}

export function replayDecisionRoute({ app, base, deciding }: PublicApi): void {
  const ask = boundTrials()
  app.post(
    `${base}/decisions/:decisionId/replay`,
    {
      config: {
        access: 'decisions.write',
        notRepeatable: 'each request is a trial of its own',
      },
      schema: {
        operationId: 'replayDecision',
        summary: 'Ask again about a past decision',
        description:
          'Sends the stored facts to the endpoint in force, or to one of its versions, and ' +
          'returns both outcomes. The request says that it is a replay. It changes nothing. At ' +
          'most 4 replays of a client wait at once.',
        tags,
        params,
        querystring: schemas.ReplayQuerySchema,
        body: EmptyBodySchema,
        response: { 200: schemas.DecisionReplaySchema },
      },
    },
    async (request) => {
      const { version } = request.query
      const asked = version === undefined ? null : Number(version)
      const requester = createRequester(request)
      return ask(request, (onWaiting) =>
        replayDecision({ ...deciding, onWaiting }, requester, toId(request), asked),
      )
    },
  )
}

/** Few, so that what waits behind a slow reader can go to another stream. */
const bufferBytes = 16_384

export function streamDecisionsRoute({ app, base, deciding }: PublicApi): void {
  const { streams } = deciding
  app.addHook('preClose', () => streams.close())
  app.get(
    `${base}/decisions/stream`,
    {
      config: { access: 'decisions.write' },
      schema: {
        operationId: 'streamDecisions',
        summary: 'Take requests for decisions on a stream',
        description:
          'Server-sent events for endpoints without a URL: first what waits, then each request ' +
          'as it comes, until the access token expires. `data` is JSON with the exact `body` and ' +
          'its `headers`. Several streams share the requests. Answer by `answerDecision`.',
        tags,
        produces: ['text/event-stream'],
        response: { 200: Type.String() },
      },
    },
    async (request, reply) => {
      const { clientId, expiresAt } = requireCaller(request)
      const opened = await streams.open(clientId, expiresAt)
      const end = () => opened.end()
      const lines = composeLines(opened)
      return sendEventStream(request, reply, { lines, expiresAt, bufferBytes, end })
    },
  )
}

async function* composeLines({ requests }: DecisionStream): AsyncGenerator<string> {
  yield ': live\n\n'
  for await (const some of requests) yield some.map(composeBlock).join('') || ': still here\n\n'
}

const composeBlock = ({ body, decisionId, headers }: StreamedRequest): string =>
  `id: ${decisionId}\nevent: decision\ndata: ${JSON.stringify({ headers, body })}\n\n`

const toId = ({ params: { decisionId } }: FastifyRequest<{ Params: { decisionId: string } }>) =>
  decisionId
