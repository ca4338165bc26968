import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, statement } from '../engine/database.ts'
import { clock } from './limits.ts'
import { isPending, lockedText } from './settle-try.ts'

/** Tries that are used up, and no event says so. */
export interface UnreportedBlock {
  readonly publicToken: PublicToken
  readonly kind: TryKind
}

const listStatement = statement(
  'list_unreported_blocks',
  `with ${clock}
   select public_token as "publicToken", kind from try_counter cross join clock
   where spent - restored = try_limit and not block_reported
     and ($2::text is null or (public_token, kind) > ($2, $3))
     and not ${isPending('open_since')}
   order by public_token, kind limit $1`,
)

/** Some of the blocks that a lost process did not live to record, by card. @param after null: the first. */
export const listUnreportedBlocks = (
  connection: Connection,
  after: UnreportedBlock | null,
  limit: number,
): Promise<UnreportedBlock[]> =>
  connection.query(listStatement, [limit, after?.publicToken ?? null, after?.kind ?? null])

// Another process may have recorded it by now, or an unblock undone it: it is looked at again under its lock.
const reportStatement = statement(
  'report_lost_block',
  `with ${clock}, ${lockedText(null, true)}, due as materialized (
     select from was cross join clock
     where spent - restored = try_limit and not block_reported and not ${isPending('open_since')}
   ), reported as (
     update try_counter set block_reported = true from due
     where public_token = $1 and kind = $2
     returning kind
   ), numbered as (
     update card set last_sequence = last_sequence + 1 from reported
     where public_token = $1
     returning public_token, last_sequence, client_id, kind
   )
   insert into event (public_token, sequence, client_id, type, details)
   select public_token, last_sequence, client_id, kind || '.blocked',
     json_build_object('blockedBy', 'tries')
   from numbered`,
)

/** Records that the tries of a card are used up, once in an epoch, unless one of them may still match. */
export const reportLostBlock = async (
  connection: Connection,
  { kind, publicToken }: UnreportedBlock,
): Promise<void> => {
  await connection.query(reportStatement, [publicToken, kind])
}
