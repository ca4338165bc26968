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

const select = declare<PlasticKey, { deliveryStatus: DeliveryStatus | null }>('find_delivery')

/** Returns the delivery status of a plastic; null if there is no such plastic, or it is virtual. */
export const findDelivery = async (
  connection: Connection,
  plastic: PlasticKey,
): Promise<DeliveryStatus | null> =>
  firstRow(await select(connection, plastic))?.deliveryStatus ?? null

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

const cancel = declare<PlasticKey, Done>('cancel_idle_order')

/** Cancels the order of a plastic whose card was closed or retired. */
export const cancelIdleOrder = async (
  connection: Connection,
  { plasticNumber, publicToken }: PlasticKey,
): Promise<void> => {
  await cancel(connection, { publicToken, plasticNumber })
}
