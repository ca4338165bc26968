import type { Requester } from '../../domain/client.ts'
import {
  type ActPosition,
  findOperatorActs,
  insertOperatorAct,
  type NewOperatorAct,
  newestAct,
  type OperatorActRow,
} from '../../storage/clients/acts.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { findKeyActs, insertKeyAct, type KeyActRow } from '../../storage/keys/acts.ts'

/** What an operator did to a product or a client. The details hold no secret. */
interface OperatorAct extends Pick<NewOperatorAct, 'act' | 'subjectKind' | 'subject'> {
  readonly details: object
}

/** Puts an operator's act on record, in the transaction of its change. */
export const recordAct = (
  connection: Connection,
  { clientId, requestId }: Requester,
  { details, ...act }: OperatorAct,
): Promise<void> =>
  insertOperatorAct(connection, { ...act, details: JSON.stringify(details), clientId, requestId })

/** What happened to a key, and at whose word; nobody's where it was due. Never a clear key. */
export interface KeyAct extends Partial<Requester> {
  readonly act: string
  readonly key: string
}

/** Puts what happened to a key on record, in the transaction of its change. */
export function recordKeyAct(connection: Connection, keyAct: KeyAct): Promise<void> {
  const { act, clientId = null, key, requestId = null } = keyAct
  return insertKeyAct(connection, { act, key, clientId, requestId })
}

export type { ActPosition }

/** What was done to products and clients, the newest first. */
export const listOperatorActs = (
  { database }: { readonly database: Connection },
  after: ActPosition | null,
  limit: number,
): Promise<OperatorActRow[]> => findOperatorActs(database, after ?? newestAct, limit)

/** What was done to keys, the newest first. */
export const listKeyActs = (
  { database }: { readonly database: Connection },
  after: ActPosition | null,
  limit: number,
): Promise<KeyActRow[]> => findKeyActs(database, after ?? newestAct, limit)

/** The members of a record that a change gives other values, before and after. */
export function differences<Kept extends object>(before: Kept, after: Kept): object {
  const names = Object.keys(after) as (keyof Kept)[]
  const changed = names.filter((name) => !isSame(before[name], after[name]))
  const pick = (record: Kept) => Object.fromEntries(changed.map((name) => [name, record[name]]))
  return { before: pick(before), after: pick(after) }
}

/** What a change is called, by whether it switches its subject on, or off, or neither. */
export function nameOfChange(
  before: { readonly active: boolean },
  after: { readonly active: boolean },
  { off, on }: { readonly on: string; readonly off: string },
): string {
  if (before.active === after.active) return 'changed'
  return after.active ? on : off
}

/** Whether two values of JSON are the same. */
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
