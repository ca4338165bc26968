import { type Connection, statement } from '../engine/database.ts'

/** A step of an approval as an act, and as an entry of the audit log. */
export interface RecordedStep {
  readonly act: string
  /** Null until it is entered, and once it is erased. */
  readonly entry: {
    readonly commitment: Uint8Array
    readonly salt: Uint8Array
    readonly text: string
  } | null
}

interface StepRow {
  readonly act: string
  readonly commitment: Uint8Array | null
  readonly salt: Uint8Array | null
  readonly text: string | null
}

const listStatement = statement(
  'list_approval_steps',
  `select audit_act.act, commitment, salt, text
   from audit_act left join audit_entry
     on entry_id = act_id and log = any(array(select log from audit_log))
   where subject_kind = 'approval' and subject = $1
   order by number limit 10`,
)

/** The first steps of an approval, in their order. */
export const listRecordedSteps = async (
  connection: Connection,
  approvalId: string,
): Promise<readonly RecordedStep[]> => {
  const rows = await connection.query<StepRow>(listStatement, [approvalId])
  return rows.map(({ act, commitment, salt, text }) => ({
    act,
    entry: commitment && salt && text !== null ? { commitment, salt, text } : null,
  }))
}
