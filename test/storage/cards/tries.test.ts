import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import type { TryKind } from '../../../src/domain/tries.ts'
import { findAuthorizedCard } from '../../../src/storage/cards/authorizations.ts'
import {
  findAttempts,
  findTries,
  isAttemptPending,
  listUnreportedBlocks,
  lockCounter,
  reportBlock,
  resolveAttempt,
  restoreOne,
  restoreUpTo,
  type SpentTry,
  spendTry,
} from '../../../src/storage/cards/tries.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { recordEvent } from '../../../src/storage/events/events.ts'
import { publicTokenOf } from '../../support/identifiers.ts'
import { openTestDatabase, sql } from '../../support/service.ts'

let database: Database
/** The card that a test is about, and one beside it, which no statement about the first may move. */
let card: PublicToken
let other: PublicToken
let cards = 0
const origin = { entryMode: 'chip', reference: 'R-1' }
const clientId = 'client-1'

before(async () => {
  database = await openTestDatabase()
  await sql(
    database,
    `insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
       validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit)
     values (1, 'Product', 'Visa', '400000', 'EUR', array['Virtual'], 48, 4, false, 3, 3)`,
  )
})
beforeEach(async () => {
  card = await makeCard()
  other = await makeCard()
})

/** Rows alone: nothing here asks what a card holds. */
const makeCard = async (): Promise<PublicToken> => {
  cards += 1
  const publicToken = publicTokenOf(String(4_000_000_000 + cards))
  await sql(
    database,
    `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
       personal_data, start_date, expiry_date, status_code, pvv, pin_key, cvk)
     values ($1, $2, 1, 'Virtual', '400000******0000', '', '', '2026-01-01', '2030-01-31', '00',
       '1234', 'pvk/1', 'cvk/1')`,
    [publicToken, clientId],
  )
  await sql(
    database,
    `insert into try_counter (public_token, kind, try_limit) values ($1, 'pin', 3), ($1, 'cvv', 3)`,
    [publicToken],
  )
  return publicToken
}

const spend = async (publicToken = card, kind: TryKind = 'pin'): Promise<SpentTry> => {
  const spent = await spendTry(database, publicToken, kind, origin)
  assert.ok(spent)
  return spent
}

/** All that is stored of the tries of both cards, each row as text. */
const stored = async (): Promise<Map<string, string>> => {
  const rows = await sql<{ key: string; value: string }>(
    database,
    `select public_token || ' ' || kind as key, to_jsonb(try_counter)::text as value
       from try_counter where public_token = any($1)
     union all
     select public_token || ' ' || kind || ' ' || try_number, to_jsonb(attempt)::text
       from attempt where public_token = any($1)
     union all
     select public_token, to_jsonb(card)::text from card where public_token = any($1)`,
    [[card, other]],
  )
  return new Map(rows.map(({ key, value }) => [key, value]))
}

/** The rows that some work changes, made or removed, by their keys; the card is `*`. */
const movedBy = async (work: () => Promise<unknown>): Promise<string[]> => {
  const earlier = await stored()
  await work()
  const later = await stored()
  const keys = new Set([...earlier.keys(), ...later.keys()])
  return [...keys]
    .filter((key) => earlier.get(key) !== later.get(key))
    .map((key) => key.replace(card, '*'))
    .sort()
}

/** Tries of every kind and card, so that each statement has rows beside its own. */
const spendEverywhere = async (): Promise<SpentTry[]> => {
  const spent: SpentTry[] = []
  for (const publicToken of [card, other]) {
    for (const kind of ['pin', 'cvv', 'pin', 'cvv'] as const) {
      spent.push(await spend(publicToken, kind))
    }
  }
  return spent
}

const newEpoch = (publicToken = card): Promise<unknown> =>
  sql(
    database,
    'update try_counter set restored = spent, epoch = epoch + 1 where public_token = $1',
    [publicToken],
  )

const makeOlder = (seconds: number): Promise<unknown> =>
  sql(
    database,
    `update attempt set attempted_at = attempted_at - $2 * interval '1 second'
     where public_token = $1`,
    [card, seconds],
  )

test('a try is spent on its own counter alone, numbered, and not when none is left', async () => {
  await spendEverywhere()
  assert.deepEqual(await movedBy(() => spend()), ['* pin', '* pin 3'])
  const earlier = await stored()
  assert.equal(await spendTry(database, card, 'pin', origin), null)
  assert.deepEqual(await stored(), earlier)
  assert.equal((await spend(card, 'cvv')).tryNumber, 3)
})

