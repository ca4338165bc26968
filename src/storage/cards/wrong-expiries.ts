import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import { dayOf } from './limits.ts'
import type { NewAuthorizationRecord } from './new-authorizations.ts'

/** Who gave a wrong expiry, of which card. */
export interface WrongExpiry {
  readonly publicToken: PublicToken
  /** The network client. */
  readonly networkId: string
}

/** How many wrong expiries are taken for mistakes, within any stretch of so many seconds. */
interface GuessingThreshold {
  readonly mistakes: number
  readonly windowSeconds: number
}

const declare = loadStatements(import.meta.url)

interface CountedExpiry {
  readonly publicToken: PublicToken
  /** The network. */
  readonly clientId: string
  readonly mistakes: number
  /** In microseconds. */
  readonly windowLength: number
}

const upsertExpiry = declare<CountedExpiry, { isToReport: boolean }>('count_wrong_expiry')
const upsertExpiryAndRecord = declare<
  CountedExpiry & NewAuthorizationRecord,
  { isToReport: boolean }
>('count_wrong_expiry_and_record')

/**
 * Counts a wrong expiry, in one row for each card and network.
 * @param record of its authorization, where nothing else puts that on record.
 * @returns whether it is to be reported: it is more than mistakes, and none was reported within the window.
 */
export const countWrongExpiry = async (
  connection: Connection,
  { networkId, publicToken }: WrongExpiry,
  { mistakes, windowSeconds }: GuessingThreshold,
  record: NewAuthorizationRecord | null,
): Promise<boolean> => {
  const windowLength = windowSeconds * 1_000_000
  const counted = { publicToken, clientId: networkId, mistakes, windowLength }
  const rows = record
    ? await upsertExpiryAndRecord(connection, { ...record, ...counted })
    : await upsertExpiry(connection, counted)
  return firstRow(rows)?.isToReport ?? false
}

const deleteExpiries = declare<{ day: number; limit: number }>('prune_wrong_expiries')

/** Forgets some of the rows in which nothing counted at an instant any more. @returns how many. */
export const pruneWrongExpiries = async (
  connection: Connection,
  at: Date,
  limit: number,
): Promise<number> => (await deleteExpiries(connection, { day: dayOf(at), limit })).length
