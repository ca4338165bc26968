/** The service in this process with delivery running, and webhooks on it. */
import type { Delivering } from '../../src/delivery/delivering.ts'
import { type RunningDelivery, startDelivery } from '../../src/delivery/start-delivery.ts'
import {
  type CallerName,
  openTestService,
  type TestService,
  type TestServiceOptions,
} from '../support/service.ts'

export type DeliveryService = TestService & {
  createWebhook: (
    url: string,
    events?: string[],
    as?: CallerName,
  ) => Promise<{ webhookId: string; secret: string }>
  stopDelivery: () => Promise<void>
  startDelivery: (changed?: Partial<Delivering>) => void
}

export const openDeliveryService = async (
  options: TestServiceOptions = {},
): Promise<DeliveryService> => {
  const service = await openTestService({
    ...options,
    env: { RATE_LIMIT: 'off', DELIVERY_TIMEOUT_MS: '1000', ...options.env },
  })
  let running: RunningDelivery | null = null
  const start = (changed: Partial<Delivering> = {}) => {
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
