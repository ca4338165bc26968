import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../../domain/problem.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
} from '../../../operations/webhooks/webhooks.ts'
import { nextLink, parseLimit, readCursor, writeCursor } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import { NoContentSchema, PageQuerySchema } from '../schemas/cards.ts'
import {
  CreatedWebhookSchema,
  CreateWebhookSchema,
  EmptyBodySchema,
  RotatedSecretSchema,
  UpdateWebhookSchema,
  WebhookParamsSchema,
  WebhookSchema,
} from '../schemas/webhooks.ts'
import { type Api, actingOf } from '../server.ts'

/** What is wrong with an address that a client wants called, or null. */
export type FaultOfTarget = (url: string) => string | null

export function webhookRoutes(api: Api, faultOf: FaultOfTarget): void {
  createRoute(api, faultOf)
  listRoute(api)
  findRoute(api)
  updateRoute(api, faultOf)
  deleteRoute(api)
  rotateSecretRoute(api)
}

/** The webhook that a path names. @throws `Problem` `not_found` when it can be no webhook's id. */
export function webhookIdOf({ params }: { params: { webhookId: string } }): string {
  if (!isUuid(params.webhookId)) throw new Problem('not_found')
  return params.webhookId
}

/** @throws `Problem` `validation_failed` for an address that is never called. */
function refuseTarget(faultOf: FaultOfTarget, { url }: { url: string }): void {
  const detail = faultOf(url)
  if (detail !== null) throw validationFailed({ pointer: '/url', detail })
}

function createRoute({ app, base, issuing }: Api, faultOf: FaultOfTarget): void {
  app.post(
    `${base}/webhooks`,
    {
      config: { access: 'webhooks.write', repeatable: true, bodyRequired: true },
      schema: {
        operationId: 'createWebhook',
        summary: 'Create a webhook',
        description: 'Events are delivered to it from now on. Its `secret` is shown this once.',
        tags: ['Webhooks'],
        body: CreateWebhookSchema,
        response: { 201: CreatedWebhookSchema },
      },
    },
    async (request, reply) => {
      refuseTarget(faultOf, request.body)
      const answer = await createWebhook(
        issuing,
        actingOf(request),
        request.body,
        repeatable(request),
      )
      const { events, ...webhook } = answerOf(reply, answer)
      reply.code(201).header('location', `${base}/webhooks/${webhook.webhookId}`)
      return { ...webhook, events: [...events] }
    },
  )
}

function listRoute({ app, base, issuing }: Api): void {
  app.get(
    `${base}/webhooks`,
    {
      config: { access: 'webhooks.write', lists: true },
      schema: {
        operationId: 'listWebhooks',
        summary: 'List webhooks',
        tags: ['Webhooks'],
        querystring: PageQuerySchema,
        response: { 200: Type.Array(WebhookSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, parsePosition)
      // One more than asked for tells whether there is a next page.
      const webhooks = await listWebhooks(issuing, actingOf(request), after, pageSize + 1)
      const page = webhooks.slice(0, pageSize)
      const last = webhooks.length > pageSize ? page.at(-1) : undefined
      if (last) reply.header('link', nextLink(request.url, writeCursor([last.webhookId])))
      return page.map((webhook) => ({ ...webhook, events: [...webhook.events] }))
    },
  )
}

const parsePosition = ([webhookId]: readonly unknown[]): string | null =>
  isUuid(webhookId) ? webhookId : null

function findRoute({ app, base, issuing }: Api): void {
  app.get(
    `${base}/webhooks/:webhookId`,
    {
      config: { access: 'webhooks.write' },
      schema: {
        operationId: 'findWebhook',
        summary: 'Read a webhook',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        response: { 200: WebhookSchema },
      },
    },
    async (request) => {
      const webhook = await getWebhook(issuing, actingOf(request), webhookIdOf(request))
      return { ...webhook, events: [...webhook.events] }
    },
  )
}

function updateRoute({ app, base, issuing }: Api, faultOf: FaultOfTarget): void {
  app.put(
    `${base}/webhooks/:webhookId`,
    {
      config: { access: 'webhooks.write', repeatable: true, bodyRequired: true },
      schema: {
        operationId: 'updateWebhook',
        summary: 'Change a webhook',
        description: 'Replaces all that can be set. `Disabled` gives up what is pending.',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        body: UpdateWebhookSchema,
        response: { 200: WebhookSchema },
      },
    },
    async (request, reply) => {
      refuseTarget(faultOf, request.body)
      const answer = await updateWebhook(
        issuing,
        actingOf(request),
        { webhookId: webhookIdOf(request), settings: request.body },
        repeatable(request),
      )
      const { events, ...webhook } = answerOf(reply, answer)
      return { ...webhook, events: [...events] }
    },
  )
}

function deleteRoute({ app, base, issuing }: Api): void {
  app.delete(
    `${base}/webhooks/:webhookId`,
    {
      config: { access: 'webhooks.write' },
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook',
        description: 'What is pending is given up.',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        response: { 204: NoContentSchema },
      },
    },
    async (request, reply) => {
      await deleteWebhook(issuing, actingOf(request), webhookIdOf(request))
      return reply.code(204).send(null)
    },
  )
}

function rotateSecretRoute({ app, base, issuing }: Api): void {
  app.post(
    `${base}/webhooks/:webhookId/rotate-secret`,
    {
      config: { access: 'webhooks.write', repeatable: true },
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: "Change a webhook's secret",
        description:
          'The new `secret` is shown this once. For 24 hours the one before it signs every message, ' +
          'too. Five times in 24 hours.',
        tags: ['Webhooks'],
        params: WebhookParamsSchema,
        body: EmptyBodySchema,
        response: { 200: RotatedSecretSchema },
      },
    },
    async (request, reply) => {
      const answer = await rotateWebhookSecret(
        issuing,
        actingOf(request),
        webhookIdOf(request),
        repeatable(request),
      )
      return answerOf(reply, answer)
    },
  )
}
