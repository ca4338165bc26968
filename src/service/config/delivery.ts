import { isCidr } from '../../domain/identifiers.ts'

/** How events leave this service, and how long they are kept. */
export interface DeliveryConfig {
  /** Addresses that are called although they are not public. Null: loopback, and in the sandbox only. */
  readonly allowCidrs: readonly string[] | null
  /** Ports that are called. Null: all but those of this service. */
  readonly ports: readonly number[] | null
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
  ports: readPorts(read, 'OUTBOUND_PORTS'),
  timeoutMs: read.integer('DELIVERY_TIMEOUT_MS', 10_000, 500, 30_000),
  retentionDays: read.integer('EVENT_RETENTION_DAYS', 30, 1, 3_650),
})

function readCidrs(read: VariableReader, name: string): readonly string[] | null {
  const cidrs = read.text(name)?.split(',') ?? null
  if (cidrs === null || cidrs.every(isCidr)) return cidrs
  read.faults.push(
    `${name} must be blocks of addresses with commas, such as 10.20.0.0/16,fd12:3456::/32.`,
  )
  return null
}

function readPorts(read: VariableReader, name: string): readonly number[] | null {
  const ports = read.text(name)?.split(',') ?? null
  if (ports === null || ports.every(isPort)) return ports?.map(Number) ?? null
  read.faults.push(`${name} must be ports from 1 to 65535 with commas, such as 443,8443.`)
  return null
}

const isPort = (text: string): boolean => /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535
