import { insertAct } from '../../storage/acts/acts.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** An act without an entry, or an entry that is missing or damaged. */
export interface AuditFinding {
  readonly found:
    | 'sequence missing'
    | 'number missing'
    | 'card behind its entries'
    | 'card ahead of its entries'
    | 'card gone'
    | 'card changed'
    | 'row changed'
    | 'row gone'
    | 'row new'
    | 'digests changed'
    | 'check state changed'
    | 'entry blank'
    | 'erasure unfounded'
  readonly details: object
}

/** Records a finding, which is entered like any act. */
export const recordFinding = (
  connection: Connection,
  { details, found }: AuditFinding,
): Promise<string> =>
  insertAct(connection, {
    act: 'check.found',
    subjectKind: 'log',
    subject: found,
    details: JSON.stringify(details),
    clientId: null,
    requestId: null,
  })
