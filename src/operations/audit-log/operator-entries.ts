import type { AuditEntry } from '../../domain/audit-entry.ts'
import {
  listOperatorEntryRows,
  type OperatorEntryFilter,
  type OperatorEntryPosition,
} from '../../storage/audit-log/operator-entries.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { listActorNames } from '../../storage/people/actor-names.ts'

export type { OperatorEntryPosition }

/** An act of an operator as the audit log has it. Erased members are null. */
interface OperatorEntry {
  /** Also the id of its receipt. */
  readonly entry: string
  readonly log: number
  readonly index: number
  readonly enteredAt: string
  /** When it was done; when it was entered, after its erasure. */
  readonly at: string
  readonly act: string
  readonly outcome: string
  readonly clientId: string | null
  readonly clientName: string | null
  readonly publicToken: string | null
  /** The key, or any other subject that is no card. */
  readonly subject: string | null
  readonly requestId: string | null
  readonly reason: string | null
  readonly count: number
  readonly details: object
  readonly isErased: boolean
}

/** Lists the entries of operators, newest first. @param to the end of the time; null: the newest */
export async function listOperatorEntries(
  { database }: { readonly database: Connection },
  filter: OperatorEntryFilter & { readonly to: string | null },
  after: OperatorEntryPosition | null,
  limit: number,
): Promise<OperatorEntry[]> {
  const newest = { at: filter.to ?? 'infinity', log: 0, index: 0 }
  const rows = await listOperatorEntryRows(database, filter, after ?? newest, limit)
  const names = await listActorNames(
    database,
    rows.map(({ clientId }) => clientId),
  )
  return rows.map(({ entryId, text, ...row }) => {
    const said: Partial<AuditEntry> = text === null ? {} : JSON.parse(text)
    return {
      ...row,
      entry: entryId,
      at: said.at ?? row.enteredAt,
      outcome: said.outcome ?? 'erased',
      clientName: names.get(row.clientId ?? '') ?? null,
      subject: said.key ?? said.subject ?? null,
      requestId: said.request ?? null,
      reason: said.reason ?? null,
      count: said.count ?? 1,
      details: said.details ?? {},
      isErased: text === null,
    }
  })
}
