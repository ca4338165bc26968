import type { TryKind } from '../domain/tries.ts'
import { type Connection, statement } from './database.ts'
import { changeWithEvent, eventValues, type NewEvent } from './events.ts'

const tellStatement = changeWithEvent('tell_block', {
  alongside: `update try_counter set block_told = true where public_token = $1 and kind = $6`,
})

/** Tells that the tries of a card are used up, once in an epoch. */
export const tellBlock = async (
  connection: Connection,
  event: NewEvent,
  kind: TryKind,
): Promise<void> => {
  await connection.query(tellStatement, [...eventValues(event), kind])
}

/** Tries that are used up and that nobody was told of. */
export interface UntoldBlock {
  readonly publicToken: string
  readonly kind: TryKind
}

const listStatement = statement(
  'list_untold_blocks',
  `select public_token as "publicToken", kind from try_counter
   where spent - restored = try_limit and not block_told
     and ($2::text is null or (public_token, kind) > ($2, $3))
     and not exists (
       select 1 from attempt
       where attempt.public_token = try_counter.public_token and attempt.kind = try_counter.kind
         and attempt.epoch = try_counter.epoch and attempt.result = 'unresolved'
         and not attempt.restored and attempt.attempted_at > now() - interval '30 seconds'
     )
   order by public_token, kind limit $1`,
)

/** Some of the blocks that a lost process did not live to tell, by card. @param after null: the first. */
export const listUntoldBlocks = (
  connection: Connection,
  after: UntoldBlock | null,
  limit: number,
): Promise<UntoldBlock[]> =>
  connection.query(listStatement, [limit, after?.publicToken ?? null, after?.kind ?? null])
