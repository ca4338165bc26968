import type { TryKind } from '../../domain/tries.ts'
import {
  type Connection,
  type Database,
  firstRow,
  type SharedStatement,
  statement,
} from '../engine/database.ts'
import { type ChangeForm, forOne, sharedChange } from '../engine/shared-statements.ts'
import type { OnlyHash } from '../idempotency/idempotency.ts'
import { clock } from './limits.ts'
import {
  type NewAuthorizationRecord,
  recordText,
  recordTypes,
  recordValues,
} from './new-authorizations.ts'
import {
  type AttemptOrigin,
  type NoTry,
  openedColumns,
  originValues,
  type SpentTry,
  spendText,
  spentOf,
} from './spend-try.ts'

/** What a comparison came to. `unresolved`: the HSM gave no answer. */
export type Comparison = 'match' | 'mismatch' | 'unresolved'

/** A try that is older was lost with its process: it is spent, and it matches no more. */
const lostAfterMicroseconds = 30_000_000

/** Whether a try among these may still turn out to match. */
const isPending = (openSince: string): string => `at - ${lostAfterMicroseconds} < any(${openSince})`

/**
 * What is locked: the counter, and before it the card where it gets an event. A result is decided by the counter alone, as
 * it is under its lock; what other rows say was read before the lock was waited for.
 */
const lockedSelect = (isCardLocked: boolean): string =>
  `select epoch, try_limit, spent, restored, block_reported, outstanding_tries, open_since
   from try_counter ${isCardLocked ? 'join card using (public_token)' : ''}
   where try_counter.public_token = any(array[$1]) and kind = $2
     ${isCardLocked ? 'and card.public_token = any(array[$1])' : ''}
   limit 1 for no key update of ${isCardLocked ? 'card, try_counter' : 'try_counter'}`

// 0 where it is not there: the slices on both sides of it are then all that there is.
const ownPosition = 'coalesce(array_position(outstanding_tries, $3::integer), 0)'

/**
 * What each comparison leaves of a counter, in its own epoch and while no block was reported. `position` counts the
 * outstanding tries from one; numbers only grow, so that those up to a try's own stand before all others.
 */
const effects: Record<
  Comparison,
  { position: string; givenBack: string; outstanding: string; openSince: string }
> = {
  match: {
    position: 'width_bucket($3::integer, outstanding_tries)',
    givenBack: 'outstanding_tries[:position]',
    outstanding: 'outstanding_tries[position + 1:]',
    openSince: 'open_since[position + 1:]',
  },
  mismatch: {
    position: ownPosition,
    givenBack: `'{}'::integer[]`,
    outstanding: 'outstanding_tries',
    openSince: `open_since[:position - 1] || case when position = 0 then '{}' else '{0}' end::bigint[]
      || open_since[position + 1:]`,
  },
  unresolved: {
    position: ownPosition,
    givenBack: 'outstanding_tries[position:position]',
    outstanding: 'outstanding_tries[:position - 1] || outstanding_tries[position + 1:]',
    openSince: 'open_since[:position - 1] || open_since[position + 1:]',
  },
}

// A try may change nothing any more when its epoch has ended, or when it was taken for lost and the block that it
// left was recorded. Its comparison may still come, from a process that stood still.
const effectText = (comparison: Comparison, carried: string): string => {
  const { givenBack, openSince, outstanding, position } = effects[comparison]
  const isBlock = `counts and spent - restored = try_limit and not ${isPending('open_since')}`
  return `located as (
      select counts, spent, restored, try_limit, outstanding_tries, open_since,
        case when counts then ${position} else 0 end as position ${carried}
      from locked cross join lateral (select epoch = $4 and not block_reported as counts) as decided
    ), moved as (
      select counts, spent, restored, try_limit, ${givenBack} as given_back,
        ${outstanding} as outstanding_tries, ${openSince} as open_since ${carried}
      from located
    ), effect as materialized (
      select given_back, outstanding_tries, open_since,
        ${comparison === 'mismatch' ? isBlock : 'false'} as is_block ${carried}
      from moved${comparison === 'mismatch' ? ' cross join clock' : ''}
    )`
}

