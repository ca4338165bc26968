import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import type { TryKind } from '../../../src/domain/tries.ts'
import { beginAuthorization } from '../../../src/storage/authorizations/begin.ts'
import {
  listAttemptRows,
  listUnreportedBlocks,
  newestAttempt,
  reportLostBlock,
} from '../../../src/storage/authorizations/tries.ts'
import { findTries } from '../../../src/storage/cards/tries.ts'
import { newEventId } from '../../../src/storage/events/events.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { sql } from '../../support/service.ts'
import {
  card,
  clientId,
  database,
  eventsOf,
  makeOlder,
  movedBy,
  newEpoch,
  origin,
  other,
  settle,
  spend,
  spendEverywhere,
  spendTry,
  stored,
  useTriedCards,
} from './tried-cards.ts'

useTriedCards()

test('a try is spent on its own counter alone, numbered, and not when none is left', async () => {
  await spendEverywhere()
  assert.deepEqual(await movedBy(() => spend()), ['* pin', '* pin 3'])
  const earlier = await stored()
  const late = await spendTry(database, { publicToken: card, kind: 'pin' }, origin, null)
  assert.deepEqual(late, { spent: null })
  assert.deepEqual(await stored(), earlier)
  assert.equal((await spend(card, 'cvv')).tryNumber, 3)
})

const isUnreported = async (kind: TryKind = 'pin'): Promise<boolean> =>
  (await listUnreportedBlocks(database, null, 100)).some(
    (each) => each.publicToken === card && each.kind === kind,
  )

test('a block is unreported when no try is left, none is pending, and no event says so', async () => {
  const tries = [await spend(), await spend()]
  for (const each of tries) await settle(each, 'mismatch')
  assert.equal(await isUnreported(), false, 'one is left')
  const last = await spend()
  assert.equal(await isUnreported(), false, 'it may match')
  await makeOlder(25)
  assert.equal(await isUnreported(), false, 'it may still match')
  await makeOlder(6)
  assert.equal(await isUnreported(), true, 'it was lost')
  // Open tries of another card or kind keep nobody from reporting.
  await spend(card, 'cvv')
  await spend(other)
  assert.equal(await isUnreported(), true)
  assert.equal(await isUnreported('cvv'), false)
  await settle(last, 'mismatch')
  assert.equal(await isUnreported(), false)
})

test('a lost block is reported once: an event of this card, and a mark on this counter', async () => {
  const report = (kind: TryKind = 'pin') =>
    movedBy(() => reportLostBlock(database, { publicToken: card, kind }))
  for (let time = 0; time < 3; time += 1) {
    for (const publicToken of [card, other]) {
      await spend(publicToken)
      if (publicToken === other) await spend(other, 'cvv')
    }
  }
  // Lost as well, and reported by themselves.
  await sql(database, `update try_counter set open_since = '{1,1,1}' where public_token = $1`, [
    other,
  ])
  assert.deepEqual(await report(), [], 'they may match')
  await makeOlder(31)
  assert.deepEqual(await report('cvv'), [])
  assert.deepEqual(await report(), ['*', '* pin'])
  assert.deepEqual(await report(), [])
  assert.deepEqual(await eventsOf(), [{ sequence: 1, type: 'pin.blocked' }])
  await newEpoch()
  assert.deepEqual(await report(), [], 'some are left')
})

test('unreported blocks come in pages, in the order of cards and kinds, each once', async () => {
  for (const kind of ['pin', 'cvv'] as const) {
    for (const publicToken of [card, other]) {
      for (let time = 0; time < 3; time += 1) {
        await spend(publicToken, kind)
      }
    }
  }
  await sql(
    database,
    `update try_counter set open_since = '{0,0,0}' where public_token in ($1, $2)`,
    [card, other],
  )
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
  const list = (page: Parameters<typeof listAttemptRows>[3], client = clientId) =>
    listAttemptRows(database, card, client, page)
  // Apart, however coarse the clock is: pin 1, cvv 1, pin 2, cvv 2, pin 3.
  for (const [kind, numbers] of [
    ['pin', [1, 2, 3]],
    ['cvv', [1, 2]],
  ] as const) {
    for (const number of numbers) {
      const second = 2 * number + (kind === 'cvv' ? 1 : 0)
      await sql(
        database,
        'update authorization_request set requested_at = $3::timestamptz where kind = $1 and try_number = $2',
        [kind, number, `2026-01-01T00:00:0${second}Z`],
      )
    }
  }
  const all = await list({ after: null, limit: 100 })
  assert.deepEqual(
    all.map(({ kind, tryNumber }) => `${kind} ${tryNumber}`),
    ['pin 3', 'cvv 2', 'pin 2', 'cvv 1', 'pin 1'],
  )
  assert.deepEqual(await list({ after: null, limit: 100 }, 'other-client'), [])
  const pageByPage = async () => {
    const paged = []
    let after = newestAttempt
    for (
      let page = await list({ after, limit: 1 });
      page[0];
      page = await list({ after, limit: 1 })
    ) {
      paged.push(...page)
      after = { ...after, [page[0].kind]: page[0].tryNumber }
    }
    return paged
  }
  assert.deepEqual(await pageByPage(), all)
  // Two at once, the later of which has the earlier time.
  await sql(
    database,
    `update authorization_request set requested_at = '2026-01-01'::timestamptz where kind = 'pin' and try_number = 3`,
  )
  const inNumbers = (await list({ after: null, limit: 100 })).map(
    ({ kind, tryNumber }) => `${kind} ${tryNumber}`,
  )
  assert.deepEqual(inNumbers, ['cvv 2', 'cvv 1', 'pin 3', 'pin 2', 'pin 1'])
  const listed = (await pageByPage()).map(({ kind, tryNumber }) => `${kind} ${tryNumber}`)
  assert.deepEqual(listed.toSorted(), inNumbers.toSorted(), 'none twice, none left out')
})

test('a card is authorized by its own tries of each kind', async () => {
  await spendEverywhere()
  await spend()
  const read = async (publicToken: PublicToken) => {
    const reading = { authorizationId: newEventId(), kind: null, currentMonth: '2026-11' }
    const asked = { ...origin, ...reading, expiryMonth: null, zoneKey: null }
    return (await beginAuthorization(database, { ...asked, card: { publicToken } }, null)).card
  }
  const found = await read(card)
  assert.deepEqual([found?.publicToken, found?.pinRemaining, found?.cvvRemaining], [card, 0, 1])
  assert.equal(await read(parsePublicToken('1000000000')), null)
})
