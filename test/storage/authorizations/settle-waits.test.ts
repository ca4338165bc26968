import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import pg from 'pg'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { settleAuthorization } from '../../../src/storage/authorizations/settle.ts'
import { reportLostBlock } from '../../../src/storage/authorizations/tries.ts'
import {
  type Connection,
  type Database,
  firstRow,
  type SqlValue,
  type Statement,
} from '../../../src/storage/engine/database.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, sql } from '../../support/service.ts'
import { collectPlans, rowsRead, tellPlans } from '../../support/told-plans.ts'
import {
  card,
  database,
  eventsOf,
  makeCard,
  makeOlder,
  newClaim,
  newEpoch,
  origin,
  other,
  recordFor,
  settle,
  settleMatchAndSpend,
  spend,
  spendTry,
  useTriedCards,
} from './tried-cards.ts'

/** What a statement saw before it waited for a lock, and what it must see after. */

const postgres = await openPostgres()
let serverUrl: string

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  // Each change goes to the server at once, as if each came from a process of its own.
  useTriedCards(async () => {
    const { database, url } = await openServerDatabase(postgres)
    serverUrl = url
    return {
      ...database,
      change: async (change, _, values) => firstRow(await database.query(change.one, values)),
    }
  })

  /**
   * Begins the work while a row is locked, and lets it go on when each statement waits, after a
   * change.
   */
  const afterWaiting = async <Result>(
    lock: readonly [string, string | Uint8Array],
    work: () => Promise<Result>[],
    change: (connection: Connection) => Promise<unknown> = async () => undefined,
  ): Promise<Result[]> => {
    let begun: Promise<Result>[] = []
    await database.transaction(async (connection) => {
      const [text, value] = lock
      await sql(connection, text, [value])
      begun = work()
      // On another connection: a transaction sees who waits as it saw it first.
      while ((await waiting()) < begun.length);
      await change(connection)
    })
    return Promise.all(begun)
  }

  const waiting = async (): Promise<number> =>
    (
      await sql(
        database,
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock'`,
      )
    ).length

  const cardLock = () =>
    ['select from card where public_token = $1 for no key update', card] as const
  const counterLock = () =>
    ['select from try_counter where public_token = $1 for update', card] as const

  const blocksOf = async (publicToken = card): Promise<number> =>
    (await eventsOf(publicToken)).filter(({ type }) => type === 'pin.blocked').length

  test('the last two that mismatch at once, having both waited, report one block', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [first, ...last] = [await spend(), await spend(), await spend()]
      assert.ok(first)
      await settle(first, 'mismatch')
      const lock = round % 2 === 0 ? cardLock() : counterLock()
      await afterWaiting(lock, () => last.map((each) => settle(each, 'mismatch')))
      assert.equal(await blocksOf(), round + 1)
      await newEpoch()
    }
  })

  test('the last two that mismatch at once report one block, however they meet', async () => {
    for (let round = 0; round < 150; round += 1) {
      const publicToken: PublicToken = await makeCard()
      const tries = [await spend(publicToken), await spend(publicToken), await spend(publicToken)]
      await Promise.all(tries.slice(round % 3).map((each) => settle(each, 'mismatch')))
      for (const each of tries.slice(0, round % 3)) await settle(each, 'mismatch')
      assert.equal(await blocksOf(publicToken), 1)
      const sequences = (await eventsOf(publicToken)).map(({ sequence }) => sequence)
      assert.deepEqual(sequences, [1, 2, 3, 4, 5, 6, 7])
    }
  })

  test('a match that waited gives back what is left to be given back, and not what was', async () => {
    const [first, second, third] = [await spend(), await spend(), await spend()]
    const settled = await afterWaiting(counterLock(), () => [
      settle(first, 'match'),
      settle(third, 'match'),
      settle(second, 'unresolved'),
    ])
    assert.ok(settled.some(({ remaining }) => remaining === 3))
    const [counter] = await sql(
      database,
      `select spent, restored, outstanding_tries as outstanding, open_since as since
       from try_counter where public_token = $1 and kind = 'pin'`,
      [card],
    )
    assert.deepEqual(counter, { spent: 3, restored: 3, outstanding: [], since: [] })
  })

  test('a result that waited for an unblock, or for the report of its block, gives nothing back', async () => {
    const [first] = [await spend(), await spend(), await spend()]
    const unblock = `update try_counter set restored = spent, epoch = epoch + 1 where public_token = $1`
    const [match] = await afterWaiting(
      counterLock(),
      () => [settle(first, 'match')],
      (connection) => sql(connection, unblock, [card]),
    )
    assert.equal(match?.remaining, 3)
    const [again] = [await spend(), await spend(), await spend()]
    await makeOlder(31)
    // Both lock the card first.
    const [late] = await afterWaiting(
      cardLock(),
      () => [settle(again, 'match')],
      (connection) => reportLostBlock(connection, { publicToken: card, kind: 'pin' }),
    )
    assert.equal(late?.remaining, 0)
    assert.equal(await blocksOf(), 1)
  })

  /** Fails at once where somebody has locked the counters. */
  const lockCounters = (connection: Connection) =>
    sql(connection, 'select from try_counter where public_token = $1 for update nowait', [card])

  test('a mismatch that waits for its card has locked no counter, and so closes no circle', async () => {
    const [first, second] = [await spend(), await spend()]
    const plain = () => [settle(first, 'mismatch')]
    await afterWaiting(cardLock(), plain, lockCounters)
    const answer = Buffer.from('answer')
    const keyed = () => [settle(second, 'mismatch', { ...newClaim(), answer, remaining: 1 })]
    await afterWaiting(cardLock(), keyed, lockCounters)
    await spend()
    await makeOlder(31)
    const report = () => [reportLostBlock(database, { publicToken: card, kind: 'pin' })]
    await afterWaiting(cardLock(), report, lockCounters)
    assert.equal(await blocksOf(), 1)
  })

  test('a mismatch and the report of a block wait for no other card', async () => {
    const [first, second] = [await spend(), await spend(), await spend()]
    await database.transaction(async (connection) => {
      await sql(connection, 'select from card where public_token = $1 for no key update', [other])
      const key = { ...newClaim(), answer: Buffer.from('answer'), remaining: 0 }
      await settle(first, 'mismatch')
      await settle(second, 'mismatch', key)
      await makeOlder(31)
      await reportLostBlock(database, { publicToken: card, kind: 'pin' })
    })
    assert.equal(await blocksOf(), 1)
  })

  test('of sweeps that waited for one another one reports the block', async () => {
    for (let time = 0; time < 3; time += 1) await spend()
    await makeOlder(31)
    const block = { publicToken: card, kind: 'pin' } as const
    await afterWaiting(cardLock(), () => [1, 2, 3].map(() => reportLostBlock(database, block)))
    assert.equal(await blocksOf(), 1)
  })

  test('a result looks at the attempts that it may move, however often its card was tried', async () => {
    // The planner knows only the few attempts before.
    await sql(database, 'analyze')
    await sql(
      database,
      `insert into authorization_request (public_token, authorization_id, client_id, network_id, request_id,
         reference, entry_mode, kind, try_number, epoch, result, restored, remaining_tries)
       select $1, gen_random_uuid(), 'client-1', 'network', 'r', 'R', 'chip', 'pin', n, 1, 'match', true, 3
       from generate_series(1, 5000) n`,
      [card],
    )
    const client = new pg.Client(serverUrl)
    await client.connect()
    await client.query(tellPlans)
    const past = 'update try_counter set spent = 5000, restored = 5000 where public_token = $1'
    await sql(database, past, [card])
    for (const comparison of ['mismatch', 'unresolved', 'match'] as const) {
      const spent = await spend()
      // Of attempts alone: a table of few cards is read as a whole by a planner that has counted
      // them.
      const explain = async ({ text }: Statement, values: readonly SqlValue[]) => {
        const plans = await collectPlans(client, () => client.query(text, [...values]))
        const rows = plans.map((plan) => rowsRead(plan, 'authorization_request'))
        return rows.reduce((sum, each) => sum + each, 0)
      }
      const explaining: Database = {
        ...database,
        async change({ one, several }, _, values) {
          const lists = values.map((value) => [value, value])
          const remaining = Math.max(await explain(one, values), await explain(several, lists))
          return { remaining } as never
        },
      }
      const record = recordFor(spent, comparison)
      const compared = { spent, comparison }
      const { remaining: most } = await settleAuthorization(explaining, compared, record, null)
      assert.ok(most > 0 && most < 20, `${comparison} looked at ${most}`)
    }
    await client.end()
  })

  test('a spend that waited for the last try finds none, with a key and without, and after a match', async () => {
    await spend(card, 'cvv')
    await spend(card, 'cvv')
    const pin = await spend()
    const cvv = { publicToken: card, kind: 'cvv' } as const
    const [plain, keyed, after] = await afterWaiting<unknown>(
      [`select from try_counter where public_token = $1 and kind = 'cvv' for update`, card],
      () => [
        spendTry(database, cvv, origin, null),
        spendTry(database, cvv, origin, newClaim()),
        settleMatchAndSpend(database, pin, 'cvv', origin),
      ],
      (connection) =>
        sql(
          connection,
          `update try_counter set spent = spent + 1, outstanding_tries = outstanding_tries || 3,
             open_since = open_since || 0::bigint
           where public_token = $1 and kind = 'cvv'`,
          [card],
        ),
    )
    const none = { spent: null }
    assert.deepEqual([plain, keyed, after], [none, none, { remaining: 3, ...none }])
  })

  test('of many that claim one key at once one spends', async () => {
    const { keyHash } = newClaim()
    const tried = { publicToken: card, kind: 'pin' } as const
    const begun = await Promise.all(
      Array.from({ length: 20 }, () => spendTry(database, tried, origin, newClaim(keyHash))),
    )
    assert.equal(begun.filter((each) => each?.spent).length, 1)
    assert.equal((await spend()).tryNumber, 2)
  })

  for (const comparison of ['match', 'mismatch', 'unresolved'] as const) {
    test(`a ${comparison} that waited for its key answers what was recorded meanwhile`, async () => {
      const claim = newClaim()
      const tried = { publicToken: card, kind: 'pin' } as const
      const begun = await spendTry(database, tried, origin, claim)
      const spent = begun?.spent
      assert.ok(spent)
      const own = { ...claim, answer: Buffer.from('own'), remaining: 3 }
      const [settled] = await afterWaiting(
        ['select from idempotency_record where key_hash = $1 for update', claim.keyHash],
        () => [settle(spent, comparison, own)],
        async (connection) => {
          const values = [claim.keyHash, Buffer.from('first')]
          const record = 'update idempotency_record set answer = $2 where key_hash = $1'
          await sql(connection, record, values)
        },
      )
      assert.equal(Buffer.from(settled?.answer ?? []).toString(), 'first')
      assert.equal(settled?.isOwn, false)
      assert.equal(settled?.remaining, comparison === 'mismatch' ? 2 : 3)
    })
  }
})
