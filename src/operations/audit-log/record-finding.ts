import { insertAct } from '../../storage/acts/acts.ts'
import type { Connection } from '../../storage/engine/database.ts'

/** Something that an entry should tell of, and none does, or an entry that nothing is left of. */
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

/** Puts a finding on record: it is entered as any act is. */
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
