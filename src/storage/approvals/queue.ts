import { type Connection, firstRow, onKey, statement } from '../engine/database.ts'

/** Something approved that one worker carries out. */
export interface ClaimedApproval {
  readonly approvalId: string
  readonly attempts: number
  /** Whether it was approved so long ago that it is not tried any more. */
  readonly isTooOld: boolean
}

const leaseSeconds = 60

const claimStatement = statement(
  'claim_approval',
  `with due as materialized (
     select approval_id from approval
     where state = 'approved' and due_at <= (select clock_timestamp()) order by due_at limit 1
   )
   update approval set holder = $1::uuid, attempts = attempts + 1,
     due_at = clock_timestamp() + interval '${leaseSeconds} seconds'
   from due where ${onKey('approval', 'due', ['approval_id'])}
     and state = 'approved' and clock_timestamp() - due_at >= interval '0'
   returning approval.approval_id::text as "approvalId", attempts,
     clock_timestamp() - decided_at > interval '12 hours' as "isTooOld"`,
)

/** Takes what is to be carried out next, for a minute. @returns null where there is nothing now. */
export const claimApproval = async (
  connection: Connection,
  holder: string,
): Promise<ClaimedApproval | null> =>
  firstRow(await connection.query<ClaimedApproval>(claimStatement, [holder]))

const deferStatement = statement(
  'defer_approval',
  `update approval set due_at = clock_timestamp() + make_interval(secs => $3)
   where approval_id = $1::uuid and state = 'approved' and holder = $2::uuid
   returning 1 as "one"`,
)

/** Keeps what one holds for so many seconds more, or lets it be tried again then. @returns whether one still holds it. */
export const deferApproval = async (
  connection: Connection,
  approvalId: string,
  holder: string,
  seconds: number = leaseSeconds,
): Promise<boolean> =>
  (await connection.query(deferStatement, [approvalId, holder, seconds])).length === 1

/** What came of it. */
interface ApprovalOutcome {
  readonly approvalId: string
  readonly state: 'done' | 'failed'
  readonly status: number
  /** Sealed. */
  readonly outcome: Uint8Array | null
  readonly forgetsPayload: boolean
}

const settleStatement = statement(
  'settle_approval',
  `update approval set state = $2, outcome_status = $3, outcome = $4, due_at = null, holder = null,
     payload = case when not $5::boolean then payload end, ended_at = clock_timestamp()
   where approval_id = $1::uuid and state = 'approved'
   returning 1 as "one"`,
)

/** Puts the outcome on record, the first one. @returns whether it was. */
export const settleApproval = async (
  connection: Connection,
  { approvalId, forgetsPayload, outcome, state, status }: ApprovalOutcome,
): Promise<boolean> =>
  (await connection.query(settleStatement, [approvalId, state, status, outcome, forgetsPayload]))
    .length === 1
