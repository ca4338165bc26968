import Type from 'typebox'
import { isClientId } from '../../../domain/client.ts'
import { isDeliveryId, isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import { listDeliveries } from '../../../operations/webhooks/deliveries.ts'
import * as watching from '../../../operations/webhooks/operator-acts.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, noContent, repeatable } from '../../http/repeatable.ts'
import { createRequester, type PrivateApi, parseClientId, support, supportAct } from '../api.ts'
import { ReasonSchema } from '../schemas/cards.ts'
import * as schemas from '../schemas/webhooks.ts'

const tags = ['Webhooks']
const webhookPath = '/clients/:clientId/webhooks/:webhookId'

/**
 * Parses the webhook in a path.
 * @throws `Problem` `not_found` if the text cannot name one.
 */
function parseWebhookNames(request: {
  params: { clientId: string; webhookId: string }
}): watching.WebhookNames {
  const { webhookId } = request.params
  if (!isUuid(webhookId)) throw new Problem('not_found')
  return { clientId: parseClientId(request), webhookId }
}

/** Routes for the webhooks of every client and their deliveries. */
export function watchedWebhookRoutes({ app, cards }: PrivateApi): void {
  app.get(
    '/webhooks',
    {
      config: { ...support, lists: true },
      schema: {
        operationId: 'listAllWebhooks',
        summary: 'List the webhooks of every client',
        tags,
        querystring: schemas.WatchedWebhooksQuerySchema,
        response: { 200: Type.Array(schemas.WatchedWebhookSchema) },
      },
    },
    async (request, reply) => {
      const { clientId = null, cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([client, webhookId]) =>
        isClientId(client) && isUuid(webhookId) ? { clientId: client, webhookId } : null,
      )
      const found = await watching.listWatchedWebhooks(cards, {
        clientId,
        after,
        limit: pageSize + 1,
      })
      return cutPage(request, reply, found, {
        limit: pageSize,
        toPosition: (last) => [last.clientId, last.webhookId],
      }).map(webhookAnswer)
    },
  )
  app.get(
    webhookPath,
    {
      config: support,
      schema: {
        operationId: 'getAnyWebhook',
        summary: 'Read a webhook of any client',
        tags,
        params: schemas.WatchedWebhookParamsSchema,
        response: { 200: schemas.WatchedWebhookSchema },
      },
    },
    async (request) =>
      webhookAnswer(await watching.findWebhookOfClient(cards, parseWebhookNames(request))),
  )
}

/** Lists the deliveries to a webhook of any client. */
export function watchedDeliveriesRoute({ app, cards }: PrivateApi): void {
  app.get(
    `${webhookPath}/deliveries`,
    {
      config: { ...support, lists: true },
      schema: {
        operationId: 'listAnyDeliveries',
        summary: 'List the deliveries of a webhook',
        description: 'Newest first, each with its attempts.',
        tags,
        params: schemas.WatchedWebhookParamsSchema,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(schemas.WatchedDeliverySchema) },
      },
    },
    async (request, reply) => {
      const { clientId, webhookId } = parseWebhookNames(request)
      const pageSize = parseLimit(request.query.limit)
      const deliveries = await listDeliveries(
        cards,
        { clientId, requestId: request.id },
        {
          webhookId,
          before: readCursor(request.query.cursor, ([id]) => (isDeliveryId(id) ? id : null)),
          limit: pageSize + 1,
        },
      )
      return cutPage(request, reply, deliveries, {
        limit: pageSize,
        toPosition: (last) => [last.deliveryId],
      }).map((delivery) => ({ ...delivery, tries: [...delivery.tries] }))
    },
  )
}

const webhookAnswer = ({ events, ...webhook }: watching.WatchedWebhook) => ({
  ...webhook,
  events: [...events],
})

/** Routes by which an operator repeats deliveries to a client's webhook, with a reason. */
export function sendAgainRoutes({ app, cards }: PrivateApi): void {
  app.post(
    `${webhookPath}/deliveries/:deliveryId/resend`,
    {
      config: supportAct,
      schema: {
        operationId: 'resendAnyDelivery',
        summary: 'Send a delivery of any client again',
        description: 'At once, whether or not it was delivered, with the same `webhook-id`.',
        tags,
        params: schemas.WatchedDeliveryParamsSchema,
        body: ReasonSchema,
        response: { 202: schemas.QueuedAgainSchema },
      },
    },
    async (request, reply) => {
      const { deliveryId } = request.params
      if (!isDeliveryId(deliveryId)) throw new Problem('not_found')
      const act = { ...parseWebhookNames(request), deliveryId, ...request.body }
      const operator = createRequester(request)
      reply.code(202)
      return markReplay(
        reply,
        await watching.resendAsOperator(cards, operator, act, repeatable(request)),
      )
    },
  )
  app.post(
    `${webhookPath}/replay`,
    {
      config: supportAct,
      schema: {
        operationId: 'replayAnyWebhook',
        summary: 'Deliver the missed events of a webhook of any client',
        tags,
        params: schemas.WatchedWebhookParamsSchema,
        body: schemas.ReplayAsOperatorSchema,
        response: { 202: schemas.ReplayingAgainSchema },
      },
    },
    async (request, reply) => {
      const act = { ...parseWebhookNames(request), ...request.body }
      const operator = createRequester(request)
      reply.code(202)
      return markReplay(
        reply,
        await watching.replayAsOperator(cards, operator, act, repeatable(request)),
      )
    },
  )
}

/** Routes by which an operator disables or enables a client's webhook, with a reason. */
export function switchWebhookRoutes({ app, cards }: PrivateApi): void {
  for (const [verb, status] of [
    ['disable', 'Disabled'],
    ['enable', 'Enabled'],
  ] as const) {
    app.post(
      `${webhookPath}/${verb}`,
      {
        config: supportAct,
        schema: {
          operationId: `${verb}AnyWebhook`,
          summary: verb === 'disable' ? 'Disable a webhook' : 'Enable a webhook',
          description:
            'A webhook that has this status already is not changed. The client can reverse the ' +
            'act. Disabling cancels pending deliveries.',
          tags,
          params: schemas.WatchedWebhookParamsSchema,
          body: ReasonSchema,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const act = { ...parseWebhookNames(request), status, ...request.body }
        const operator = createRequester(request)
        return noContent(
          reply,
          await watching.switchAsOperator(cards, operator, act, repeatable(request)),
        )
      },
    )
  }
}
