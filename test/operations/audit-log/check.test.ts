import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { checkDue } from '../../../src/operations/audit-log/check.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { auditCheckFindings } from '../../../src/service/doctor/audit-check.ts'
import {
  digestedCardColumns,
  digestedTables,
} from '../../../src/storage/audit-log/digested-columns.ts'
import { enterAll, origin } from '../../support/audit.ts'
import { readCardColumns, readRowColumns } from '../../support/digested-columns.ts'
import { databaseEngines } from '../../support/engines.ts'
import {
  openTestDatabase,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

interface Found {
  readonly found: string
  readonly [detail: string]: unknown
}

/** Enters what was done, and checks at once. @returns what is found now. */
const check = async ({
  audit,
  database,
}: Pick<TestService, 'audit' | 'database'>): Promise<Found[]> => {
  const [{ number = 0 } = {}] = await sql<{ number: number }>(
    database,
    'select max(number)::float8 as "number" from audit_act',
  )
  await enterAll(database)
  await checkDue(audit, { everySeconds: 0, restMs: 0, settleSeconds: 0 })
  // What was not entered yet is looked at again a while after.
  await enterAll(database)
  await checkDue(audit, { everySeconds: 86_400, restMs: 0, settleSeconds: 0 })
  const rows = await sql<{ found: string; details: string }>(
    database,
    `select subject as "found", details from audit_act
     where act = 'check.found' and number > $1::bigint order by number`,
    [number],
  )
  return rows.map(({ details, found }) => ({ found, ...JSON.parse(details) }))
}

const administer = (service: TestService, method: string, path: string, body?: object) =>
  service.call(method, `//${path}`, {
    as: 'admin',
    listener: 'private',
    ...(body && { body }),
  })

for (const { name, open, skip } of databaseEngines) {
  suite(`a check of rows against their entries, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      service = await openTestService({ database: await open(), env: { RATE_LIMIT: 'off' } })
      await service.createCard()
      assert.deepEqual(await check(service), [], 'the first one takes what is there')
    })

    /** A card that has been checked. */
    const checked = async () => {
      const card = await service.createCard()
      assert.deepEqual(await ofCard(card.publicToken), [])
      return card.publicToken
    }
    const ofCard = async (card: string): Promise<Found[]> =>
      (await check(service)).filter((each) => each.card === card)

    test('finds nothing in what the service did itself', async () => {
      const { publicToken, ...card } = await service.createCard()
      const { publicToken: blocked } = await service.createCard()
      assert.deepEqual(await check(service), [])
      const [pin] = strongPins(card)
      const done = [
        await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } }),
        await service.call('GET', `/card-pin/${publicToken}/pin`),
        await service.call('PUT', `/card-cvv/${publicToken}/cvv/status`, {
          body: { status: 'Blocked' },
        }),
        await service.call('POST', `/card-pin/${publicToken}/pin/unblock`),
        await service.call('PUT', `/cards/${publicToken}/status`, {
          body: { cardStatusCode: '62' },
        }),
        await administer(service, 'PATCH', 'clients/demo-client', { clientName: 'Another name' }),
        await administer(service, 'POST', 'clients/demo-other-client/rotate-secret', {}),
        await administer(service, 'PUT', 'clients/demo-other-client/products/1002'),
        await administer(service, 'DELETE', 'clients/demo-other-client/products/1002'),
        await administer(service, 'PATCH', 'products/1001', { productName: 'Another name' }),
        await administer(service, 'POST', 'keys/cvk/rotate'),
      ]
      for (const { status, text } of done) assert.ok(status < 300, `${status} ${text}`)
      for (const wrong of ['0000', '0000', '0000']) {
        const body = { publicToken: blocked, pin: wrong, entryMode: 'chip' }
        assert.equal(
          (await service.call('POST', '/simulator/authorizations', { body })).status,
          200,
        )
      }
      assert.deepEqual(await check(service), [])
      assert.deepEqual(await check(service), [], 'nor when nothing was done')
    })

    const ofCards: readonly {
      readonly what: string
      readonly change: string
      readonly group: string
    }[] = [
      { what: 'its status', change: `update card set status_code = '62'`, group: 'status' },
      {
        what: 'its last day',
        change: `update card set expiry_date = expiry_date + 400`,
        group: 'plastic',
      },
      {
        what: 'its client',
        change: `update card set client_id = 'demo-other-client'`,
        group: 'identity',
      },
      {
        what: 'its PIN',
        change: `update card set pin_block = decode(repeat('ab', length(pin_block)), 'hex')`,
        group: 'pin',
      },
      {
        what: 'its limit of tries',
        change: 'update try_counter set try_limit = 15',
        group: 'tries',
      },
      { what: 'its epoch', change: 'update try_counter set epoch = epoch + 1', group: 'tries' },
    ]
    for (const { change, group, what } of ofCards) {
      test(`finds a card that ${what} was changed of by hand`, async () => {
        const card = await checked()
        await sql(service.database, `${change} where public_token = $1`, [card])
        const [found, ...more] = await ofCard(card)
        assert.deepEqual([found?.found, more], ['card changed', []])
        assert.match(String(found?.columns), new RegExp(group))
        assert.deepEqual(await ofCard(card), [], 'once')
      })
    }

    test('finds it, too, where the card had an event of another kind since', async () => {
      const card = await checked()
      await sql(service.database, `update card set status_code = '62' where public_token = $1`, [
        card,
      ])
      await service.call('GET', `/card-pin/${card}/pin`)
      assert.deepEqual(await ofCard(card), [{ found: 'card changed', card, columns: ['status'] }])
    })

    test('finds a card whose number of events was set forth or back', async () => {
      const [ahead, behind] = [await checked(), await checked()]
      await service.call('GET', `/card-pin/${behind}/pin`)
      assert.deepEqual(await check(service), [])
      const add = 'update card set last_sequence = last_sequence + $2 where public_token = $1'
      await sql(service.database, add, [ahead, 1])
      await sql(service.database, add, [behind, -1])
      const found = await check(service)
      const of = (card: string) => found.filter((each) => each.card === card)
      assert.deepEqual(of(ahead), [
        { found: 'card ahead of its entries', card: ahead, entered: 1, has: 2 },
      ])
      assert.deepEqual(of(behind), [
        { found: 'card behind its entries', card: behind, entered: 2, has: 1 },
      ])
      assert.deepEqual(await check(service), [], 'once')
    })

    test('finds a card that was put in, and one that was taken away', async () => {
      const card = await checked()
      const copy = '1999999999'
      await sql(
        service.database,
        `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan, personal_data,
           start_date, expiry_date, line_token, status_code, pin_block, pvv, pin_key, cvk)
         select $2, client_id, product_id, card_type, masked_pan, encrypted_pan, personal_data, start_date, expiry_date,
           $2, status_code, pin_block, pvv, pin_key, cvk from card where public_token = $1`,
        [card, copy],
      )
      const first = await check(service)
      assert.deepEqual(
        first.filter((each) => each.card === copy),
        [{ found: 'card ahead of its entries', card: copy, entered: 0, has: 1 }],
      )
      await sql(service.database, 'delete from card where public_token = $1', [copy])
      for (const table of ['card_limit', 'try_counter', 'plastic', 'card']) {
        await sql(service.database, `delete from ${table} where public_token = $1`, [card])
      }
      assert.deepEqual(await ofCard(card), [{ found: 'card gone', card, entered: 1 }])
    })

    test('waits with what is not entered yet, however long that takes', async () => {
      const card = await checked()
      await service.call('GET', `/card-pin/${card}/pin`)
      const { database } = service
      const terms = { everySeconds: 0, restMs: 0, settleSeconds: 0 }
      await checkDue(service.audit, terms)
      const later = { ...terms, everySeconds: 86_400 }
      await checkDue(service.audit, later)
      const awaited = () =>
        sql(database, 'select 1 from card_digest where awaited_sequence is not null')
      assert.equal((await awaited()).length, 1, 'the event is not published')
      while ((await publishBatch(database)) > 0);
      await checkDue(service.audit, later)
      assert.equal((await awaited()).length, 1, 'the event is not entered')
      assert.deepEqual(await check(service), [])
      assert.equal((await awaited()).length, 0)
    })

    test('finds an event that was taken away before it was entered', async () => {
      const card = await checked()
      await service.call('GET', `/card-pin/${card}/pin`)
      await sql(service.database, 'delete from event where public_token = $1 and sequence = 2', [
        card,
      ])
      await service.call('GET', `/card-pin/${card}/pin`)
      assert.deepEqual(await ofCard(card), [{ found: 'sequence missing', card, before: 3 }])
    })

    const ofRows: readonly { readonly change: string; readonly found: object }[] = [
      {
        change: `update client set scopes = scopes || '{admin}' where client_id = 'demo-other-client'`,
        found: { found: 'row changed', table: 'client', row: 'demo-other-client' },
      },
      {
        change: `insert into client (client_id, client_name, kind, scopes) values ('guest', 'x', 'admin', '{admin}')`,
        found: { found: 'row new', table: 'client', row: 'guest' },
      },
      {
        change: `delete from client where client_id = 'guest'`,
        found: { found: 'row gone', table: 'client', row: 'guest' },
      },
      {
        change: `insert into client_product (client_id, product_id) values ('demo-other-client', 1002)`,
        found: { found: 'row new', table: 'client_product', row: 'demo-other-client 1002' },
      },
      {
        change: 'update product set pin_try_limit = 15 where product_id = 1002',
        found: { found: 'row changed', table: 'product', row: '1002' },
      },
      {
        change: `update hsm_key set key_check_value = '000000' where key_name = 'pvk' and key_version = 1`,
        found: { found: 'row changed', table: 'hsm_key', row: 'pvk/1' },
      },
      {
        change: `update zone_key set pin_block_formats = '{}' where key_name = 'zone-a'`,
        found: { found: 'row changed', table: 'zone_key' },
      },
    ]
    test('finds each row of clients, grants, products and keys that was changed, put in or taken away by hand', async () => {
      assert.deepEqual(rowsIn(await check(service)), [])
      for (const { change, found } of ofRows) {
        await sql(service.database, change)
        const [first, ...more] = rowsIn(await check(service))
        assert.deepEqual([{ ...first, ...found }, more], [first, []], change)
      }
    })
    const rowsIn = (found: readonly Found[]) => found.filter(({ table }) => table !== undefined)

    test('finds digests that were changed by hand, so that they cannot hide a card', async () => {
      const card = await checked()
      await sql(service.database, `update card set status_code = '62' where public_token = $1`, [
        card,
      ])
      await sql(service.database, 'delete from card_digest where public_token = $1', [card])
      const found = (await check(service)).map((each) => each.found)
      assert.ok(found.includes('digests changed') && found.includes('card ahead of its entries'))
    })

    test('finds an act of erasure that the table of erasures does not have', async () => {
      const insert = (act: string, subject: string, details: object) =>
        sql(
          service.database,
          `insert into audit_act (act, subject_kind, subject, details) values ($1, 'log', $2, $3)`,
          [act, subject, JSON.stringify(details)],
        )
      const erasure = randomUUID()
      await insert('erasure.requested', erasure, { of: 'card', reason: 'Nobody asked.' })
      const everything = { ranges: [[0, 2 ** 53 - 1]] }
      await insert('entries.erased', origin, { erasure, requestedBy: null, ...everything })
      await insert('entries.erased', origin, everything)
      const found = await check(service)
      assert.deepEqual(
        found.map((each) => each.found),
        ['erasure unfounded', 'erasure unfounded', 'erasure unfounded'],
      )
      const [{ erasureId = '' } = {}] = await sql<{ erasureId: string }>(
        service.database,
        `insert into audit_erasure (kind, subject, reason, requested_by, finished_at)
         values ('card', null, 'Asked.', 'admin-1', now()) returning erasure_id as "erasureId"`,
      )
      await insert('entries.erased', origin, {
        erasure: erasureId,
        requestedBy: 'admin-1',
        ranges: [[0, 0]],
      })
      assert.deepEqual(await check(service), [], 'what the table knows')
      const known = { erasure: erasureId, requestedBy: 'admin-1' }
      await insert('entries.erased', origin, { ...known, ...everything })
      await insert('entries.erased', origin, { ...known, requestedBy: 'admin-2', ranges: [[0, 0]] })
      assert.equal((await check(service)).length, 2)
    })

    test('finds an entry that says nothing before anybody could have erased it', async () => {
      await service.createCard()
      await enterAll(service.database)
      const [{ index = -1 } = {}] = await sql<{ index: number }>(
        service.database,
        `update audit_entry set text = null, salt = null
         where entry_index = (select max(entry_index) from audit_entry where act = 'card.created')
         returning entry_index::float8 as "index"`,
      )
      const blank = (await check(service)).filter(({ found }) => found === 'entry blank')
      assert.deepEqual(
        blank.map((each) => each.index),
        [index],
      )
    })

    test('leaves what it found to be seen: by the metric, and by doctor as a fault', async () => {
      const card = await checked()
      await sql(service.database, `update card set status_code = '62' where public_token = $1`, [
        card,
      ])
      await ofCard(card)
      const [{ count } = { count: 0 }] = await sql<{ count: number }>(
        service.database,
        `select count(*)::float8 as "count" from audit_act where act = 'check.found'`,
      )
      const { text } = await service.call('GET', '//metrics', { token: null, listener: 'private' })
      assert.match(text, new RegExp(`^pinfold_audit_findings ${count}$`, 'm'))
      const [finding] = await auditCheckFindings(service.database, new Date())
      assert.deepEqual([finding?.check, finding?.verdict], ['audit-check', 'fault'])
      assert.match(
        finding?.found ?? '',
        new RegExp(`^${count} findings in 30 days; the newest: card changed .*${card}`),
      )
    })

    test('finds a number that is missing among the acts', async () => {
      const acts = `select number::float8 as "number" from audit_act where act = 'check.digested' order by 1 limit 1`
      const [{ number } = { number: 0 }] = await sql<{ number: number }>(service.database, acts)
      await sql(service.database, 'delete from audit_act where number = $1::bigint', [number])
      const found = (await check(service)).filter((each) => each.found === 'number missing')
      assert.deepEqual(found, [{ found: 'number missing', after: number - 1, before: number + 1 }])
    })
  })
}

test('a check that is broken off is gone on with, and is due again after its time alone', async () => {
  const service = await openTestService()
  const { database } = service
  await service.createCard()
  await enterAll(database)
  const terms = { everySeconds: 86_400, restMs: 0, settleSeconds: 0 }
  const digested = async (): Promise<number> =>
    (await sql(database, `select 1 from audit_act where act = 'check.digested'`)).length
  await checkDue(service.audit, terms, AbortSignal.abort())
  assert.equal(await digested(), 0)
  const verdict = async (at: Date) => (await auditCheckFindings(database, at))[0]?.verdict
  assert.equal(await verdict(new Date()), 'good')
  await checkDue(service.audit, terms)
  assert.equal(await digested(), 1)
  assert.equal(await verdict(new Date()), 'good')
  assert.equal(await verdict(new Date(Date.now() + 4 * 86_400_000)), 'warning')
  await checkDue(service.audit, terms)
  assert.equal(await digested(), 1)
})

/** Columns of which no digest is made, and why. */
const leftOut: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  card: {
    public_token: 'by which it is known',
    encrypted_pan: 're-encrypted without an entry; it is sealed to the token',
    personal_data: 're-encrypted without an entry; it is sealed to the token',
    last_sequence: 'compared by itself',
    valid_until: 'computed',
    replaced_by: 'follows from what the digest of the successor has',
  },
  try_counter: {
    public_token: 'by which it is known',
    kind: 'by which it is known',
    spent: 'moves with attempts, which have entries of their own',
    restored: 'moves with attempts',
    outstanding_tries: 'moves with attempts',
    open_since: 'moves with attempts',
    block_reported: 'set when its event is recorded, or found to be missing',
    is_unreported_block: 'computed',
  },
  client: {
    credentials_changed_at: 'moves with credentials_version',
    receives_events: 'computed',
    deliveries_suspended_at: 'follows from scopes',
    deliveries_suspended_seconds: 'follows from scopes',
  },
  client_product: { product_version: 'is drawn anew whenever a product may change' },
  product: {},
  hsm_key: {
    key_block: 'put under another master key without an entry of its own; it has a MAC',
    activates_at: 'goes with its state',
    activated_at: 'goes with its state',
    retired_at: 'goes with its state',
    uses: 'counts',
  },
  zone_key: { key_block: 'as of hsm_key' },
  zone_master_key: { key_block: 'as of hsm_key' },
  link: { signed_on_at: 'moves with its sessions', created_at: 'says nothing of what it may do' },
}

test('every column of what is checked is digested, or left out for a reason that is written down', async () => {
  const database = await openTestDatabase()
  const cardColumns = readCardColumns()
  assert.equal(cardColumns.length, digestedCardColumns.length)
  const digested = [
    ...cardColumns,
    ...digestedTables.flatMap(({ table }) =>
      readRowColumns(table).map((columns) => `${table}: ${columns}`),
    ),
  ]
  for (const [table, reasons] of Object.entries(leftOut)) {
    const columns = await sql<{ name: string }>(
      database,
      `select column_name as name from information_schema.columns where table_name = $1 and table_schema = 'public'`,
      [table],
    )
    const prefix =
      { card: /card\./, try_counter: /(?:pin|cvv)\./ }[table] ?? new RegExp(`^${table}: `)
    const own = digested
      .filter((column) => prefix.test(column))
      .map((column) => column.replace(/^\w+: /, ''))
    for (const { name } of columns) {
      const isDigested = own.some((column) => new RegExp(`\\b${name}\\b`).test(column))
      assert.notEqual(isDigested, name in reasons, `${table}.${name}`)
    }
  }
})