test('a counter that is held is the one that was asked for', async () => {
  await spendEverywhere()
  await spend()
  const counterOf = (publicToken: PublicToken, kind: TryKind) =>
    database.transaction((connection) => lockCounter(connection, { publicToken, kind }))
  assert.deepEqual(await counterOf(card, 'pin'), { epoch: 1, remaining: 0, blockReported: false })
  assert.deepEqual(await counterOf(card, 'cvv'), { epoch: 1, remaining: 1, blockReported: false })
  await newEpoch()
  assert.equal((await counterOf(card, 'cvv')).epoch, 2)
  assert.equal((await counterOf(other, 'pin')).epoch, 1)
})

test('one try is given back once, and no other with it', async () => {
  const [first] = await spendEverywhere()
  assert.ok(first)
  const giveBack = () => restoreOne(database, first)
  assert.deepEqual(await movedBy(giveBack), ['* pin', '* pin 1'])
  assert.deepEqual(await movedBy(giveBack), [])
})

test('tries are given back up to one, each once, those of the epoch, from the last match on', async () => {
  const [first, , second] = await spendEverywhere()
  const third = await spend()
  assert.ok(first && second)
  assert.deepEqual(await movedBy(() => restoreUpTo(database, second)), [
    ...['* pin', '* pin 1', '* pin 2'],
  ])
  assert.deepEqual(await movedBy(() => restoreUpTo(database, second)), [])
  assert.equal(await restoreUpTo(database, third), 3)
  await newEpoch()
  const later = await spend()
  await newEpoch()
  await assert.rejects(() => restoreUpTo(database, later), /changed/)
  const latest = await spend()
  assert.deepEqual(await movedBy(() => restoreUpTo(database, latest)), ['* pin', '* pin 5'])
})

test('a match looks no further back than the match before it, of its own kind, card and epoch', async () => {
  const [first, , second] = await spendEverywhere()
  const third = await spend()
  assert.ok(first && second)
  const restored = () => movedBy(() => restoreUpTo(database, third))
  // What matched elsewhere, or later, or not at all, is no match before it.
  await resolveAttempt(database, first, 'mismatch', 2)
  for (const beside of [
    { ...second, kind: 'cvv' as const },
    { ...second, publicToken: other },
  ]) {
    await resolveAttempt(database, beside, 'match', 3)
  }
  await resolveAttempt(database, third, 'match', 3)
  assert.deepEqual(await restored(), ['* pin', '* pin 1', '* pin 2', '* pin 3'])
})

test('what the match before gave back is not looked at again', async () => {
  const [first, , second] = await spendEverywhere()
  assert.ok(first && second)
  await resolveAttempt(database, first, 'match', 3)
  // As it cannot be: were it looked at, it would be given back now.
  assert.deepEqual(await movedBy(() => restoreUpTo(database, second)), ['* pin', '* pin 2'])
})

test('a result is put on record at its own attempt', async () => {
  const [first] = await spendEverywhere()
  assert.ok(first)
  const resolve = () => resolveAttempt(database, first, 'mismatch', 1)
  assert.deepEqual(await movedBy(resolve), ['* pin 1'])
})

test('an attempt is pending in its epoch until it has a result, was given back or is 30 seconds old', async () => {
  const isPending = (kind: TryKind = 'pin', epoch = 1) =>
    isAttemptPending(database, card, kind, epoch)
  await spend(other)
  await spend(card, 'cvv')
  assert.equal(await isPending(), false)
  const spent = await spend()
  assert.equal(await isPending(), true)
  assert.equal(await isPending('pin', 2), false)
  await resolveAttempt(database, spent, 'mismatch', 2)
  assert.equal(await isPending(), false)
  const silent = await spend()
  await restoreOne(database, silent)
  assert.equal(await isPending(), false)
  await spend()
  await makeOlder(25)
  assert.equal(await isPending(), true)
  await makeOlder(6)
  assert.equal(await isPending(), false)
})

const isUnreported = async (kind: TryKind = 'pin'): Promise<boolean> =>
  (await listUnreportedBlocks(database, null, 100)).some(
    (each) => each.publicToken === card && each.kind === kind,
  )

