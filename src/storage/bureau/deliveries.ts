import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type CardAct, type CardActValues, cardActParameters } from '../cards/card-act.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A plastic by its card and its number in it. */
export interface PlasticKey {
  readonly publicToken: PublicToken
  readonly plasticNumber: number
}

/** Where a plastic is, and the batch that took it. */
interface DeliveryRow {
  /** Null for a virtual card. */
  readonly deliveryStatus: DeliveryStatus | null
  readonly batchId: string | null
}

const select = declare<PlasticKey, DeliveryRow>('find_delivery')

/** Returns the delivery of a plastic, or null if there is no such plastic. */
export const findDelivery = async (
  connection: Connection,
  plastic: PlasticKey,
): Promise<DeliveryRow | null> => firstRow(await select(connection, plastic))

interface DeliveryMove {
  readonly plasticNumber: number
  readonly from: DeliveryStatus
  readonly to: DeliveryStatus
}

interface Done {
  readonly isDone: boolean
}

const change = declare<CardActValues & DeliveryMove, Done>('change_delivery_status')

/** Changes the delivery status of a plastic from the one that it was read with. */
export const changeDeliveryStatus = async (
  connection: Connection,
  act: CardAct,
  move: DeliveryMove,
): Promise<boolean> =>
  firstRow(await change(connection, { ...cardActParameters(act), ...move }))?.isDone ?? false

const cancel = declare<PlasticKey & { readonly today: string }, Done>('cancel_idle_order')

/**
 * Cancels the order of a plastic that is no longer to be made.
 * @param today `YYYY-MM-DD`
 * @returns whether it was done: not if the card or the plastic has changed meanwhile.
 */
export const cancelIdleOrder = async (
  connection: Connection,
  { plasticNumber, publicToken }: PlasticKey,
  today: string,
): Promise<boolean> =>
  firstRow(await cancel(connection, { publicToken, plasticNumber, today }))?.isDone ?? false
