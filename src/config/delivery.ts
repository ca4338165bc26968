import { isCidr } from '../domain/cidr.ts'

/** How events leave this service, and how long they are kept. */
export interface DeliveryConfig {
  /** Addresses that are called although they are not public. Null: loopback, and in the sandbox only. */
  readonly allowCidrs: readonly string[] | null
  /** For the whole of one request to an endpoint. */
  readonly timeoutMs: number
  readonly retentionDays: number
}

interface VariableReader {
  readonly faults: string[]
  text(name: string): string | null
  integer(name: string, otherwise: number, least: number, most: number): number
}

/** Reads the variables of delivery; what is wrong with them goes to the reader's faults. */
export const readDelivery = (read: VariableReader): DeliveryConfig => ({
  allowCidrs: readCidrs(read, 'OUTBOUND_ALLOW_CIDRS'),
  timeoutMs: read.integer('DELIVERY_TIMEOUT_MS', 10_000, 500, 30_000),
  retentionDays: read.integer('EVENT_RETENTION_DAYS', 30, 1, 3_650),
})

function readCidrs(read: VariableReader, name: string): readonly string[] | null {
  const cidrs = read.text(name)?.split(',') ?? null
  if (cidrs === null || cidrs.every(isCidr)) return cidrs
  read.faults.push(`${name} must be blocks of addresses with commas, such as 10.0.0.0/8,fd00::/8.`)
  return null
}
