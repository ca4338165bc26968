import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TryKind } from '../../../src/domain/tries.ts'
import type { SpentTry } from '../../../src/storage/authorizations/begin.ts'
import { rememberAnswer } from '../../../src/storage/idempotency/idempotency.ts'
import { sql } from '../../support/service.ts'
import {
  card,
  database,
  eventsOf,
  makeOlder,
  movedBy,
  newClaim,
  newEpoch,
  origin,
  other,
  settle,
  settleMatchAndSpend,
  spend,
  spendEverywhere,
  spendTry,
  useTriedCards,
} from './tried-cards.ts'

useTriedCards()

interface Outstanding {
  numbers: number[]
  /** Those that are not known to mismatch. */
  open: number[]
}

const outstandingOf = async (publicToken = card, kind: TryKind = 'pin'): Promise<Outstanding> => {
  const [row] = await sql<{ numbers: number[]; since: string[]; out: number }>(
    database,
    `select outstanding_tries as numbers, open_since::text[] as since, spent - restored as out
     from try_counter where public_token = $1 and kind = $2`,
    [publicToken, kind],
  )
  assert.ok(row)
  assert.equal(row.numbers.length, row.out, 'as many as are spent and not given back')
  return { numbers: row.numbers, open: row.numbers.filter((_, at) => row.since[at] !== '0') }
}

test('silence gives back its own try once, and no other with it', async () => {
  const [first, , second] = await spendEverywhere()
  assert.ok(first && second)
  assert.deepEqual(await movedBy(() => settle(first, 'unresolved')), ['*', '* pin', '* pin 1'])
  assert.deepEqual(await outstandingOf(), { numbers: [2], open: [2] })
  assert.deepEqual(await movedBy(() => settle(first, 'unresolved')), ['*'])
  assert.equal((await settle(second, 'unresolved')).remaining, 3)
})

test('a try is settled the same when the attempts are forgotten', async () => {
  const [first, , second] = await spendEverywhere()
  const third = await spend()
  assert.ok(first && second)
  await settle(first, 'mismatch')
  const forgotten = await sql(
    database,
    'delete from authorization_request where true returning try_number',
  )
  assert.ok(forgotten.length > 3)
  assert.equal((await settle(second, 'match')).remaining, 2)
  assert.deepEqual(await outstandingOf(), { numbers: [3], open: [3] })
  assert.equal((await settle(third, 'unresolved')).remaining, 3)
  assert.equal((await settle(third, 'match')).remaining, 3)
})

test('a match gives back the tries up to its own, each once, those of its card, kind and epoch', async () => {
  const [first, , second] = await spendEverywhere()
  const third = await spend()
  assert.ok(first && second)
  const match = (spent: SpentTry) => movedBy(() => settle(spent, 'match'))
  assert.deepEqual(await match(second), ['*', '* pin', '* pin 1', '* pin 2'])
  assert.deepEqual(await outstandingOf(), { numbers: [3], open: [3] })
  assert.deepEqual(await match(second), ['*'])
  assert.deepEqual(await match(first), ['*', '* pin 1'], 'its result alone')
  assert.equal((await settle(third, 'match')).remaining, 3)
  await newEpoch()
  const later = await spend()
  await newEpoch()
  assert.deepEqual(await match(later), ['*', '* pin 4'], 'of an epoch that ended')
  const latest = await spend()
  assert.deepEqual(await outstandingOf(), { numbers: [5], open: [5] })
  assert.deepEqual(await match(latest), ['*', '* pin', '* pin 5'])
})

test('a match gives back what mismatched before it, and marks each attempt', async () => {
  const tries = [await spend(), await spend(), await spend()]
  const [first, second, third] = tries
  assert.ok(first && second && third)
  assert.equal((await settle(first, 'mismatch')).remaining, 0)
  assert.deepEqual(await outstandingOf(), { numbers: [1, 2, 3], open: [2, 3] })
  assert.equal((await settle(third, 'mismatch')).remaining, 0)
  assert.equal((await settle(second, 'match')).remaining, 2)
  assert.deepEqual(await outstandingOf(), { numbers: [3], open: [] })
  const attempts = await sql(
    database,
    `select try_number as number, result, restored, remaining_tries as remaining
     from attempt where public_token = $1 order by try_number`,
    [card],
  )
  assert.deepEqual(attempts, [
    { number: 1, result: 'mismatch', restored: true, remaining: 0 },
    { number: 2, result: 'match', restored: true, remaining: 2 },
    { number: 3, result: 'mismatch', restored: false, remaining: 0 },
  ])
})

