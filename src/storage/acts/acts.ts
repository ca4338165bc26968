import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/**
 * Something that was done to a product, a client system, a network's zone, a key, a process, the
 * audit log or a person; or what was shown of a card.
 */
export interface NewAct {
  readonly act: string
  readonly subjectKind:
    | 'product'
    | 'client'
    | 'key'
    | 'process'
    | 'setting'
    | 'log'
    | 'person'
    | 'card'
    | 'pan'
    | 'approval'
  /** Names it. */
  readonly subject: string
  /** What changed, as JSON. Never a secret. */
  readonly details: string
  /** Who did it, and under which request id; null where it was due, and nobody asked. */
  readonly clientId: string | null
  readonly requestId: string | null
}

/** Where a page of acts ends: newest first. */
export interface ActPosition {
  readonly at: string
  /**
   * Acts of one instant are told apart by it: an embedded database knows instants by the
   * millisecond.
   */
  readonly number: number
}

/** Before all acts. */
export const newestAct: ActPosition = {
  at: 'infinity',
  number: Number.MAX_SAFE_INTEGER,
}

/** An act on a key. */
export interface KeyActRow extends NewAct, ActPosition {}

/** An operator's act on anything but a key. */
export interface OperatorActRow extends KeyActRow {
  readonly clientId: string
  readonly requestId: string
}

const record = declare<NewAct, { actId: string }>('record_act')

/** Puts an act on record. @returns its id. */
export const insertAct = async (connection: Connection, act: NewAct): Promise<string> => {
  const [row] = await record(connection, act)
  if (!row) throw new Error('The act was not put on record.')
  return row.actId
}

const selectAct = declare<{ actId: string }, { isThere: boolean }>('has_audit_act')

/** Whether an act is on record. */
export const hasAct = async (connection: Connection, actId: string): Promise<boolean> =>
  firstRow(await selectAct(connection, { actId }))?.isThere ?? false

const selectOperatorActs = declare<ActPosition & { limit: number }, OperatorActRow>(
  'list_operator_acts',
)

/** Lists operators' acts on anything but keys, newest first. */
export const listOperatorActRows = (
  connection: Connection,
  after: ActPosition,
  limit: number,
): Promise<OperatorActRow[]> => selectOperatorActs(connection, { ...after, limit })

const selectKeyActs = declare<ActPosition & { limit: number }, KeyActRow>('list_key_acts')

/** Lists acts on keys, newest first. */
export const listKeyActRows = (
  connection: Connection,
  after: ActPosition,
  limit: number,
): Promise<KeyActRow[]> => selectKeyActs(connection, { ...after, limit })
