import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** An advice or reversal of a network. */
export interface NewAdvice {
  readonly networkId: string
  readonly adviceHash: Uint8Array
  readonly linkName: string
  readonly messageType: string
  /** The card; null if it is unknown. */
  readonly publicToken: string | null
  readonly trace: string | null
  readonly transmittedAt: string | null
  readonly reference: string | null
  readonly amount: string | null
  readonly currency: string | null
  readonly responseCode: string | null
  readonly isMatched: boolean
}

/** The end of a page of advices, newest first. */
export interface AdvicePosition {
  /** To the microsecond, which a JavaScript date would lose. */
  readonly receivedAt: string
  /** In hexadecimal. */
  readonly adviceHash: string
}

/** A recorded advice. */
export interface KnownAdvice extends Omit<NewAdvice, keyof AdvicePosition>, AdvicePosition {}

const declare = loadStatements(import.meta.url)

const insertAdvice = declare<NewAdvice>('record_network_advice')

/** Records an advice, unless it is already recorded. */
export const recordAdvice = async (connection: Connection, advice: NewAdvice): Promise<void> => {
  await insertAdvice(connection, advice)
}

const selectAdvices = declare<AdvicePosition & { linkName: string; limit: number }, KnownAdvice>(
  'list_network_advices',
)

/** The position before all advices. */
const newestAdvice: AdvicePosition = { receivedAt: 'infinity', adviceHash: '' }

/**
 * Lists the advices on a link, newest first.
 * @param before null for the first page.
 */
export const listAdviceRows = (
  connection: Connection,
  linkName: string,
  before: AdvicePosition | null,
  limit: number,
): Promise<KnownAdvice[]> =>
  selectAdvices(connection, { ...(before ?? newestAdvice), linkName, limit })

const deleteAdvices = declare<{ limit: number }>('prune_network_advices')

/**
 * Deletes some of the advices older than 30 days.
 * @returns their number.
 */
export const expireAdvices = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteAdvices(connection, { limit })).length
