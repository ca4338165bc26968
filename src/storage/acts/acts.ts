import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/**
 * An act on a product, a client system, a network's zone, a key, a process, the audit log or a
 * person; or a disclosure of a card.
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
  /** Identifies the subject. */
  readonly subject: string
  /** The changes, as JSON, without secrets. */
  readonly details: string
  /** The actor and the request id; null for an automatic act. */
  readonly clientId: string | null
  readonly requestId: string | null
}

/** The end of a page of acts, newest first. */
export interface ActPosition {
  readonly at: string
  /** Distinguishes acts of one instant: an embedded database has instants to the millisecond. */
  readonly number: number
}

/** The position before all acts. */
export const newestAct: ActPosition = {
  at: 'infinity',
  number: Number.MAX_SAFE_INTEGER,
}

/** An act on a key. */
export interface KeyActRow extends NewAct, ActPosition {}

/** An operator's act on anything except keys. */
export interface OperatorActRow extends KeyActRow {
  readonly clientId: string
  readonly requestId: string
}

const record = declare<NewAct, { actId: string }>('record_act')

/**
 * Records an act.
 * @returns its id.
 */
export const insertAct = async (connection: Connection, act: NewAct): Promise<string> => {
  const [row] = await record(connection, act)
  if (!row) throw new Error('The act was not recorded.')
  return row.actId
}

const selectAct = declare<{ actId: string }, { isThere: boolean }>('has_audit_act')

/** Whether an act is recorded. */
export const hasAct = async (connection: Connection, actId: string): Promise<boolean> =>
  firstRow(await selectAct(connection, { actId }))?.isThere ?? false

const selectOperatorActs = declare<ActPosition & { limit: number }, OperatorActRow>(
  'list_operator_acts',
)

/** Lists operators' acts on anything except keys, newest first. */
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
