import { type Connection, type Statement, statement } from '../engine/database.ts'

/** The columns of an approval that are sealed. */
export type SealedApprovalColumn = 'payload' | 'outcome'

/** One sealed column of an approval. */
interface SealedApproval {
  readonly approvalId: string
  readonly sealed: Uint8Array
}

const byColumn = (
  make: (column: SealedApprovalColumn) => Statement,
): Record<SealedApprovalColumn, Statement> => ({
  payload: make('payload'),
  outcome: make('outcome'),
})

const listStatements = byColumn((column) =>
  statement(
    `list_sealed_approvals_${column}`,
    `select approval_id::text as "approvalId", ${column} as "sealed" from approval
     where approval_id > $1::uuid and ${column} is not null order by approval_id limit $2`,
  ),
)

/** Some approvals that have something in a sealed column, in the order of their ids. */
export const listSealedApprovals = (
  connection: Connection,
  column: SealedApprovalColumn,
  afterId: string,
  limit: number,
): Promise<SealedApproval[]> => connection.query(listStatements[column], [afterId, limit])

const moveStatements = byColumn((column) =>
  statement(
    `move_sealed_approval_${column}`,
    `update approval set ${column} = $3 where approval_id = $1::uuid and ${column} = $2 returning 1 as one`,
  ),
)

/** Puts a sealed column under another key, if it is still what it was. @returns whether it was. */
export const moveSealedApproval = async (
  connection: Connection,
  column: SealedApprovalColumn,
  { approvalId, sealed }: SealedApproval,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(moveStatements[column], [approvalId, sealed, after])).length === 1
