import type { Scope } from '../../domain/client.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The right that a stream of a client needs. */
export type StreamScope = Extract<Scope, 'events.read' | 'decisions.write'>

/** A stream that claims one of its client's slots. */
interface StreamClaim {
  readonly clientId: string
  readonly scope: StreamScope
  readonly holder: string
  readonly seconds: number
  readonly slots: number
}

const declare = loadStatements(import.meta.url)

const claimSlot = declare<StreamClaim>('claim_stream')

/**
 * Claims one of a client's slots for a stream. Of several concurrent claims of a slot, one
 * succeeds.
 * @returns whether it succeeded.
 */
export const claimStream = async (connection: Connection, claim: StreamClaim): Promise<boolean> =>
  firstRow(await claimSlot(connection, claim)) !== null

const renewSlots = declare<{ holders: readonly string[]; seconds: number }, { holder: string }>(
  'renew_streams',
)

/**
 * Renews the slots of streams whose clients still have the right.
 * @returns the holders whose slots were renewed.
 */
export async function renewStreams(
  connection: Connection,
  holders: readonly string[],
  seconds: number,
): Promise<ReadonlySet<string>> {
  const rows = await renewSlots(connection, { holders, seconds })
  return new Set(rows.map(({ holder }) => holder))
}

const deleteSlot = declare<{ clientId: string; holder: string }>('release_stream')

/** Releases the slot of a stream that has ended. */
export async function releaseStream(
  connection: Connection,
  clientId: string,
  holder: string,
): Promise<void> {
  await deleteSlot(connection, { clientId, holder })
}

const selectStream = declare<{ clientId: string; scope: StreamScope }, { isOpen: boolean }>(
  'has_stream',
)

/** Whether the client has an open stream, in any process. */
export const hasStream = async (
  connection: Connection,
  clientId: string,
  scope: StreamScope,
): Promise<boolean> =>
  firstRow(await selectStream(connection, { clientId, scope }))?.isOpen ?? false

const deleteEnded = declare('prune_streams')

/** Releases the slots of streams that ended without releasing them. */
export const expireStreams = async (connection: Connection): Promise<void> => {
  await deleteEnded(connection, {})
}
