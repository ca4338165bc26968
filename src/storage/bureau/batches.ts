import type { PlasticReason, PlasticState } from '../../domain/card-life.ts'
import { type CardStatusCode, isFinal } from '../../domain/card-status.ts'
import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { PlasticKey } from './deliveries.ts'

const declare = loadStatements(import.meta.url)

/** A plastic that no batch has taken. */
interface OrderRow extends PlasticKey {
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
  readonly state: PlasticState
}

const selectOrders = declare<{ limit: number }, OrderRow>('list_orders')

/** The card of a plastic, as the bureau needs it. */
interface CardOfPlastic {
  readonly publicToken: PublicToken
  readonly productId: ProductId
  readonly designId: string | null
  readonly maskedPan: string
  readonly statusCode: CardStatusCode
  readonly isRetired: boolean
  readonly personalData: Uint8Array
}

const selectCards = declare<{ publicTokens: readonly string[] }, CardOfPlastic>(
  'list_cards_of_plastics',
)

/** Pairs each plastic with its card. */
async function pairWithCards<Plastic extends PlasticKey>(
  connection: Connection,
  plastics: readonly Plastic[],
): Promise<(readonly [Plastic, CardOfPlastic])[]> {
  const publicTokens = plastics.map(({ publicToken }) => publicToken)
  const rows = await selectCards(connection, { publicTokens })
  const cards = new Map(rows.map((card) => [card.publicToken, card]))
  return plastics.flatMap((plastic) => {
    const card = cards.get(plastic.publicToken)
    return card ? [[plastic, card] as const] : []
  })
}

/** An ordered plastic. */
interface Order extends PlasticKey {
  /** Whether it is to be made: its card is neither closed nor retired, and it has not expired. */
  readonly isOpen: boolean
}

/**
 * Lists the oldest orders.
 * @param today `YYYY-MM-DD`
 */
export async function listOrders(
  connection: Connection,
  today: string,
  limit: number,
): Promise<Order[]> {
  const orders = await pairWithCards(connection, await selectOrders(connection, { limit }))
  return orders.map(([{ expiryDate, plasticNumber, publicToken, state }, card]) => ({
    publicToken,
    plasticNumber,
    isOpen: !card.isRetired && expiryDate >= today && isMadeIn(card.statusCode, state),
  }))
}

/** An expired card has its renewal made, which waits. */
const isMadeIn = (statusCode: CardStatusCode, state: PlasticState): boolean =>
  !isFinal(statusCode) || (statusCode === '54' && state === 'Waiting')

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
  readonly plasticCount: number
}

const select = declare<BatchKey, BatchRow>('find_batch')

/** Returns a batch of this client, or null. */
export const findBatch = async (
  connection: Connection,
  batch: BatchKey,
): Promise<BatchRow | null> => firstRow(await select(connection, batch))

/** The position of a batch in the list of its client: the instant is a text of RFC 3339. */
export type BatchPosition = readonly [takenAt: string, batchId: string]

/** The position before all batches. */
export const newestBatch: BatchPosition = [
  '9999-12-31T00:00:00Z',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
]

interface BatchesPage {
  readonly clientId: string
  readonly beforeTakenAt: string
  readonly beforeBatchId: string
  readonly limit: number
}

const selectBatches = declare<BatchesPage, BatchRow>('list_batches')
const selectUnacknowledged = declare<BatchesPage, BatchRow>('list_unacknowledged_batches')

/** The batches of a client to list. */
interface BatchesOfClient {
  readonly clientId: string
  readonly isUnacknowledged: boolean
  readonly position: BatchPosition
  readonly limit: number
}

/** Lists the batches of a client, or those that it did not acknowledge, newest first. */
export const listBatches = (
  connection: Connection,
  { clientId, isUnacknowledged, limit, position }: BatchesOfClient,
): Promise<BatchRow[]> => {
  const [beforeTakenAt, beforeBatchId] = position
  const page = { clientId, beforeTakenAt, beforeBatchId, limit }
  return (isUnacknowledged ? selectUnacknowledged : selectBatches)(connection, page)
}

const acknowledge = declare<BatchKey & { now: Date }, { isDone: boolean }>('acknowledge_batch')

/** Records that the bureau has the batch. @returns whether it exists. */
export const acknowledgeBatch = async (
  connection: Connection,
  batch: BatchKey,
  now: Date,
): Promise<boolean> => firstRow(await acknowledge(connection, { ...batch, now }))?.isDone ?? false

interface TakenPlastic extends PlasticKey {
  readonly cardType: CardType
  readonly reason: PlasticReason
  /** `YYYY-MM-DD` */
  readonly startDate: string
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
  readonly deliveryStatus: DeliveryStatus
  readonly freeTexts: Uint8Array | null
}

/** A plastic of a batch, with its card. */
export type BatchPlasticRow = TakenPlastic &
  Pick<CardOfPlastic, 'productId' | 'designId' | 'maskedPan' | 'personalData'>

interface PlasticsPage {
  readonly batchId: string
  readonly afterToken: string
  readonly afterNumber: number
  readonly limit: number
}

const selectPlastics = declare<PlasticsPage, TakenPlastic>('list_plastics_of_batch')

/** The position of a plastic in the list of a batch. */
export type PlasticPosition = readonly [publicToken: string, plasticNumber: number]

/** The position before all plastics. */
export const firstPlastic: PlasticPosition = ['', -1]

/** Lists the plastics of a batch by card and number. */
export async function listPlasticsOfBatch(
  connection: Connection,
  batchId: string,
  [afterToken, afterNumber]: PlasticPosition,
  limit: number,
): Promise<BatchPlasticRow[]> {
  const page = { batchId, afterToken, afterNumber, limit }
  const plastics = await pairWithCards(connection, await selectPlastics(connection, page))
  return plastics.map(([plastic, { designId, maskedPan, personalData, productId }]) => ({
    ...plastic,
    designId,
    maskedPan,
    personalData,
    productId,
  }))
}
