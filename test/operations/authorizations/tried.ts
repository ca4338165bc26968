import assert from 'node:assert/strict'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { sql } from '../../support/service.ts'
import type { Kind } from './watched-hsm.ts'

/** What the database says of a card's tries, and whether it is what the rules allow. */

export type Attempt = {
  tryNumber: number
  epoch: number
  result: 'match' | 'mismatch' | 'unresolved'
  restored: boolean
  remainingTries: number
  reference: string
}

export type Counter = {
  limit: number
  spent: number
  restored: number
  epoch: number
  blockReported: boolean
  remaining: number
}

/** In the order in which the tries were spent. */
export const attemptsOf = (
  database: Connection,
  publicToken: string,
  kind: Kind = 'pin',
): Promise<Attempt[]> =>
  sql(
    database,
    `select try_number as "tryNumber", epoch, result, restored,
       remaining_tries as "remainingTries", reference
     from attempt where public_token = $1 and kind = $2 order by try_number`,
    [publicToken, kind],
  )

export const counterOf = async (
  database: Connection,
  publicToken: string,
  kind: Kind = 'pin',
): Promise<Counter> => {
  const [counter] = await sql<Counter>(
    database,
    `select try_limit as "limit", spent, restored, epoch, block_reported as "blockReported",
       try_limit - (spent - restored) as "remaining"
     from try_counter where public_token = $1 and kind = $2`,
    [publicToken, kind],
  )
  if (!counter) throw new Error('There is no such card.')
  return counter
}

export type RecordedEvent = { sequence: number; type: string; details: string }

export const eventsOf = (database: Connection, publicToken: string): Promise<RecordedEvent[]> =>
  sql(
    database,
    'select sequence, type, details from event where public_token = $1 order by sequence',
    [publicToken],
  )

/** Whether an event reports the answer to an authorization, approved or declined. */
export const isAnswer = ({ type }: { type: string }): boolean => type.startsWith('authorization.')

/**
 * The types of a card's events but of answers. All its events are numbered from 1 without a gap.
 */
export const typesOf = async (database: Connection, publicToken: string): Promise<string[]> => {
  const events = await eventsOf(database, publicToken)
  const numbers = events.map(({ sequence }) => sequence)
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
    'a sequence without gaps',
  )
  return events.filter((event) => !isAnswer(event)).map(({ type }) => type)
}

/** The longest run of values that may have been compared and were not right, as they were spent. */
const longestWrongRun = (attempts: readonly Attempt[]): number => {
  let longest = 0
  let run = 0
  for (const { restored, result } of attempts) {
    if (result === 'match') run = 0
    // Given back by the HSM's silence: nothing was learnt.
    else if (result === 'mismatch' || !restored) run += 1
    longest = Math.max(longest, run)
  }
  return longest
}

/**
 * Fails unless a card's tries are what its attempts explain, where no HSM failed and nobody changed
 * the epoch: each match has given back all up to its own, and nothing else has given back any.
 */
export const assertExplained = (attempts: readonly Attempt[], counter: Counter): void => {
  const lastMatch = attempts.findLast(({ result }) => result === 'match')?.tryNumber ?? 0
  for (const { restored, tryNumber } of attempts) {
    assert.equal(restored, tryNumber <= lastMatch, `try ${tryNumber}, last match ${lastMatch}`)
  }
  assert.deepEqual(
    attempts.map(({ tryNumber }) => tryNumber),
    attempts.map((_, index) => index + 1),
    'numbered without gaps',
  )
  assert.equal(counter.spent, attempts.length)
  assert.equal(counter.restored, lastMatch)
  assert.ok(longestWrongRun(attempts) <= counter.limit, 'no more wrong in a row than the limit')
}

/**
 * From now on no try grows old by itself, so that however long a machine takes, none is taken for
 * lost: one that is to be so is made so (`ageWhatWasLost`). A cluster has no triggers: there tries
 * have their 30 seconds.
 */
export const keepTriesFresh = async (database: Database): Promise<void> => {
  if (database.isCluster()) return
  await database.script(`
    create function keep_try_fresh() returns trigger language plpgsql as $$
    declare last integer := cardinality(new.outstanding_tries);
    begin
      if new.spent > old.spent and new.outstanding_tries[last] = new.spent then
        new.open_since[last] := new.open_since[last] + 86400000000;
      end if;
      return new;
    end $$;
    create trigger keep_try_fresh before update on try_counter
      for each row execute function keep_try_fresh()`)
}
