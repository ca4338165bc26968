import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, beforeEach, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readRoot, tileWidth } from '../../../packages/audit/tiles.ts'
import { computeCommitment } from '../../../packages/audit/tree.ts'
import type { ClientKind } from '../../../src/domain/client.ts'
import { isPublicToken } from '../../../src/domain/identifiers.ts'
import { appendEntries, createTileReader } from '../../../src/operations/audit-log/audit-log.ts'
import { eraseDue, requestErasure } from '../../../src/operations/audit-log/erase.ts'
import { followEntries } from '../../../src/operations/audit-log/follow.ts'
import { findOpenings } from '../../../src/operations/audit-log/publish.ts'
import { findReceipt } from '../../../src/operations/audit-log/receipts.ts'
import { createSequencer } from '../../../src/operations/audit-log/sequence.ts'
import { createSigner } from '../../../src/operations/audit-log/sign.ts'
import { lockAuditLog } from '../../../src/storage/audit-log/log.ts'
import { insertClient } from '../../../src/storage/clients/clients.ts'
import { insertProvenance } from '../../../src/storage/clients/provenance.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

interface Entered {
  readonly index: number
  readonly entryId: string
  readonly clientId: string | null
  readonly publicToken: string | null
  readonly act: string
  readonly text: string | null
  readonly salt: Uint8Array | null
  readonly commitment: Uint8Array
}

/** Cards of the test: no other has entries about them. */
let [card, otherCard] = ['4820117360', '4820117361']

let service: TestService

/** Entries of before a test. */
let first = 0

/** Those of the test. */
const entries = async (): Promise<Entered[]> => {
  const rows = await sql<Entered>(
    service.database,
    `select entry_index::float8 as "index", entry_id as "entryId", client_id as "clientId",
       public_token as "publicToken", act, text, salt, commitment
     from audit_entry where entry_index >= $1::bigint order by entry_index`,
    [first],
  )
  return rows.map(({ index, ...row }) => ({ ...row, index: index - first }))
}

interface Given {
  readonly clientId?: string | null
  readonly publicToken?: string | null
  readonly act?: string
  readonly entryId?: string
  readonly details?: object
}

const enter = (given: readonly Given[]): Promise<unknown> =>
  service.database.transaction(async (connection) => {
    const log = await lockAuditLog(connection)
    assert.ok(log)
    const made = given.map((one) => {
      const { act = 'pin.set', clientId = 'client-1', publicToken = null } = one
      const entryId = one.entryId ?? randomUUID()
      const details = one.details ?? { marker: `of ${publicToken} by ${clientId}` }
      const text = JSON.stringify({ entry: entryId, act, card: publicToken, details })
      const salt = randomBytes(32)
      const commitment = computeCommitment(salt, text)
      return { entryId, clientId, publicToken, act, isByOperator: false, commitment, salt, text }
    })
    return appendEntries(connection, log, made)
  })

/** Enters what is on record. */
const sequence = async (): Promise<void> => {
  const enterNext = createSequencer(service.audit)
  while ((await enterNext()) > 0);
}

/** Signs all that is there: a checkpoint a second at most. */
const sign = async (): Promise<void> => {
  const signOnce = createSigner(service.audit)
  while ((await signedSize()) < first + (await entries()).length) {
    assert.notEqual(await signOnce(), 'refused')
    await wait(20)
  }
}

const signedSize = async (): Promise<number> => {
  const [row] = await sql<{ size: number }>(
    service.database,
    'select coalesce(max(size), 0)::float8 as size from audit_checkpoint',
  )
  return row?.size ?? 0
}

const terms = { retentionDays: 400, leastDays: 0, settleSeconds: 0 }

/** Goes on with every erasure until nothing is left to do. */
const eraseAll = async (): Promise<void> => {
  await followEntries(service.audit, new AbortController().signal)
  const pending = () =>
    sql(service.database, 'select 1 from audit_erasure where pending_act is not null')
  do {
    await eraseDue(service.audit, terms)
    await sequence()
    await sign()
    await eraseDue(service.audit, terms)
  } while ((await pending()).length > 0)
}

const request = (body: object) =>
  service.call('POST', '//audit/erasures', { body, as: 'admin', listener: 'private' })

