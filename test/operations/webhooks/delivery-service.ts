import { type RunningDelivery, startDelivery } from '../../../src/operations/webhooks/delivery.ts'
import type { DeliveryContext } from '../../../src/operations/webhooks/delivery-context.ts'
import {
  type CallerName,
  openTestService,
  sql,
  type TestService,
  type TestServiceOptions,
} from '../../support/service.ts'

/** The service in this process with delivery running, and webhooks on it. */

export type DeliveryService = TestService & {
  createWebhook: (
    url: string,
    events?: string[],
    as?: CallerName,
  ) => Promise<{ webhookId: string; secret: string }>
  stopDelivery: () => Promise<void>
  startDelivery: (changed?: Partial<DeliveryContext>) => void
}

export const openDeliveryService = async (
  options: TestServiceOptions = {},
): Promise<DeliveryService> => {
  const service = await openTestService({
    ...options,
    env: { RATE_LIMIT: 'off', DELIVERY_TIMEOUT_MS: '30000', ...options.env },
  })
  let running: RunningDelivery | null = null
  const start = (changed: Partial<DeliveryContext> = {}) => {
    running = startDelivery({ ...service.delivering, ...changed })
  }
  const stopDelivery = async () => {
    await running?.stop()
    running = null
  }
  start()
  // Whoever closes the database finds nobody at work on it.
  const close = service.database.close
  Object.assign(service.database, {
    close: async () => {
      await stopDelivery()
      await close()
    },
  })
  return {
    ...service,
    createWebhook: async (url, events = ['*'], as = 'client') => {
      const { json, status, text } = await service.call('POST', '/webhooks', {
        body: { url, events },
        as,
      })
      if (status !== 201) throw new Error(`No webhook was made: ${text}`)
      return json
    },
    stopDelivery,
    startDelivery: start,
  }
}

/** Makes the first try of what is pending, and its endpoint's address, more than three days old. */
export const ageTries = async ({ database }: DeliveryService, webhookId: string): Promise<void> => {
  const age = `now() - interval '3 days 1 second'`
  await sql(database, `update webhook set url_since = ${age} where webhook_id = $1`, [webhookId])
  await sql(
    database,
    `update delivery set first_tried_at = ${age}
     where webhook_id = $1 and status = 'Pending' and failures > 0`,
    [webhookId],
  )
}
