/** Mutants of SQL that no test can find, each with its reason. */

type SqlEquivalent = { readonly name: string; readonly what: string; readonly reason: string }

const toTheMicrosecond = 'the instants that differ are one in a microsecond'
const underLock = 'the counter is locked, and is looked at again under its lock'
const ofItsClaim = 'the rows of a claim are those of its key, and are written together'

const sqlEquivalents: readonly SqlEquivalent[] = [
  {
    name: 'list_unreported_blocks',
    what: '>= for > in … ored and attempt.attempted_at > now()',
    reason: toTheMicrosecond,
  },
  {
    name: 'prune_idempotency_records',
    what: '<= for < in … _record where created_at <',
    reason: toTheMicrosecond,
  },
  {
    name: 'prune_idempotency_records',
    what: "without created_at + interval '24 hours' < now()",
    reason: 'it says once more what the list says, for the planner alone',
  },
  {
    name: 'store_idempotent_answer',
    what: 'without key_hash = $2',
    reason: 'where one hash is known a claim has one row',
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without claim_id = $3',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without key_hash in (select',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without client_id = $1',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: 'without (select count(*) from claimed) > 0',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer_under_several_hashes',
    what: '>= for > in … select count(*) from claimed)',
    reason: ofItsClaim,
  },
  {
    name: 'store_idempotent_answer',
    what: 'without client_id = $1',
    reason: 'a claim is one client’s',
  },
  {
    name: 'prune_idempotency_records',
    what: "without created_at < (select now() - interval '24 hours')",
    reason: 'the condition after it says the same once more: the list is for the planner',
  },
  {
    name: 'prune_idempotency_records',
    what: "<= for < in … ated_at + interval '24 hours' < now()",
    reason: toTheMicrosecond,
  },
  {
    name: 'claim_idempotency_key',
    what: '<= for < in … idempotency_record.created_at <',
    reason: toTheMicrosecond,
  },
  {
    name: 'find_pending_attempt',
    what: '>= for > in … not restored and attempted_at >',
    reason: toTheMicrosecond,
  },
  {
    name: 'find_idempotency_record',
    what: 'without the limit',
    reason: 'only the first row is read',
  },
  {
    name: 'list_unreported_blocks',
    what: 'without not block_reported',
    reason: underLock,
  },
  {
    name: 'restore_try',
    what: 'without epoch = $3',
    reason: 'a number is given once in all epochs, and the epoch was looked at under the lock',
  },
  {
    name: 'find_pending_attempt',
    what: 'without the limit',
    reason: 'whether there is one is all that is asked',
  },
  {
    name: 'lock_counter',
    what: 'without for update',
    reason:
      'the lock of the card, which is taken before, keeps every other settling and change out; a try that is spent beside it settles after it, and finds what it left',
  },
]

/** Why a mutant changes nothing that can be seen; `what` is how the mutators describe it, or begins so. */
export const sqlEquivalentOf = (name: string, what: string): string | undefined =>
  sqlEquivalents.find((each) => each.name === name && what.startsWith(each.what))?.reason
