import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { validationFailed } from '../../../domain/problem.ts'
import type { WebhookSecret } from '../../../domain/webhook-secret.ts'
import * as webhookOperations from '../../../operations/webhooks/webhooks.ts'
import { cutPage, PageQuerySchema, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import { createRequester, type PublicApi, parseWebhookId } from '../api.ts'
import { NoContentSchema } from '../schemas/cards.ts'
import * as webhookSchemas from '../schemas/webhooks.ts'

export function createWebhookRoute({ app, base, faultOfTarget, issuing }: PublicApi): void {
  app.post(
    `${base}/webhooks`,
    {
      config: { access: 'webhooks.write', repeatable: true, bodyRequired: true },
      schema: {
        operationId: 'createWebhook',
        summary: 'Create a webhook',
        description: 'Events are delivered to it from now on. Only this answer shows its `secret`.',
        tags: ['Webhooks'],
        body: webhookSchemas.CreateWebhookSchema,
        response: { 201: webhookSchemas.CreatedWebhookSchema },
      },
    },
    async (request, reply) => {
      refuseTarget(faultOfTarget, request.body)
      const answer = await webhookOperations.createWebhook(
        issuing,
        createRequester(request),
        request.body,
        repeatable(request),
      )
      const { events, secret, ...webhook } = markReplay(reply, answer)
      reply.code(201).header('location', `${base}/webhooks/${webhook.webhookId}`)
      return { ...webhook, events: [...events], ...revealed(secret) }
    },
  )
}

export function listWebhooksRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/webhooks`,
    {
      config: { access: 'webhooks.write', lists: true },
      schema: {
        operationId: 'listWebhooks',
        summary: 'List webhooks',
        tags: ['Webhooks'],
        querystring: PageQuerySchema,
        response: { 200: Type.Array(webhookSchemas.WebhookSchema) },
      },
    },
    async (request, reply) => {
      const { cursor, limit } = request.query
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([id]) => (isUuid(id) ? id : null))
      const webhooks = await webhookOperations.listWebhooks(
        issuing,
        createRequester(request),
        after,
        pageSize + 1,
      )
      const page = cutPage(request, reply, webhooks, {
        limit: pageSize,
        toPosition: (last) => [last.webhookId],
      })
      return page.map((webhook) => ({ ...webhook, events: [...webhook.events] }))
    },
  )
}

export function findWebhookRoute({ app, base, issuing }: PublicApi): void {
  app.get(
    `${base}/webhooks/:webhookId`,
    {
      config: { access: 'webhooks.write' },
      schema: {
        operationId: 'findWebhook',
        summary: 'Read a webhook',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        response: { 200: webhookSchemas.WebhookSchema },
      },
    },
    async (request) => {
      const webhook = await webhookOperations.findWebhookRecord(
        issuing,
        createRequester(request),
        parseWebhookId(request),
      )
      return { ...webhook, events: [...webhook.events] }
    },
  )
}

export function updateWebhookRoute({ app, base, faultOfTarget, issuing }: PublicApi): void {
  app.put(
    `${base}/webhooks/:webhookId`,
    {
      config: { access: 'webhooks.write', repeatable: true, bodyRequired: true },
      schema: {
        operationId: 'updateWebhook',
        summary: 'Change a webhook',
        description: 'Replaces all settings. `Disabled` cancels the pending deliveries.',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        body: webhookSchemas.UpdateWebhookSchema,
        response: { 200: webhookSchemas.WebhookSchema },
      },
    },
    async (request, reply) => {
      refuseTarget(faultOfTarget, request.body)
      const answer = await webhookOperations.updateWebhook(
        issuing,
        createRequester(request),
        { webhookId: parseWebhookId(request), settings: request.body },
        repeatable(request),
      )
      const { events, ...webhook } = markReplay(reply, answer)
      return { ...webhook, events: [...events] }
    },
  )
}

export function deleteWebhookRoute({ app, base, issuing }: PublicApi): void {
  app.delete(
    `${base}/webhooks/:webhookId`,
    {
      config: { access: 'webhooks.write' },
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook',
        description: 'Its pending deliveries are cancelled.',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        response: { 204: NoContentSchema },
      },
    },
    async (request, reply) => {
      await webhookOperations.deleteWebhook(
        issuing,
        createRequester(request),
        parseWebhookId(request),
      )
      return reply.code(204).send(null)
    },
  )
}

export function rotateWebhookSecretRoute({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/webhooks/:webhookId/rotate-secret`,
    {
      config: { access: 'webhooks.write', repeatable: true },
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: "Change a webhook's secret",
        description:
          'Only this answer shows the new `secret`. For 24 hours the previous one also signs ' +
          'every message. At most five times in 24 hours.',
        tags: ['Webhooks'],
        params: webhookSchemas.WebhookParamsSchema,
        body: EmptyBodySchema,
        response: { 200: webhookSchemas.RotatedSecretSchema },
      },
    },
    async (request, reply) => {
      const answer = await webhookOperations.rotateWebhookSecret(
        issuing,
        createRequester(request),
        parseWebhookId(request),
        repeatable(request),
      )
      const { secret, webhookId } = markReplay(reply, answer)
      return { webhookId, ...revealed(secret) }
    },
  )
}

/** Returns a secret that is shown once; nothing in a repeat. */
const revealed = (secret: WebhookSecret | undefined): { readonly secret?: string } =>
  secret ? { secret: secret.reveal() } : {}

/** @throws `Problem` `validation_failed` for an address that must not be called. */
function refuseTarget(findFault: PublicApi['faultOfTarget'], { url }: { url: string }): void {
  const detail = findFault(url)
  if (detail !== null) throw validationFailed({ pointer: '/url', detail })
}
