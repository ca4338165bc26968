import type { Logger } from 'pino'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Config } from '../config.ts'
import { addressPolicy } from '../delivery/address-policy.ts'
import type { Delivering, DeliveryObserver } from '../delivery/delivering.ts'
import { createPost } from '../delivery/post.ts'
import { nameServers } from '../delivery/resolve-host.ts'
import { type TargetCheck, type TargetRules, targetCheck } from '../delivery/target-url.ts'
import type { Issuing } from '../issuing/issuing.ts'

/** What delivering needs, and the check of the addresses that clients give. */
export interface DeliveryParts {
  readonly delivering: Delivering
  readonly faultOfTarget: TargetCheck
}

/** Makes what delivers events, from the configuration. */
export function createDelivering(
  config: Config,
  { database, hsm }: Issuing,
  registry: Registry,
  log: Logger,
): DeliveryParts {
  const rules = targetRules(config)
  const { retentionDays, timeoutMs } = config.delivery
  const post = createPost({ ...rules, resolve: nameServers(), timeoutMs })
  const delivering: Delivering = {
    database,
    post,
    postTimeoutMs: timeoutMs,
    revealSecret: (webhookId, sealed) => hsm.revealRecord('webhook-secret', webhookId, sealed),
    retentionDays,
    observe: observer(registry, log),
  }
  return { delivering, faultOfTarget: targetCheck(rules) }
}

const loopback = ['127.0.0.0/8', '::1']

function targetRules(config: Config): TargetRules {
  const { baseUrl, privateListener, privateUrl, publicListener, sandbox } = config
  const allowCidrs = config.delivery.allowCidrs ?? (sandbox ? loopback : [])
  const { ports } = config.delivery
  const ownPorts = [publicListener.port, privateListener.port]
  return {
    httpsOnly: !sandbox,
    ports,
    ownUrls: [baseUrl, privateUrl],
    judge: addressPolicy({ allowCidrs, ownPorts, ports }),
  }
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
    help: 'Tries that did not deliver, by what they came to.',
    labelNames: ['outcome'],
    registers,
  })
  const disabled = new Counter({
    name: 'pinfold_webhooks_disabled_total',
    help: 'Webhooks disabled after three days of failures.',
    registers,
  })
  return {
    tried(outcome, lagSeconds) {
      if (lagSeconds === null) failures.inc({ outcome })
      else lag.observe(lagSeconds)
    },
    disabled({ clientId, webhookId }) {
      disabled.inc()
      log.error({ clientId, webhookId }, 'a webhook failed for three days and is disabled')
    },
    faulted(err, what) {
      log.warn({ err }, what)
    },
  }
}
