import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { entryOf, leafHash, nodeHash, rootOf } from '../../../src/domain/audit-tree.ts'
import { tilesOf } from '../../../src/operations/audit/audit-log.ts'
import { createSequencer } from '../../../src/operations/audit/sequence.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { findAuditLog } from '../../../src/storage/audit/log.ts'
import { ask, cvvTry, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine, type Services } from '../authorizations/engines.ts'

interface Entry {
  index: number
  entryId: string
  commitment: Buffer
  text: string
}

/** Enters all that there is. */
const enterAll = async ({ audit, database }: TestService): Promise<void> => {
  while ((await publishBatch(database)) > 0);
  const enter = createSequencer(audit)
  while ((await enter()) > 0);
}

const entriesOf = (service: TestService): Promise<Entry[]> =>
  sql<Entry>(
    service.database,
    `select entry_index::float8 as "index", entry_id as "entryId", commitment, text
     from audit_entry order by audit_entry.entry_index`,
  )

/** RFC 6962 2.1, from all leaves, as it is written there. */
const plainRoot = (leaves: readonly Uint8Array[]): Uint8Array => {
  const [first] = leaves
  if (leaves.length === 1 && first) return first
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1))
  return nodeHash(plainRoot(leaves.slice(0, split)), plainRoot(leaves.slice(split)))
}

onEachEngine((engine) => {
  let opened: Services
  before(async () => {
    opened = await engine.open()
  })

  test('what is done to a card, what is tried on it and what an administrator does is entered once, each with who and when', async () => {
    const { service } = opened
    const card = await issueCard(service)
    const path = `/card-pin/${card.publicToken}/pin`
    assert.equal((await service.call('GET', path)).status, 200)
    const wrong = otherDigits(card.pin)
    assert.equal((await ask(service, pinTry(service, card, wrong))).status, 200)
    assert.equal((await ask(service, pinTry(service, card))).status, 200)
    assert.equal((await ask(service, cvvTry(card, otherDigits(card.cvv2)))).status, 200)
    const product = { productId: 'audited', name: 'Audited', bin: '40000091' }
    const body = { ...product, accountLength: 9 }
    const admin = { as: 'admin', listener: 'private' } as const
    await service.call('PUT', '//products/audited', { ...admin, body })
    await enterAll(service)
    const entries = await entriesOf(service)
    const said = entries.map(({ text }) => JSON.parse(text))
    assert.deepEqual(
      entries.map(({ index }) => index),
      entries.map((_, at) => at),
    )
    assert.equal(new Set(said.map(({ entry }) => entry)).size, said.length)
    const ofCard = said.filter((entry) => entry.card === card.publicToken)
    const acts = ofCard.filter(({ sequence }) => sequence !== undefined)
    const [row] = await sql<{ sequence: number }>(
      service.database,
      'select last_sequence as "sequence" from card where public_token = $1',
      [card.publicToken],
    )
    assert.deepEqual(
      acts.map(({ sequence }) => sequence),
      Array.from({ length: row?.sequence ?? 0 }, (_, at) => at + 1),
    )
    assert.equal(acts[0].act, 'card.created')
    assert(acts.some(({ act, client, request }) => act === 'pin.revealed' && client && request))
    assert.deepEqual(
      ofCard
        .filter(({ act }) => act.endsWith('.attempted'))
        .map(({ act, outcome, reason, details }) => [act, outcome, reason, details.tryNumber])
        .sort(),
      [
        ['cvv.attempted', 'refused', 'mismatch', 1],
        ['pin.attempted', 'done', undefined, 2],
        ['pin.attempted', 'refused', 'mismatch', 1],
      ],
    )
    const numbers = said.flatMap(({ number }) => number ?? [])
    assert(numbers.length > 0)
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at + 1),
    )
    for (const { text } of entries) {
      assert(!text.includes(card.pan), 'a PAN')
      assert(!text.includes(card.pan.slice(0, 6)), 'the first digits of a PAN')
      assert.doesNotMatch(text, /"(pin|cvv2?|pan)":/)
    }
  })

  test('the root over the tiles is that of all leaves', async () => {
    const { service } = opened
    await enterAll(service)
    const log = await findAuditLog(service.database)
    assert(log)
    const entries = await entriesOf(service)
    const leaves = entries.map(({ commitment }) => leafHash(entryOf(commitment)))
    const root = await rootOf(log.size, tilesOf(service.database, log.log))
    assert.deepEqual(Buffer.from(root), Buffer.from(plainRoot(leaves)))
  })

  test('sequencers that run at once enter each act once', async () => {
    const { service, services } = opened
    const cards = await Promise.all(Array.from({ length: 20 }, () => issueCard(service)))
    await Promise.all(cards.map((card) => ask(service, pinTry(service, card))))
    while ((await publishBatch(service.database)) > 0);
    const sequencers = services.flatMap(({ audit }) => [
      createSequencer(audit),
      createSequencer(audit),
    ])
    await Promise.all(
      sequencers.map(async (enter) => {
        while ((await enter()) > 0);
      }),
    )
    await enterAll(service)
    const entries = await entriesOf(service)
    assert.deepEqual(
      entries.map(({ index }) => index),
      entries.map((_, at) => at),
    )
    const said = entries.map(({ text }) => JSON.parse(text))
    for (const { publicToken } of cards) {
      const ofCard = said.filter(({ card }) => card === publicToken)
      assert.equal(ofCard.filter(({ act }) => act === 'pin.attempted').length, 1)
      const sequences = ofCard.flatMap(({ sequence }) => sequence ?? [])
      assert.deepEqual(
        sequences,
        sequences.map((_, at) => at + 1),
      )
    }
  })

  test('a sequencer that stands still, or is undone, delays no act and loses none', async () => {
    const { service } = opened
    const standing = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const card = await issueCard(service)
    await enterAll(service)
    // As in a process that is stopped between two of its statements. An embedded database has one session alone.
    const stood =
      engine.name === 'PGlite'
        ? locked.resolve()
        : service.database.transaction(async (connection) => {
            await connection.query(
              { name: 'stand', text: 'select 1 as one from audit_log for update' } as never,
              [],
            )
            locked.resolve()
            await standing.promise
          })
    await locked.promise
    const answer = await service.call('GET', `/card-pin/${card.publicToken}/pin`)
    assert.equal(answer.status, 200)
    standing.resolve()
    await stood
    const failing: TestService['audit'] = {
      ...service.audit,
      database: {
        ...service.database,
        transaction: (work) =>
          service.database.transaction(async (connection) => {
            await work(connection)
            throw new Error('lost before its commit')
          }),
      },
    }
    while ((await publishBatch(service.database)) > 0);
    await assert.rejects(createSequencer(failing)(), /lost before its commit/)
    await enterAll(service)
    const said = (await entriesOf(service)).map(({ text }) => JSON.parse(text))
    const revealed = said.filter(
      ({ act, card: of }) => act === 'pin.revealed' && of === card.publicToken,
    )
    // One that showed it when the card was issued, and this one.
    assert.equal(revealed.length, 2)
  })
})