test('a block is untold when no try is left, none is pending, and nobody told of it', async () => {
  const tries = [await spend(), await spend()]
  for (const each of tries) await resolveAttempt(database, each, 'mismatch', 1)
  assert.equal(await isUnreported(), false, 'one is left')
  const last = await spend()
  assert.equal(await isUnreported(), false, 'it may match')
  await makeOlder(25)
  assert.equal(await isUnreported(), false, 'it may still match')
  await makeOlder(6)
  assert.equal(await isUnreported(), true, 'it was lost')
  await makeOlder(-31)
  await resolveAttempt(database, last, 'mismatch', 0)
  assert.equal(await isUnreported(), true)
  // Open tries of another card, kind or epoch keep nobody from telling.
  await spend(card, 'cvv')
  await spend(other)
  await sql(
    database,
    `update attempt set epoch = 7, result = 'unresolved'
    where public_token = $1 and kind = 'pin' and try_number = 1`,
    [card],
  )
  assert.equal(await isUnreported(), true)
  assert.equal(await isUnreported('cvv'), false)
})

test('a try that was given back is not waited for', async () => {
  for (let time = 0; time < 3; time += 1)
    await resolveAttempt(database, await spend(), 'mismatch', 0)
  await sql(
    database,
    `update attempt set restored = true, result = 'unresolved'
    where public_token = $1 and try_number = 1`,
    [card],
  )
  assert.equal(await isUnreported(), true)
})

test('to tell of a block is to number an event of this card, and to mark this counter', async () => {
  const event = {
    publicToken: card,
    type: 'pin.blocked',
    requestId: null,
    details: { blockedBy: 'tries' },
    note: null,
  } as const
  assert.deepEqual(await movedBy(() => reportBlock(database, event, 'pin')), ['*', '* pin'])
  assert.deepEqual(await movedBy(() => recordEvent(database, event)), ['*'])
  const sequences = await sql<{ sequence: number }>(
    database,
    'select sequence from event where public_token = $1 order by sequence',
    [card],
  )
  assert.deepEqual(
    sequences.map(({ sequence }) => sequence),
    [1, 2],
  )
  assert.equal((await lockBoth()).blockReported, true)
})

const lockBoth = () =>
  database.transaction((connection) => lockCounter(connection, { publicToken: card, kind: 'pin' }))

test('untold blocks come in pages, in the order of cards and kinds, each once', async () => {
  for (const kind of ['pin', 'cvv'] as const) {
    for (const publicToken of [card, other]) {
      for (let time = 0; time < 3; time += 1) {
        await resolveAttempt(database, await spend(publicToken, kind), 'mismatch', 0)
      }
    }
  }
  const all = await listUnreportedBlocks(database, null, 100)
  const keys = all.map(({ kind, publicToken }) => `${publicToken} ${kind}`)
  assert.deepEqual(keys, [...keys].sort())
  assert.equal(new Set(keys).size, keys.length)
  const paged = []
  for (let page = await listUnreportedBlocks(database, null, 1); page[0]; ) {
    paged.push(...page)
    page = await listUnreportedBlocks(database, page[0], 1)
  }
  assert.deepEqual(paged, all)
})

test('tries and attempts are read of the card, kind and client that were asked for', async () => {
  await spendEverywhere()
  await spend()
  assert.equal((await findTries(database, card, 'pin', clientId))?.spent, 3)
  assert.equal((await findTries(database, card, 'cvv', clientId))?.spent, 2)
  assert.equal(await findTries(database, card, 'pin', 'other-client'), null)
  const list = (page: Parameters<typeof findAttempts>[3], client = clientId) =>
    findAttempts(database, card, client, page)
  // Apart, however coarse the clock is: pin 1, cvv 1, pin 2, cvv 2, pin 3.
  await sql(
    database,
    `update attempt set attempted_at = '2026-01-01'::timestamptz
       + make_interval(secs => 2 * try_number + (kind = 'cvv')::integer)`,
  )
  const all = await list({ after: null, limit: 100 })
  assert.deepEqual(
    all.map(({ kind, tryNumber }) => `${kind} ${tryNumber}`),
    ['pin 3', 'cvv 2', 'pin 2', 'cvv 1', 'pin 1'],
  )
  assert.deepEqual(await list({ after: null, limit: 100 }, 'other-client'), [])
  const paged = []
  for (let page = await list({ after: null, limit: 1 }); page[0]; ) {
    paged.push(...page)
    const [{ kind, position: at, tryNumber }] = page
    page = await list({ after: { at, kind, tryNumber }, limit: 1 })
  }
  assert.deepEqual(paged, all)
})

test('a card is authorized by its own tries of each kind', async () => {
  await spendEverywhere()
  await spend()
  const found = await findAuthorizedCard(database, { publicToken: card }, null)
  assert.deepEqual([found?.publicToken, found?.pinRemaining, found?.cvvRemaining], [card, 0, 1])
  assert.equal(
    await findAuthorizedCard(database, { publicToken: publicTokenOf('1000000000') }, null),
    null,
  )
})