const settledText = (comparison: Comparison, { carried, isListed }: ChangeForm): string =>
  `settled as (
     update try_counter set restored = restored + cardinality(given_back),
       ${comparison === 'mismatch' ? 'block_reported = block_reported or is_block,' : ''}
       outstanding_tries = effect.outstanding_tries, open_since = effect.open_since
     from effect
     where public_token = any(array[$1]) and kind = $2
     returning public_token, kind, given_back, is_block, try_limit - (spent - restored) as remaining ${carried}
   ), moved_attempt as materialized (
     select public_token, kind, try_number, given_back, remaining ${carried}
     from settled cross join lateral unnest(given_back || $3) as try_number
   ), resolved as (
     update attempt set restored = restored or attempt.try_number = any(given_back),
       result = case when attempt.try_number = $3 then '${comparison}' else result end,
       remaining_tries = case when attempt.try_number = $3 then remaining else remaining_tries end
     from moved_attempt
     where ${isListed('attempt', 'moved_attempt', { key: { public_token: '$1', kind: '$2' }, number: 'try_number' })}
   )`

/** The failure, and the block that it may have left, under the numbers that the card's own row gives them. */
const eventsText = (carried: string): string => `numbered as (
     update card set last_sequence = last_sequence + case when is_block then 2 else 1 end
     from settled
     where card.public_token = any(array[$1])
     returning card.public_token, last_sequence, client_id, is_block, remaining ${carried}
   ), recorded as (
     insert into event (public_token, sequence, client_id, type, request_id, details)
     select public_token, last_sequence - case when is_block then 1 else 0 end, client_id,
       $2 || '.attempt_failed', $5,
       json_build_object('remainingTries', remaining, 'entryMode', $6, 'reference', $7)
     from numbered
     union all
     select public_token, last_sequence, client_id, $2 || '.blocked', $5,
       json_build_object('blockedBy', 'tries')
     from numbered where is_block
   )`

const answerTypes = ['text', 'bytea', 'uuid', 'bytea', 'integer'] as const

// The first answer stays. One that was sealed for another number of tries than remain is not kept.
const storedText = (first: number, { carried, lockAfter }: ChangeForm): string => {
  const [clientId, keyHash, claimId, answer, foreseen] = answerTypes.map(
    (_, at) => `$${first + at}`,
  )
  const record = (
    condition: string,
  ): string => `select answer as first_answer from idempotency_record
    where client_id = any(array[${clientId}]) and key_hash = ${keyHash} and claim_id = ${claimId} ${condition}
    limit 1 for no key update`
  return `${lockAfter('claimed', 'settled', record)}, stored as (
     update idempotency_record set answer = coalesce(first_answer, ${answer})
     from claimed
     where client_id = any(array[${clientId}]) and key_hash = ${keyHash}
       and (first_answer is not null or remaining = ${foreseen})
     returning answer, answer = ${answer} as is_own ${carried}
   )`
}

/** Whether nothing was answered under the key before. */
const isFirst = ({ isSame }: ChangeForm): string =>
  `exists (select 1 from claimed where ${isSame('claimed', 'settled')} and first_answer is null)`

/** Locks are taken in the order of card, counter, key. */
const declareSettling = (
  name: string,
  comparison: Comparison,
  isKeyed: boolean,
): SharedStatement => {
  const isMismatch = comparison === 'mismatch'
  const ownTypes = [
    'text',
    'text',
    'integer',
    'integer',
    ...(isMismatch ? ['text', 'text', 'text'] : []),
  ]
  const recordFirst = ownTypes.length + 1
  const answerFirst = recordFirst + recordTypes.length
  return sharedChange(name, {
    types: [...ownTypes, ...recordTypes, ...(isKeyed ? answerTypes : [])],
    text(form) {
      const { answered, carried, isSame, lock } = form
      const parts = [
        ...(isMismatch ? [clock] : []),
        lock(lockedSelect(isMismatch)),
        effectText(comparison, carried),
        settledText(comparison, form),
        ...(isMismatch ? [eventsText(carried)] : []),
        ...(isKeyed ? [storedText(answerFirst, form)] : []),
        recordText({
          first: recordFirst,
          source: 'settled',
          publicToken: 'settled.public_token',
          remaining: 'settled.remaining',
          // Where a repeat took it for lost, or its key was forgotten, that is what the network was told.
          answered: (code) =>
            isKeyed ? `case when ${isFirst(form)} then ${code} else '96' end` : code,
        }),
      ]
      const columns = isKeyed ? 'remaining, answer, is_own as "isOwn"' : 'remaining'
      const stored = isKeyed ? `left join stored on ${isSame('stored', 'settled')}` : ''
      return `${parts.join(', ')} select ${answered('settled')}, ${columns} from settled ${stored}`
    },
  })
}

