import type { ListenerName } from '../../domain/client.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import {
  type ActPosition,
  findOperatorActs,
  insertOperatorAct,
  type NewOperatorAct,
  newestAct,
  type OperatorActRow,
} from '../../storage/clients/acts.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'

/** What the operations of an administrator work with. */
export interface ClientOperations {
  readonly database: Database
  readonly hsm: Hsm
  /** Listeners that ask their callers for a certificate. */
  readonly certificateListeners: ReadonlySet<ListenerName>
}

/** Who asks, as the access token says, and under which request id. */
export interface Operator {
  readonly clientId: string
  readonly requestId: string
}

/** What was done to what. The details hold no secret. */
interface OperatorAct extends Pick<NewOperatorAct, 'act' | 'subjectKind' | 'subject'> {
  readonly details: object
}

/** Puts an act on record, in the transaction of the change that it tells. */
export const recordAct = (
  connection: Connection,
  { clientId, requestId }: Operator,
  { details, ...act }: OperatorAct,
): Promise<void> =>
  insertOperatorAct(connection, { ...act, details: JSON.stringify(details), clientId, requestId })

/** The members of a record that a change moves, before and after. */
export function differences<Kept extends object>(before: Kept, after: Kept): object {
  const names = Object.keys(after) as (keyof Kept)[]
  const moved = names.filter((name) => !isSame(before[name], after[name]))
  const pick = (record: Kept) => Object.fromEntries(moved.map((name) => [name, record[name]]))
  return { before: pick(before), after: pick(after) }
}

/** Whether two values of JSON are the same. */
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

export type { ActPosition }

/** What was done to products and clients, the newest first. */
export const listOperatorActs = (
  { database }: ClientOperations,
  after: ActPosition | null,
  limit: number,
): Promise<OperatorActRow[]> => findOperatorActs(database, after ?? newestAct, limit)