/** All that the tables of the database hold, as text. */
const everything = async (): Promise<string> => {
  const tables = await sql<{ name: string }>(
    service.database,
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const texts = []
  for (const { name } of tables) {
    const [row] = await sql<{ text: string | null }>(
      service.database,
      `select string_agg(t::text, ' ') as text from "${name}" t`,
    )
    texts.push(row?.text ?? '')
  }
  return texts.join('\n')
}

const erasedOf = (rows: readonly Entered[]): number[] =>
  rows.filter(({ text }) => text === null).map(({ index }) => index)

/** What entries name as erased, of those of the test. */
const named = (rows: readonly Entered[]): number[] =>
  rows
    .filter(({ act }) => act === 'entries.erased')
    .flatMap(({ text }): [number, number][] => JSON.parse(text ?? '').details.ranges)
    .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at - first))
    .filter((index) => index >= 0)

suite('what the audit log says is erased', () => {
  before(async () => {
    service = await openTestService()
  })
  beforeEach(async () => {
    ;[card, otherCard] = [cardAfter(otherCard), cardAfter(cardAfter(otherCard))]
    await sequence()
    first = 0
    first = (await entries()).length
  })
  const cardAfter = (publicToken: string) => String(Number(publicToken) + 1)

  test('of a card: every entry about it, once an entry that names them is signed, and nothing else', async () => {
    await enter(
      [card, otherCard, card, card, null, otherCard].map((publicToken) => ({ publicToken })),
    )
    await sign()
    const size = (await entries()).length
    const whole = first + size
    const tiles = createTileReader(service.database, 1)
    const root = await readRoot(whole, tiles)
    const before = await entries()
    const answer = await request({ publicToken: card, reason: 'The cardholder asked for it.' })
    assert.deepEqual([answer.status, answer.json.erased, answer.json.finishedAt], [202, 0, null])

    await eraseDue(service.audit, terms)
    await sequence()
    await eraseDue(service.audit, terms)
    assert.deepEqual(erasedOf(await entries()), [], 'not before the act that names them is signed')
    await eraseAll()

    const after = await entries()
    assert.deepEqual(erasedOf(after), [0, 2, 3])
    assert.deepEqual(named(after), [0, 2, 3])
    for (const at of [0, 2, 3]) {
      assert.deepEqual([after[at]?.salt, after[at]?.publicToken], [null, null])
      assert.equal(after[at]?.clientId, 'client-1', 'whose receipt it is')
    }
    const kept = after.slice(0, size).filter(({ text }) => text !== null)
    assert.deepEqual(
      kept,
      before.filter(({ publicToken }) => publicToken !== card),
    )
    const commitments = (rows: readonly Entered[]) => rows.map(({ commitment }) => commitment)
    assert.deepEqual(commitments(after.slice(0, size)), commitments(before))
    assert.deepEqual(await readRoot(whole, tiles), root)
    for (const { salt, text } of before.filter(({ publicToken }) => publicToken === card)) {
      const held = await everything()
      assert.ok(text !== null && salt !== null)
      assert.doesNotMatch(held, new RegExp(`of ${card} by`))
      assert.ok(!held.includes(Buffer.from(salt).toString('hex')))
    }
    assert.doesNotMatch(await everything(), new RegExp(card), 'nor is there who it was')
    const path = `//audit/erasures/${answer.json.erasure}`
    const found = await service.call('GET', path, { as: 'admin', listener: 'private' })
    assert.deepEqual([found.status, found.json.erased], [200, 3])
    assert.match(found.json.finishedAt, /^20/)
  })

  test('its openings say that it is erased, and its receipt proves that it is there, without a word', async () => {
    await enter([{ publicToken: card }, { publicToken: otherCard }])
    await request({ publicToken: card, reason: 'He asked.' })
    await eraseAll()
    const [erased, kept] = await entries()
    assert.ok(erased && kept)
    const openingOf = async (index: number) =>
      (await findOpenings(service.audit, null, Math.floor(index / tileWidth)))
        ?.split('\n')
        .at(index % tileWidth)
    assert.equal(await openingOf(first), `{"index":${first},"erased":true}`)
    assert.ok((await openingOf(first + 1))?.startsWith(`{"index":${first + 1},"salt":`))
    const caller = { clientId: 'client-1', requestId: 'r' }
    const receiptOf = ({ entryId }: Entered) => findReceipt(service.audit, caller, entryId)
    const head = 'c2sp.org/tlog-proof@v1\n'
    assert.ok((await receiptOf(erased))?.startsWith(`${head}index ${first}\n`))
    assert.match(
      (await receiptOf(kept)) ?? '',
      new RegExp(`^${head}extra \\S+\nindex ${first + 1}\n`),
    )
  })

  const adminId = (): string => service.sandbox?.admin.clientId ?? assert.fail('no sandbox')

  /** A client that the configuration named, and no operator registered. */
  const register = (clientId: string, kind: ClientKind = 'client') =>
    insertClient(service.database, {
      clientId,
      kind,
      clientName: clientId,
      scopes: [],
      secretHash: null,
      jwks: null,
    })

  test('of a client: what it did, and not what others did', async () => {
    await register('client-2')
    await enter([
      { clientId: 'client-2', publicToken: card },
      { publicToken: card },
      { clientId: null },
    ])
    await request({ clientId: 'client-2', reason: 'It is no client any more.' })
    await eraseAll()
    assert.deepEqual(erasedOf(await entries()), [0])
  })

  test('of no operator, network, stranger, or client that the requester controls', async () => {
    const reason = 'It is no client any more.'
    await register('network-2', 'network')
    await register('admin-2', 'admin')
    const own = { clientId: 'own-client', clientName: 'Own', kind: 'client', scopes: [] }
    const asAdmin = { as: 'admin', listener: 'private' } as const
    const made = await service.call('POST', '//clients', { ...asAdmin, body: own })
    assert.equal(made.status, 201, made.text)
    const count = () => sql(service.database, 'select erasure_id from audit_erasure')
    const before = await count()
    for (const clientId of [
      adminId(),
      'admin-2',
      'network-2',
      'own-client',
      'nobody-here',
      `person-${'a'.repeat(40)}`,
    ]) {
      const answer = await request({ clientId, reason })
      assert.deepEqual([answer.status, answer.json.code], [403, 'erasure_refused'], clientId)
    }
    assert.equal((await count()).length, before.length)
  })

  test('of a card not for an operator who was shown its data, whose acts stay', async () => {
    const clientId = adminId()
    await enter([{ publicToken: card, clientId, act: 'cardholder.revealed' }])
    const refused = await request({ publicToken: card, reason: 'He asked.' })
    assert.deepEqual([refused.status, refused.json.code], [403, 'erasure_refused'])
    await enter([
      { publicToken: otherCard, clientId, act: 'card.status_changed' },
      { publicToken: otherCard },
      { publicToken: otherCard, clientId: null },
    ])
    assert.equal((await request({ publicToken: otherCard, reason: 'He asked.' })).status, 202)
    // It is seen only afterwards: what the one who asked did stays all the same.
    await enter([{ publicToken: otherCard, clientId, act: 'cardholder.revealed' }])
    await eraseAll()
    const blank = erasedOf(await entries())
    assert.deepEqual(blank, [2, 3])
  })

  /** Puts on record that one person registered an administrator's client. */
  const registerFor = async (by: string, clientId: string, kind: ClientKind = 'admin') => {
    await register(clientId, kind)
    await insertProvenance(service.database, { clientId, act: 'created', by, controlledBy: [by] })
  }

  /** Requests the erasure of a card as another than the sandbox's administrator. */
  const requestAs = (clientId: string, publicToken: string, approvedBy: string | null = null) => {
    assert.ok(isPublicToken(publicToken))
    const operator = { clientId, requestId: 'r', approvedBy }
    return requestErasure(service.audit, operator, { publicToken, reason: 'He asked.' }, null)
  }
  const refused = { code: 'erasure_refused' }

  test('of a card not if its data was shown to the approver or to a client of either', async () => {
    await registerFor('person-p', 'admin-of-p')
    await registerFor('person-p', 'other-of-p')
    await enter([{ publicToken: card, clientId: 'admin-of-p', act: 'cardholder.revealed' }])
    await assert.rejects(requestAs('person-p', card), refused)
    await assert.rejects(requestAs('other-of-p', card), refused)
    await assert.rejects(requestAs('person-r', card, 'person-p'), refused)
    await assert.rejects(requestAs('person-r', card, 'admin-of-p'), refused)
    await enter([{ publicToken: otherCard, clientId: 'person-p', act: 'pin.revealed' }])
    await assert.rejects(requestAs('admin-of-p', otherCard), refused)
    await assert.rejects(requestAs('person-r', otherCard, 'person-p'), refused)
    assert.ok(await requestAs('person-r', card, 'person-q'))
  })

  test('and what the approver, the people behind both and their other clients did stays', async () => {
    await registerFor('person-s', 'admin-of-s')
    await registerFor('person-s', 'other-of-s')
    await registerFor('person-t', 'client-of-t', 'client')
    const clients = ['person-s', 'admin-of-s', 'other-of-s', 'person-t', 'client-of-t', 'person-u']
    await enter(clients.map((clientId) => ({ publicToken: card, clientId })))
    await requestAs('admin-of-s', card, 'person-t')
    await eraseAll()
    assert.deepEqual(erasedOf(await entries()), [clients.indexOf('person-u')])
  })

  test('and never entries about rights, approvals, findings, settings or erasures', async () => {
    const kept = [
      'approval.approved',
      'client.secret_rotated',
      'key.retired',
      'check.found',
      'setting.weakened',
      'erasure.requested',
      'entries.erased',
      'log.succeeded',
    ]
    await enter([...kept, 'pin.set', 'product.changed'].map((act) => ({ act, publicToken: card })))
    await request({ publicToken: card, reason: 'He asked.' })
    await eraseAll()
    assert.deepEqual(erasedOf(await entries()), [kept.length, kept.length + 1])
    await sql(
      service.database,
      `update audit_entry set entered_at = now() - interval '401 days' where entry_index < $1::bigint`,
      [first + kept.length],
    )
    await eraseAll()
    const rows = await entries()
    assert.deepEqual(
      rows.slice(0, kept.length).map(({ text }) => text === null),
      kept.map(() => false),
    )
  })

  test('not before the entry is so many days old as the least is, and then by itself', async () => {
    const week = { retentionDays: 400, leastDays: 7, settleSeconds: 0 }
    const round = async () => {
      await followEntries(service.audit, new AbortController().signal)
      await eraseDue(service.audit, week)
      await sequence()
      await sign()
      await eraseDue(service.audit, week)
    }
    await enter([{ publicToken: card }, { publicToken: card }])
    const asked = await request({ publicToken: card, reason: 'He asked.' })
    await round()
    assert.deepEqual(erasedOf(await entries()), [])
    const age = (days: number, before: number) =>
      sql(
        service.database,
        `update audit_entry set entered_at = now() - make_interval(days => $1) where entry_index < $2::bigint`,
        [days, before],
      )
    await age(8, first + 1)
    await round()
    assert.deepEqual(erasedOf(await entries()), [0])
    const path = `//audit/erasures/${asked.json.erasure}`
    const state = async () =>
      (await service.call('GET', path, { as: 'admin', listener: 'private' })).json
    assert.equal((await state()).finishedAt, null)
    await age(8, first + 2)
    await sql(
      service.database,
      `update audit_erasure set requested_at = now() - interval '8 days' where erasure_id = $1::uuid`,
      [asked.json.erasure],
    )
    await round()
    await eraseDue(service.audit, week)
    assert.deepEqual(erasedOf(await entries()), [0, 1])
    assert.match((await state()).finishedAt, /^20/)
  })

  test('what is entered soon after it was asked for is erased, too: it may be of before', async () => {
    await request({ publicToken: card, reason: 'He asked.' })
    await eraseDue(service.audit, { retentionDays: 400, leastDays: 0, settleSeconds: 60 })
    await enter([{ publicToken: card }])
    await eraseAll()
    assert.equal(erasedOf(await entries()).length, 1)
    await enter([{ publicToken: card }])
    await eraseAll()
    assert.equal(erasedOf(await entries()).length, 1, 'it is finished')
  })

  test('after its days, whoever it was of; what names the erased is never erased itself', async () => {
    await enter([{ publicToken: card }, { act: 'entries.erased', details: { ranges: [] } }, {}, {}])
    await sql(
      service.database,
      `update audit_entry set entered_at = now() - make_interval(days => case when entry_index < $1::bigint then 401 else 399 end)`,
      [first + 3],
    )
    await eraseAll()
    assert.deepEqual(erasedOf(await entries()), [0, 2])
    await sql(
      service.database,
      `update audit_entry set entered_at = now() - interval '401 days' where entry_index = $1::bigint`,
      [first + 3],
    )
    await eraseAll()
    assert.deepEqual(erasedOf(await entries()), [0, 2, 3])
    assert.deepEqual(named(await entries()), [0, 2, 3])
  })

  test('by entries that say who asked for it and why, after one that asks, also of what is old', async () => {
    await enter([{ publicToken: card }, {}])
    await request({ publicToken: card, reason: 'The cardholder asked for it.' })
    await eraseAll()
    await sql(
      service.database,
      `update audit_entry set entered_at = now() - interval '401 days' where entry_index <= $1::bigint`,
      [first + 1],
    )
    await eraseAll()
    const rows = await entries()
    const said = (at: number) => JSON.parse(rows[at]?.text ?? '')
    const acts = rows.flatMap(({ act }, at) => (act === 'entries.erased' ? [at] : []))
    assert.equal(acts.length, 2)
    const [ofCard, ofAge] = acts.map(said)
    const whole = await sql<{ text: string }>(
      service.database,
      `select text from audit_entry where act = 'erasure.requested'`,
    )
    const requestOf = ({ details }: typeof ofCard) =>
      whole.map(({ text }) => JSON.parse(text)).find((each) => each.subject === details.erasure)
    assert.equal(ofCard.details.requestedBy, requestOf(ofCard).client)
    assert.deepEqual(
      [ofCard.details.of, ofCard.details.reason],
      ['card', 'The cardholder asked for it.'],
    )
    assert.deepEqual([ofAge.details.of, ofAge.details.requestedBy], ['age', null])
    assert.deepEqual(requestOf(ofAge).details, {
      of: 'age',
      reason: 'The entries are older than 400 days.',
    })
    assert.ok(requestOf(ofAge).number < ofAge.number)
  })

  test('at no row that was written into the database: it is a finding, and nothing is erased', async () => {
    await enter([{ publicToken: card }])
    await requestAs('person-v', otherCard)
    const rows = await sql<{ erasureId: string }>(
      service.database,
      `insert into audit_erasure (kind, subject, reason, requested_by, request_act)
       select kind, subject, 'They asked.', requested_by, request_act::uuid
       from (values ('card', $1, null, null), ('card', $1, 'person-v', null),
         ('card', $1, 'person-v', gen_random_uuid()::text),
         ('card', $1, 'person-v', (select request_act::text from audit_erasure where subject = $2)))
         as made (kind, subject, requested_by, request_act)
       returning erasure_id as "erasureId"`,
      [card, otherCard],
    )
    await eraseAll()
    await eraseAll()
    const after = await entries()
    assert.deepEqual(erasedOf(after), [])
    const found = after
      .filter(({ act }) => act === 'check.found')
      .map(({ text }) => JSON.parse(text ?? ''))
    assert.deepEqual(
      found.map(({ subject }) => subject),
      rows.map(() => 'erasure unfounded'),
    )
    assert.deepEqual(
      found.map(({ details }) => details.erasure).sort(),
      rows.map(({ erasureId }) => erasureId).sort(),
    )
  })

  test('entry by entry where they stand apart: no act names more than 500 ranges', async () => {
    const given = Array.from({ length: 1_203 }, (_, at) => ({ publicToken: at % 2 ? null : card }))
    await enter(given)
    await request({ publicToken: card, reason: 'He asked.' })
    await eraseAll()
    const after = await entries()
    const expected = given.flatMap(({ publicToken }, at) => (publicToken ? [at] : []))
    assert.deepEqual(erasedOf(after), expected)
    const acts = after.filter(({ act }) => act === 'entries.erased')
    assert.equal(acts.length, 2)
    assert.deepEqual(named(after), expected)
  })

  test('at the word of an administrator alone, of one card or client, with a reason that holds no number', async () => {
    const reason = 'He asked.'
    const erasures = () => sql(service.database, 'select erasure_id from audit_erasure order by 1')
    const before = await erasures()
    for (const body of [
      { reason },
      { publicToken: card, clientId: 'client-1', reason },
      { publicToken: '0820117360', reason },
      { publicToken: card },
      { publicToken: card, reason: '' },
      { publicToken: card, reason: 'It is 4000001234567899.' },
    ]) {
      assert.equal((await request(body)).status, 422, JSON.stringify(body))
    }
    assert.deepEqual(await erasures(), before)
    const options = { listener: 'private', as: 'network' } as const
    const body = { publicToken: card, reason }
    assert.equal((await service.call('POST', '//audit/erasures', { ...options, body })).status, 403)
    for (const id of [randomUUID(), 'x']) {
      const path = `//audit/erasures/${id}`
      const found = await service.call('GET', path, { as: 'admin', listener: 'private' })
      assert.equal(found.status, 404)
    }
  })
})
