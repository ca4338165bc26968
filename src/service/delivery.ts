import type { Logger } from 'pino'
import { Counter, Histogram, type Registry } from 'prom-client'
import { WebhookSecret } from '../domain/webhook-secret.ts'
import type { DeliveryContext, DeliveryObserver } from '../operations/webhooks/delivery-context.ts'
import { createPost } from '../operations/webhooks/post.ts'
import type { WebhookContext } from '../operations/webhooks/webhooks.ts'
import { nameServers } from '../outbound/resolve-host.ts'
import { type TargetCheck, targetCheck } from '../outbound/target-url.ts'
import type { Config } from './config/config.ts'
import { targetRules } from './outbound.ts'

/** The dependencies of delivery, and the check of clients' URLs. */
interface DeliveryParts {
  readonly delivering: DeliveryContext
  readonly faultOfTarget: TargetCheck
}

/** Creates the delivery of events from the configuration. */
export function createDelivering(
  config: Config,
  { database, gate, hsm, rests }: WebhookContext & Pick<DeliveryContext, 'gate' | 'rests'>,
  registry: Registry,
  log: Logger,
): DeliveryParts {
  const rules = targetRules(config)
  const { retention, timeoutMs } = config.delivery
  const post = createPost({ ...rules, resolve: nameServers(), timeoutMs })
  const delivering: DeliveryContext = {
    database,
    rests,
    gate,
    post,
    postTimeoutMs: timeoutMs,
    revealSecret: async (webhookId, sealed) =>
      new WebhookSecret(await hsm.revealRecord('webhook-secret', webhookId, sealed)),
    retention,
    observe: observer(registry, log),
  }
  return { delivering, faultOfTarget: targetCheck(rules) }
}

function observer(registry: Registry, log: Logger): DeliveryObserver {
  const registers = [registry]
  const lag = new Histogram({
    name: 'pinfold_delivery_lag_seconds',
    help: 'Time from an act to the delivery of its event.',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 21_600, 259_200],
    registers,
  })
  const failures = new Counter({
    name: 'pinfold_delivery_failures_total',
    help: 'Failed delivery attempts, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const disabled = new Counter({
    name: 'pinfold_webhooks_disabled_total',
    help: 'Webhooks disabled after three days of failures, or because the receiver answered 410.',
    registers,
  })
  return {
    tried(outcome, lagSeconds) {
      if (lagSeconds === null) failures.inc({ outcome })
      else lag.observe(lagSeconds)
    },
    disabled({ clientId, webhookId }) {
      disabled.inc()
      log.error(
        { clientId, webhookId },
        'a webhook failed for three days, or its receiver answered 410, and is disabled',
      )
    },
    faulted(err, what) {
      log.warn({ err }, what)
    },
  }
}