test('a mismatch is on record at its own attempt and its card, and leaves its try spent', async () => {
  const [first] = await spendEverywhere()
  assert.ok(first)
  assert.deepEqual(await movedBy(() => settle(first, 'mismatch')), ['*', '* pin', '* pin 1'])
  assert.deepEqual(await outstandingOf(), { numbers: [1, 2], open: [2] })
  assert.deepEqual(await eventsOf(), [
    { sequence: 1, type: 'pin.attempt_failed' },
    { sequence: 2, type: 'authorization.declined' },
  ])
  assert.deepEqual(await eventsOf(other), [])
})

test('the mismatch that leaves none reports the block, unless another may match; once in an epoch', async () => {
  const [first, second, third] = [await spend(), await spend(), await spend()]
  await settle(third, 'mismatch')
  await settle(first, 'mismatch')
  const [failed, declined] = [{ type: 'pin.attempt_failed' }, { type: 'authorization.declined' }]
  assert.deepEqual(await eventsOf(), [
    { sequence: 1, ...failed },
    { sequence: 2, ...declined },
    { sequence: 3, ...failed },
    { sequence: 4, ...declined },
  ])
  await settle(second, 'mismatch')
  assert.deepEqual((await eventsOf()).slice(4), [
    { sequence: 5, ...failed },
    { sequence: 6, type: 'pin.blocked' },
    { sequence: 7, ...declined },
  ])
  // Taken for lost before, it gives nothing back, and reports nothing twice.
  for (const comparison of ['match', 'unresolved', 'mismatch'] as const) {
    assert.equal((await settle(second, comparison)).remaining, 0)
  }
  assert.equal((await eventsOf()).filter(({ type }) => type === 'pin.blocked').length, 1)
})

test('a try that is 30 seconds old keeps no mismatch from reporting the block', async () => {
  const [, , last] = [await spend(), await spend(), await spend()]
  await makeOlder(25)
  assert.equal((await settle(last, 'mismatch')).remaining, 0)
  assert.equal((await eventsOf()).length, 2, 'they may still match')
  await makeOlder(6)
  await settle(last, 'mismatch')
  assert.deepEqual(
    (await eventsOf()).map(({ type }) => type),
    [
      'pin.attempt_failed',
      'authorization.declined',
      'pin.attempt_failed',
      'pin.blocked',
      'authorization.declined',
    ],
  )
})

test('a match spends a try of the other kind with it, or none where none is left', async () => {
  const [pin] = await spendEverywhere()
  assert.ok(pin)
  const goOn = async () => (await settleMatchAndSpend(database, pin, 'cvv', origin)).spent
  assert.deepEqual(await movedBy(goOn), ['* cvv', '* cvv 3', '* pin', '* pin 1'])
  assert.deepEqual(await movedBy(goOn), [])
  assert.deepEqual(await outstandingOf(card, 'cvv'), { numbers: [1, 2, 3], open: [1, 2, 3] })
  await newEpoch()
  const again = await spend()
  const { remaining, spent } = await settleMatchAndSpend(database, again, 'cvv', origin)
  assert.deepEqual(
    [remaining, spent],
    [3, { publicToken: card, kind: 'cvv', tryNumber: 4, epoch: 2, remaining: 2 }],
  )
})

const answerUnder = async ({ keyHash }: { keyHash: Uint8Array }): Promise<string | undefined> => {
  const [row] = await sql<{ answer: Uint8Array | null }>(
    database,
    'select answer from idempotency_record where key_hash = $1',
    [keyHash],
  )
  return row?.answer ? Buffer.from(row.answer).toString() : undefined
}

