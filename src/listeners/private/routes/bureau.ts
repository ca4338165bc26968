import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import * as batches from '../../../operations/bureau/batches.ts'
import { reportDelivery } from '../../../operations/bureau/deliveries.ts'
import { cutPage, PageQuerySchema, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { parsePlasticNumber, toPlasticPosition } from '../../http/plastics.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import { createRequester, type PrivateApi, parsePublicToken } from '../api.ts'
import {
  BatchesQuerySchema,
  BatchPlasticSchema,
  BatchSchema,
  ReportDeliverySchema,
  TakeBatchSchema,
} from '../schemas/bureau.ts'

const tags = ['Bureau']
const bureau = { access: 'bureau.write' } as const
const bureauAct = { ...bureau, repeatable: true } as const
const params = Type.Object({ batchId: Type.String() })

/** Routes by which the bureau takes plastics in batches. */
export function batchRoutes({ app, cards }: PrivateApi): void {
  app.post(
    '/bureau/batches',
    {
      config: bureauAct,
      schema: {
        operationId: 'takeBatch',
        summary: 'Take ordered plastics into a batch',
        description:
          'The oldest orders first. A plastic is in one batch only. 204: no plastic is ordered.',
        tags,
        body: TakeBatchSchema,
        response: { 201: BatchSchema, 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { limit = 100 } = request.body ?? {}
      const requester = createRequester(request)
      const answer = await batches.takeBatch(cards, requester, limit, repeatable(request))
      const batch = markReplay(reply, answer)
      if (batch === null) return reply.code(204).send(null)
      return reply.code(201).header('location', `/bureau/batches/${batch.batchId}`).send(batch)
    },
  )
  app.get(
    '/bureau/batches',
    {
      config: { ...bureau, lists: true },
      schema: {
        operationId: 'listBatches',
        summary: 'List your batches, newest first',
        description:
          'With `acknowledged=false`, those that you did not acknowledge: a batch whose answer ' +
          'was lost is among them.',
        tags,
        querystring: BatchesQuerySchema,
        response: { 200: Type.Array(BatchSchema) },
      },
    },
    async (request, reply) => {
      const limit = parseLimit(request.query.limit)
      const before = readCursor(request.query.cursor, toBatchPosition)
      const isUnacknowledged = request.query.acknowledged === 'false'
      const page = { before, isUnacknowledged, limit: limit + 1 }
      const listed = await batches.listBatches(cards, createRequester(request), page)
      return cutPage(request, reply, listed, {
        limit,
        toPosition: ({ batchId, takenAt }) => [toMicroseconds(takenAt), batchId],
      })
    },
  )
  app.get(
    '/bureau/batches/:batchId',
    {
      config: bureau,
      schema: {
        operationId: 'findBatch',
        summary: 'Read a batch',
        tags,
        params,
        response: { 200: BatchSchema },
      },
    },
    async (request) => batches.findBatch(cards, createRequester(request), parseBatchId(request)),
  )
  app.put(
    '/bureau/batches/:batchId/acknowledgement',
    {
      config: bureauAct,
      schema: {
        operationId: 'acknowledgeBatch',
        summary: 'Acknowledge a batch',
        description: 'The bureau has read the whole batch. A repeat keeps the first time.',
        tags,
        params,
        body: EmptyBodySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const requester = createRequester(request)
      const batch = parseBatchId(request)
      return noContent(
        reply,
        await batches.acknowledgeBatch(cards, requester, batch, repeatable(request)),
      )
    },
  )
}

/** Routes for the plastics of a batch. */
export function plasticRoutes({ app, cards }: PrivateApi): void {
  app.get(
    '/bureau/batches/:batchId/plastics',
    {
      config: { ...bureau, lists: true },
      schema: {
        operationId: 'listBatchPlastics',
        summary: 'List the plastics of a batch',
        description:
          'What is printed on each, and where it is sent, until it is delivered, returned or ' +
          'cancelled. Card numbers, keys and chip data are not in it.',
        tags,
        params,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(BatchPlasticSchema) },
      },
    },
    async (request, reply) => {
      const limit = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, toPlasticPosition)
      const page = { ...parseBatchId(request), after, limit }
      const plastics = await batches.listBatchPlastics(cards, createRequester(request), page)
      return cutPage(request, reply, plastics, {
        limit,
        toPosition: ({ plasticNumber, publicToken }) => [publicToken, plasticNumber],
      })
    },
  )
  app.post(
    '/bureau/plastics/:publicToken/:plasticNumber/status',
    {
      config: {
        ...bureauAct,
        bodyRequired: true,
        problems: ['card_not_found', 'delivery_conflict'],
      },
      schema: {
        operationId: 'reportDelivery',
        summary: 'Report where a plastic is',
        description:
          '`Ordered`, `Produced`, `Shipped`, `Delivered`, in this order; `Returned` from each. ' +
          'A report of the present status changes nothing. Only the client that took the batch ' +
          'of a plastic reports it.',
        tags,
        params: Type.Object({ publicToken: Type.String(), plasticNumber: Type.String() }),
        body: ReportDeliverySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const report = {
        publicToken: parsePublicToken(request),
        plasticNumber: parsePlasticNumber(request),
        to: request.body.deliveryStatus,
      }
      const requester = createRequester(request)
      return noContent(reply, await reportDelivery(cards, requester, report, repeatable(request)))
    },
  )
}

/** An instant to the millisecond as cursors have it. */
const toMicroseconds = (instant: string): string => instant.replace(/Z$/, '000Z')

/** Parses the position of a batch in a cursor; null for other values. */
function toBatchPosition([takenAt, batchId]: readonly unknown[]): readonly [string, string] | null {
  const instant = parseInstant(takenAt)
  return instant !== null && typeof batchId === 'string' && isUuid(batchId)
    ? [instant, batchId]
    : null
}

/** Parses the batch in a path. @throws `Problem` `not_found` if the text is no id. */
function parseBatchId({ params: { batchId } }: { params: { batchId: string } }) {
  if (!isUuid(batchId)) throw new Problem('not_found', { detail: batches.noBatch })
  return { batchId }
}
