import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** What a network says that it did by itself, or took back. */
export interface NewAdvice {
  readonly networkId: string
  readonly adviceHash: Uint8Array
  readonly linkName: string
  readonly messageType: string
  /** Of the card that it is about; null where there is none. */
  readonly publicToken: string | null
  readonly trace: string | null
  readonly transmittedAt: string | null
  readonly reference: string | null
  readonly amount: string | null
  readonly currency: string | null
  readonly responseCode: string | null
  readonly isMatched: boolean
}

/** Where a page of advices ends: newest first. */
export interface AdvicePosition {
  /** With microseconds, which a JavaScript date would lose. */
  readonly receivedAt: string
  /** In hexadecimal. */
  readonly adviceHash: string
}

/** An advice that is on record. */
export interface KnownAdvice extends Omit<NewAdvice, keyof AdvicePosition>, AdvicePosition {}

const declare = loadStatements(import.meta.url)

const insertAdvice = declare<NewAdvice>('record_network_advice')

/** Puts an advice on record, unless it is there. */
export const recordAdvice = async (connection: Connection, advice: NewAdvice): Promise<void> => {
  await insertAdvice(connection, advice)
}

const selectAdvices = declare<AdvicePosition & { linkName: string; limit: number }, KnownAdvice>(
  'list_network_advices',
)

/** Before all advices. */
const newestAdvice: AdvicePosition = { receivedAt: 'infinity', adviceHash: '' }

/** What a network said on a link, the newest first. @param before null: the newest. */
export const listAdviceRows = (
  connection: Connection,
  linkName: string,
  before: AdvicePosition | null,
  limit: number,
): Promise<KnownAdvice[]> =>
  selectAdvices(connection, { ...(before ?? newestAdvice), linkName, limit })

const deleteAdvices = declare<{ limit: number }>('prune_network_advices')

/** Forgets some of the advices older than 30 days. @returns how many. */
export const expireAdvices = async (connection: Connection, limit: number): Promise<number> =>
  (await deleteAdvices(connection, { limit })).length
