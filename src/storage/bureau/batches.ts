import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { PlasticKey } from './deliveries.ts'

const declare = loadStatements(import.meta.url)

/** A plastic that no batch has taken. */
interface OrderRow extends PlasticKey {
  /** Whether it is to be made: its card is neither closed nor retired, and it has not expired. */
  readonly isOpen: boolean
}

const selectOrders = declare<{ today: string; limit: number }, OrderRow>('list_orders')

/**
 * Lists the oldest orders.
 * @param today `YYYY-MM-DD`
 */
export const listOrders = (
  connection: Connection,
  today: string,
  limit: number,
): Promise<OrderRow[]> => selectOrders(connection, { today, limit })

/** A batch, named by the client system of the bureau that took it. */
interface BatchKey {
  readonly batchId: string
  readonly clientId: string
}

interface TakenPlastics extends BatchKey {
  readonly publicTokens: readonly string[]
  readonly plasticNumbers: readonly number[]
  readonly now: Date
}

const take = declare<TakenPlastics, { taken: number }>('take_plastics')

/**
 * Makes a batch of those plastics that no other batch has taken meanwhile.
 * @returns their number; without any, no batch is made.
 */
export const takePlastics = async (
  connection: Connection,
  batch: BatchKey,
  plastics: readonly PlasticKey[],
  now: Date,
): Promise<number> => {
  const rows = await take(connection, {
    ...batch,
    publicTokens: plastics.map(({ publicToken }) => publicToken),
    plasticNumbers: plastics.map(({ plasticNumber }) => plasticNumber),
    now,
  })
  return firstRow(rows)?.taken ?? 0
}

export interface BatchRow {
  readonly batchId: string
  readonly takenAt: Date
  readonly acknowledgedAt: Date | null
}

const select = declare<BatchKey, BatchRow>('find_batch')

/** Returns a batch of this client, or null. */
export const findBatch = async (
  connection: Connection,
  batch: BatchKey,
): Promise<BatchRow | null> => firstRow(await select(connection, batch))

const count = declare<{ batchId: string }, { count: number }>('count_plastics_of_batch')

/** Counts the plastics of a batch. */
export const countPlastics = async (connection: Connection, batchId: string): Promise<number> =>
  firstRow(await count(connection, { batchId }))?.count ?? 0

const acknowledge = declare<BatchKey & { now: Date }, { isDone: boolean }>('acknowledge_batch')

/** Records that the bureau has the batch. @returns whether it exists. */
export const acknowledgeBatch = async (
  connection: Connection,
  batch: BatchKey,
  now: Date,
): Promise<boolean> => firstRow(await acknowledge(connection, { ...batch, now }))?.isDone ?? false

/** A plastic of a batch, with its card. */
export interface BatchPlasticRow extends PlasticKey {
  readonly productId: ProductId
  readonly cardType: CardType
  readonly reason: 'Issue' | 'Renewal' | 'Reprint' | 'Conversion'
  readonly designId: string | null
  readonly maskedPan: string
  /** `YYYY-MM-DD` */
  readonly startDate: string
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
  readonly deliveryStatus: DeliveryStatus
  readonly freeTexts: Uint8Array | null
  readonly personalData: Uint8Array
}

interface PlasticsPage {
  readonly batchId: string
  readonly afterToken: string
  readonly afterNumber: number
  readonly limit: number
}

const selectPlastics = declare<PlasticsPage, BatchPlasticRow>('list_plastics_of_batch')

/** The position of a plastic in the list of a batch. */
export type PlasticPosition = readonly [publicToken: string, plasticNumber: number]

/** The position before all plastics. */
export const firstPlastic: PlasticPosition = ['', -1]

/** Lists the plastics of a batch by card and number. */
export const listPlasticsOfBatch = (
  connection: Connection,
  batchId: string,
  [afterToken, afterNumber]: PlasticPosition,
  limit: number,
): Promise<BatchPlasticRow[]> =>
  selectPlastics(connection, { batchId, afterToken, afterNumber, limit })