const settlings: Record<Comparison, SharedStatement> = {
  match: declareSettling('settle_match', 'match', false),
  mismatch: declareSettling('settle_mismatch', 'mismatch', false),
  unresolved: declareSettling('settle_unresolved', 'unresolved', false),
}
const keyedSettlings: Record<Comparison, SharedStatement> = {
  match: declareSettling('settle_match_and_store', 'match', true),
  mismatch: declareSettling('settle_mismatch_and_store', 'mismatch', true),
  unresolved: declareSettling('settle_unresolved_and_store', 'unresolved', true),
}

/** An answer to be kept under a claim, if so many tries remain as it says. */
export interface ForeseenAnswer extends OnlyHash {
  readonly claimId: string
  readonly answer: Uint8Array
  readonly remaining: number
}

/** A try that was spent, with what it came to. */
export interface ComparedTry {
  readonly spent: SpentTry
  readonly comparison: Comparison
}

/** What a settling left. */
interface Settlement {
  readonly remaining: number
  /** The first that is kept under the claim; null where none is, or the claim was forgotten. */
  readonly answer: Uint8Array | null
  readonly isOwn: boolean
}

/**
 * Settles a try that was spent: its result, the tries that it gives back, its events, the record of its authorization and
 * the answer commit at once (docs/authorizations.md, "Tries", rules 2, 3, 4 and 7).
 */
export async function settleTry(
  database: Database,
  { comparison, spent }: ComparedTry,
  record: NewAuthorizationRecord,
  keyed: ForeseenAnswer | null,
): Promise<Settlement> {
  const { epoch, kind, publicToken, tryNumber } = spent
  const { entryMode, reference, requestId } = record
  const settlement = await database.change<Settlement>(
    (keyed ? keyedSettlings : settlings)[comparison],
    publicToken,
    [
      publicToken,
      kind,
      tryNumber,
      epoch,
      ...(comparison === 'mismatch' ? [requestId, entryMode, reference] : []),
      ...recordValues(record),
      ...(keyed
        ? [keyed.clientId, keyed.keyHash, keyed.claimId, keyed.answer, keyed.remaining]
        : []),
    ],
  )
  if (!settlement) throw new Error('A card has no counter of its tries.')
  return keyed ? settlement : { ...settlement, answer: null, isOwn: false }
}

const matchAndSpendStatement = statement(
  'settle_match_and_spend',
  `with ${clock}, locked as materialized (${lockedSelect(false)}),
   ${effectText('match', '')}, ${settledText('match', forOne)},
   ${spendText({ source: 'settled cross join clock', values: ['$1', '$5', '$6', '$7', '$8', '$9'] })}
   select settled.remaining as "left", ${openedColumns} from settled left join opened on true`,
)

/** Settles a match, and with it spends a try of the kind that is to be compared next. */
export async function settleMatchAndSpend(
  connection: Connection,
  { epoch, kind, publicToken, tryNumber }: SpentTry,
  next: TryKind,
  origin: AttemptOrigin,
): Promise<{ readonly remaining: number; readonly spent: SpentTry | null }> {
  const values = [publicToken, kind, tryNumber, epoch, next, ...originValues(origin)]
  const row = firstRow(
    await connection.query<(SpentTry | NoTry) & { left: number }>(matchAndSpendStatement, values),
  )
  if (!row) throw new Error('A card has no counter of its tries.')
  const { left, ...spent } = row
  return { remaining: left, spent: spentOf(spent) }
}
