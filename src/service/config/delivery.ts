import { isCidr } from '../../domain/identifiers.ts'
import type { VariableReader } from './variables.ts'

/** The settings of delivery, and the retention of events and other records. */
export interface DeliveryConfig {
  /**
   * Addresses that may be called although they are not public. Null for loopback, in the sandbox
   * only.
   */
  readonly allowCidrs: readonly string[] | null
  /** Ports that may be called. Null for all but the service's own. */
  readonly ports: readonly number[] | null
  /** The time limit of one request to an endpoint. */
  readonly timeoutMs: number
  /** In days: of events and settled deliveries, of spent tries, and of payments that are over. */
  readonly retention: {
    readonly eventDays: number
    readonly attemptDays: number
    readonly paymentDays: number
  }
}

/** Reads the variables of delivery and adds errors to the reader's faults. */
export function readDelivery(read: VariableReader): DeliveryConfig {
  const list = (name: string, isOne: (text: string) => boolean, rule: string) => {
    const texts = read.text(name)?.split(',') ?? null
    if (texts === null || texts.every(isOne)) return texts
    read.faults.push(`${name} must be ${rule}.`)
    return null
  }
  const allowCidrs = list(
    'OUTBOUND_ALLOW_CIDRS',
    isCidr,
    'address blocks separated by commas, such as 10.20.0.0/16,fd12:3456::/32',
  )
  const ports = list(
    'OUTBOUND_PORTS',
    (text) => /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535,
    'ports from 1 to 65535 separated by commas, such as 443,8443',
  )
  return {
    allowCidrs,
    ports: ports?.map(Number) ?? null,
    timeoutMs: read.integer('DELIVERY_TIMEOUT_MS', 10_000, 500, 30_000),
    retention: {
      eventDays: read.integer('EVENT_RETENTION_DAYS', 30, 1, 3_650),
      // PCI DSS 10.5.1 asks for records of twelve months.
      attemptDays: read.integer('ATTEMPT_RETENTION_DAYS', 400, 1, 3_650),
      // Longer than any hold of a product.
      paymentDays: read.integer('PAYMENT_RETENTION_DAYS', 400, 100, 3_650),
    },
  }
}
