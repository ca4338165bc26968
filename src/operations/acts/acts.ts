import type { Requester } from '../../domain/client.ts'
import {
  type ActPosition,
  insertAct,
  type KeyActRow,
  listKeyActRows,
  listOperatorActRows,
  type NewAct,
  newestAct,
  type OperatorActRow,
} from '../../storage/acts/acts.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'

/** An act of an operator on a product or a client. The details hold no secret. */
interface OperatorAct extends Pick<NewAct, 'act' | 'subject'> {
  readonly subjectKind: 'product' | 'client'
  readonly details: object
}

/** Records an operator's act with its reason, in the transaction of its change. */
export async function recordAct(
  connection: Connection,
  { clientId, reason, requestId }: Requester,
  { details: members, ...act }: OperatorAct,
): Promise<void> {
  const details = JSON.stringify({ ...members, ...(reason && { reason }) })
  await insertAct(connection, { ...act, details, clientId, requestId })
}

/** Records that the configuration registered or changed a client at a start. */
export async function recordRegistration(connection: Connection, clientId: string): Promise<void> {
  await insertAct(connection, {
    act: 'registered',
    subjectKind: 'client',
    subject: clientId,
    details: JSON.stringify({ from: 'ADMIN_JWK_FILE' }),
    clientId: null,
    requestId: null,
  })
}

/** An act on a key and its requester; a scheduled act has none. It never contains a clear key. */
export interface KeyAct extends Partial<Requester> {
  readonly act: string
  readonly key: string
}

/** Records an act on a key with its reason, in the transaction of its change. */
export async function recordKeyAct(connection: Connection, keyAct: KeyAct): Promise<void> {
  const { act, clientId = null, key, reason, requestId = null } = keyAct
  const subject = { subjectKind: 'key', subject: key } as const
  const details = JSON.stringify(reason ? { reason } : {})
  await insertAct(connection, { act, ...subject, details, clientId, requestId })
}

export type { ActPosition }

/** The name of the person or the client that acted; null if it is not known. */
interface NamedActor {
  readonly clientName: string | null
}

/** Lists acts on products and clients, newest first. */
export async function listOperatorActs(
  { database }: { readonly database: Connection },
  after: ActPosition | null,
  limit: number,
): Promise<(OperatorActRow & NamedActor)[]> {
  const rows = await listOperatorActRows(database, after ?? newestAct, limit)
  return nameActors(database, rows)
}

async function nameActors<Row extends Pick<NewAct, 'clientId'>>(
  database: Connection,
  rows: readonly Row[],
): Promise<(Row & NamedActor)[]> {
  const names = await listActorNames(
    database,
    rows.map(({ clientId }) => clientId),
  )
  return rows.map((row) => ({ ...row, clientName: names.get(row.clientId ?? '') ?? null }))
}

/** An act on a key, with its position in the list. */
type ListedKeyAct = Pick<KeyActRow, 'number' | 'at' | 'act' | 'clientId' | 'requestId'> &
  NamedActor & {
    readonly key: string
    /** Null without one. */
    readonly reason: string | null
  }

/** Lists acts on keys, newest first. */
export async function listKeyActs(
  { database }: { readonly database: Connection },
  after: ActPosition | null,
  limit: number,
): Promise<ListedKeyAct[]> {
  const rows = await nameActors(database, await listKeyActRows(database, after ?? newestAct, limit))
  return rows.map(({ details, subject: key, subjectKind: _, ...act }) => {
    const { reason = null } = JSON.parse(details) as { readonly reason?: string }
    return { ...act, key, reason }
  })
}

/** Returns the members of a record that a change sets to other values, before and after. */
export function differences<Kept extends object>(before: Kept, after: Kept): object {
  const names = Object.keys(after) as (keyof Kept)[]
  const changed = names.filter((name) => !isSame(before[name], after[name]))
  const pick = (record: Kept) => Object.fromEntries(changed.map((name) => [name, record[name]]))
  return { before: pick(before), after: pick(after) }
}

/** Names a change by whether it activates its subject, deactivates it, or does neither. */
export function nameChange(
  before: { readonly active: boolean },
  after: { readonly active: boolean },
  { off, on }: { readonly on: string; readonly off: string },
): string {
  if (before.active === after.active) return 'changed'
  return after.active ? on : off
}

/** Whether two JSON values are equal. The members of an object have no order. */
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one, sortMembers) === JSON.stringify(other, sortMembers)

const sortMembers = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value