test('a key is claimed with the spend, once: who comes second spends nothing', async () => {
  const key = newClaim()
  const again = () => newClaim(key.keyHash)
  const tried = { publicToken: card, kind: 'pin' } as const
  const begin = () => spendTry(database, tried, origin, again())
  assert.deepEqual(await begin(), { spent: { ...tried, tryNumber: 1, epoch: 1, remaining: 2 } })
  assert.deepEqual(await movedBy(async () => assert.equal(await begin(), null)), [])
  assert.equal(await rememberAnswer(database, { ...again(), answer: Buffer.from('other') }), false)
  assert.equal(await answerUnder(key), undefined)
  await sql(
    database,
    `update idempotency_record set created_at = now() - interval '25 hours'
     where key_hash = $1`,
    [key.keyHash],
  )
  assert.equal((await begin())?.spent?.tryNumber, 2)
  await spend()
  const late = await spendTry(database, tried, origin, newClaim())
  assert.deepEqual(late, { spent: null }, 'claimed, though none was left')
  const answered = newClaim()
  assert.ok(await rememberAnswer(database, { ...answered, answer: Buffer.from('answer') }))
  assert.equal(await answerUnder(answered), 'answer')
})

for (const comparison of ['match', 'mismatch', 'unresolved'] as const) {
  test(`a ${comparison} under a key moves its own rows, and none beside`, async () => {
    const [first, , earlier] = await spendEverywhere()
    assert.ok(first && earlier)
    const [key, beside] = [newClaim(), newClaim()]
    const tried = { publicToken: card, kind: 'pin' } as const
    await spend(card, 'cvv')
    await settle(first, 'mismatch')
    await settle(earlier, 'unresolved')
    const spent = (await spendTry(database, tried, origin, key))?.spent
    await spendTry(database, { publicToken: other, kind: 'pin' }, origin, beside)
    assert.ok(spent)
    const answer = Buffer.from('answer')
    const remaining = { match: 3, mismatch: 1, unresolved: 2 }[comparison]
    const moved = await movedBy(() => settle(spent, comparison, { ...key, answer, remaining }))
    const expected = {
      match: ['*', '* pin', '* pin 1', '* pin 3'],
      mismatch: ['*', '* pin', '* pin 3'],
      unresolved: ['*', '* pin', '* pin 3'],
    }
    assert.deepEqual(moved, expected[comparison])
    const numbers = { match: [], mismatch: [1, 3], unresolved: [1] }[comparison]
    assert.deepEqual(await outstandingOf(), { numbers, open: [] })
    const types = (await eventsOf())
      .map(({ type }) => type)
      .filter((type) => type.startsWith('pin.'))
    const failures = comparison === 'mismatch' ? 2 : 1
    assert.deepEqual(
      types,
      Array.from({ length: failures }, () => 'pin.attempt_failed'),
    )
    assert.deepEqual([await answerUnder(key), await answerUnder(beside)], ['answer', undefined])
  })

  test(`a ${comparison} is settled with its answer, the first of which stays, for so many tries as it says`, async () => {
    const key = newClaim()
    const tried = { publicToken: card, kind: 'pin' } as const
    const begun = await spendTry(database, tried, origin, key)
    const spent = begun?.spent
    assert.ok(spent)
    const remaining = comparison === 'mismatch' ? 2 : 3
    const answer = Buffer.from('first')
    const foreseen = { ...key, answer, remaining }
    const forgotten = { ...foreseen, claimId: randomUUID() }
    assert.equal((await settle(spent, comparison, forgotten)).answer, null)
    assert.equal((await settle(spent, comparison, { ...foreseen, remaining: 1 })).answer, null)
    assert.equal(await answerUnder(key), undefined)
    const own = await settle(spent, comparison, foreseen)
    assert.deepEqual([own.remaining, own.isOwn], [remaining, true])
    const second = { ...foreseen, answer: Buffer.from('second'), remaining: 1 }
    const { answer: kept, isOwn } = await settle(spent, comparison, second)
    assert.deepEqual([Buffer.from(kept ?? []).toString(), isOwn], ['first', false])
    assert.equal(await answerUnder(key), 'first')
  })
}
