import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { createActs } from '../../packages/audit/acts.ts'
import { checkDue } from '../../src/operations/audit-log/check.ts'
import { publishEvents } from '../../src/operations/events/publish.ts'
import { enterAll, listEntries } from '../support/audit.ts'
import { client } from '../support/builders.ts'
import { databaseEngines } from '../support/engines.ts'
import { holdStatement } from '../support/held-statement.ts'
import { ask, issueCard, otherDigits, pinTry } from '../support/network.ts'
import {
  type Answer,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../support/service.ts'

const snapshots = (
  service: TestService,
  method: string,
  name = '',
  as: 'admin' | 'network' = 'admin',
): Promise<Answer> =>
  service.call(method, `//sandbox/snapshots${name && `/${name}`}`, { as, listener: 'private' })

const take = async (service: TestService, name: string): Promise<void> => {
  assert.equal((await snapshots(service, 'PUT', name)).status, 200)
}

const restore = async (service: TestService, name: string): Promise<Answer> => {
  const answer = await snapshots(service, 'POST', `${name}/restore`)
  assert.equal(answer.status, 200, answer.text)
  return answer
}

/** Everything that clients can read, and the rows under it. */
const readState = async (service: TestService): Promise<object> => {
  const tables = await sql<{ name: string }>(
    service.database,
    'select table_name as "name" from list_snapshot_tables() order by table_name',
  )
  const rows = await Promise.all(
    tables.map(async ({ name }) => [
      name,
      await sql(service.database, `select stored::text as "row" from ${name} as stored order by 1`),
    ]),
  )
  const cards = (await service.call('GET', '/cards')).json
  const events = (await service.call('GET', '/events')).json
  return { rows: Object.fromEntries(rows), cards, events }
}

/** What the verifier of an exported log reports of its entries. */
const verify = async ({ database }: TestService) => {
  await enterAll(database)
  const found: string[] = []
  const acts = createActs((code, where, detail) => found.push(`${code} ${where}: ${detail}`))
  for (const { index, text } of await listEntries(database)) acts.see(index, text)
  acts.finish()
  return { found, restores: acts.restores }
}

/** What the nightly check of rows against the log finds. */
const check = async ({ audit, database }: TestService): Promise<readonly string[]> => {
  await enterAll(database)
  await checkDue(audit, { everySeconds: 0, restMs: 0, settleSeconds: 0 })
  const rows = await sql<{ found: string }>(
    database,
    `select subject || details as "found" from audit_act where act = 'check.found'`,
  )
  return rows.map(({ found }) => found)
}

for (const { name, open, skip } of databaseEngines) {
  suite(`snapshots on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      service = await openTestService({ database: await open(), env: { RATE_LIMIT: 'off' } })
    })

    test('a restore brings every table back to the snapshot, and nothing else', async () => {
      const card = await issueCard(service)
      await ask(service, pinTry(service, card, otherDigits(card.pin)))
      const body = { url: 'http://127.0.0.1:9/hook', events: ['*'] }
      await service.call('POST', '/webhooks', { body })
      await enterAll(service.database)
      await take(service, 'full')
      const before = await readState(service)

      await ask(service, pinTry(service, card))
      await ask(service, pinTry(service, card, otherDigits(card.pin)))
      const { json } = await service.call('GET', `/cards/${card.publicToken}`)
      const [pin] = strongPins(json)
      await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body: { pin } })
      await service.call('PUT', `/cards/${card.publicToken}/status`, {
        body: { cardStatusCode: '62' },
        headers: { 'idempotency-key': 'restrict-1' },
      })
      await service.createCard()
      await client(service.database, { scopes: ['cards.read'] })
      await sql(service.database, `update product set pin_try_limit = 9 returning product_id`)
      await sql(service.database, `delete from webhook returning webhook_id`)

      await restore(service, 'full')
      assert.deepEqual(await readState(service), before)
    })

    test('the list of snapshots ends at its limit, and goes on by its link', async () => {
      await take(service, 'page-a')
      await take(service, 'page-b')
      const all = (await snapshots(service, 'GET')).json
      const given = { as: 'admin', listener: 'private' } as const
      const read: object[] = []
      for (let next: string | undefined = '//sandbox/snapshots?limit=1'; next !== undefined; ) {
        const { headers, json }: Answer = await service.call('GET', next, given)
        assert.equal(json.length, 1)
        read.push(...json)
        next = /^<(\/[^>]+)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1]
        next &&= `/${next}`
      }
      assert.ok(read.length >= 2)
      assert.deepEqual(read, all)
    })

    test('a key of an idempotent request is free again, and a used one stays used', async () => {
      const card = await service.createCard()
      const path = `/card-cvv/${card.publicToken}/cvv/status`
      const block = (key: string) =>
        service.call('PUT', path, {
          body: { status: 'Blocked' },
          headers: { 'idempotency-key': key },
        })
      await block('before')
      await take(service, 'keys')
      await block('after')
      await restore(service, 'keys')
      assert.equal((await block('before')).headers['idempotency-replayed'], 'true')
      assert.equal((await block('after')).headers['idempotency-replayed'], undefined)
    })

    test('readers of events go on after a restore, and miss none', async () => {
      const card = await service.createCard()
      await enterAll(service.database)
      const last = (await service.call('GET', '/events')).json.at(-1).id
      await take(service, 'feed')
      const read = async (after: string): Promise<{ id: string; type: string }[]> =>
        (await service.call('GET', `/events?after=${after}`)).json
      await service.call('PUT', `/card-cvv/${card.publicToken}/cvv/status`, {
        body: { status: 'Blocked' },
      })
      await enterAll(service.database)
      const [gone] = await read(last)
      assert.equal(gone?.type, 'cvv.blocked')
      await restore(service, 'feed')
      await service.call('PUT', `/card-cvv/${card.publicToken}/cvv/status`, {
        body: { status: 'Blocked' },
      })
      await enterAll(service.database)
      assert.deepEqual(
        (await read(last)).map(({ type }) => type),
        ['cvv.blocked'],
      )
    })

    test('a restore waits for events that are being published', async () => {
      const { database, delivering } = service
      const card = await service.createCard()
      await take(service, 'publishing')
      await service.call('PUT', `/card-cvv/${card.publicToken}/cvv/status`, {
        body: { status: 'Blocked' },
      })
      const held = holdStatement(database, 'publish_events')
      const stop = new AbortController()
      const publishing = publishEvents({ ...delivering, database: held.database }, stop.signal)
      await held.reached
      const { json, status } = await snapshots(service, 'POST', 'publishing/restore')
      held.release()
      stop.abort()
      await publishing
      assert.deepEqual([status, json.code], [503, 'unavailable'])
      await restore(service, 'publishing')
      await restore(service, 'publishing')
      assert.deepEqual((await verify(service)).found, [])
    })

    test('the audit log keeps every act, records each restore, and verifies', async () => {
      const card = await issueCard(service)
      await check(service)
      const known = (await verify(service)).restores
      await take(service, 'log')
      for (const _ of [1, 2]) {
        await ask(service, pinTry(service, card, otherDigits(card.pin)))
        await ask(service, pinTry(service, card))
        await service.createCard()
        const size = (await listEntries(service.database)).length
        await restore(service, 'log')
        assert.ok((await listEntries(service.database)).length > size + 3)
      }
      await ask(service, pinTry(service, card, otherDigits(card.pin)))
      assert.deepEqual(await verify(service), { found: [], restores: known + 2 })
      assert.deepEqual(await check(service), [])
      await ask(service, pinTry(service, card))
      assert.deepEqual(await check(service), [])
      await sql(service.database, `update card set status_code = '43' returning public_token`)
      assert.match(String(await check(service)), /card changed/)
    })

    test('a token of a client that was created after the snapshot is refused at once', async () => {
      await take(service, 'clients')
      const clientId = await client(service.database, { secret: 'secret' })
      const asked = await service.publicServer.inject({
        method: 'POST',
        url: '/oauth/token',
        headers: {
          host: '127.0.0.1:8080',
          authorization: `Basic ${Buffer.from(`${clientId}:secret`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        payload: 'grant_type=client_credentials',
      })
      const token = asked.json().access_token
      assert.equal((await service.call('GET', '/cards', { token })).status, 200)
      await restore(service, 'clients')
      assert.equal((await service.call('GET', '/cards', { token })).status, 401)
    })

    test('calls during restores are answered from before or from after, and none fails', async () => {
      const card = await service.createCard()
      const path = `/card-pin/${card.publicToken}/pin/unblock`
      await take(service, 'busy')
      const calls = Array.from({ length: 30 }, () => service.call('POST', path))
      const restores = Array.from({ length: 3 }, () => snapshots(service, 'POST', 'busy/restore'))
      const statuses = (await Promise.all(calls)).map(({ status }) => status)
      assert.deepEqual(new Set(statuses), new Set([204]))
      const outcomes = (await Promise.all(restores)).map(({ status }) => status)
      assert.ok(outcomes.includes(200))
      assert.ok(
        outcomes.every((status) => [200, 503].includes(status)),
        String(outcomes),
      )
      assert.deepEqual((await verify(service)).found, [])
    })

    test('a snapshot that needs a deleted key, or has other columns, is refused whole', async () => {
      await take(service, 'keyless')
      await sql(
        service.database,
        `update sandbox_snapshot set key_versions = key_versions || '{gone/1}'
         where snapshot_name = 'keyless' returning snapshot_name`,
      )
      const keyless = await snapshots(service, 'POST', 'keyless/restore')
      assert.deepEqual([keyless.status, keyless.json.code], [409, 'snapshot_unusable'])
      await take(service, 'older')
      await sql(
        service.database,
        `update sandbox_snapshot set schema_digest = ''
         where snapshot_name = 'older' returning snapshot_name`,
      )
      const older = await snapshots(service, 'POST', 'older/restore')
      assert.deepEqual([older.status, older.json.code], [409, 'snapshot_unusable'])
    })
  })
}

suite('the routes of snapshots', () => {
  let service: TestService
  before(async () => {
    service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  })

  test('snapshots are listed by name, replaced, and deleted', async () => {
    await take(service, 'b')
    await take(service, 'a')
    await take(service, 'b')
    const listed = (await snapshots(service, 'GET')).json
    assert.deepEqual(
      listed.map(({ snapshotName }: { snapshotName: string }) => snapshotName),
      ['a', 'b'],
    )
    assert.ok(listed[0].rows > 0)
    assert.equal((await snapshots(service, 'DELETE', 'a')).status, 204)
    assert.equal((await snapshots(service, 'DELETE', 'a')).status, 404)
    assert.equal((await snapshots(service, 'POST', 'a/restore')).status, 404)
    const rows = await sql(
      service.database,
      `select 1 from sandbox_snapshot_row where snapshot_name = 'a'`,
    )
    assert.equal(rows.length, 0)
  })

  test('only an administrator takes and restores them, under a plain name', async () => {
    for (const [method, name] of [
      ['GET', ''],
      ['PUT', 'x'],
      ['POST', 'x/restore'],
      ['DELETE', 'x'],
    ] as const) {
      assert.equal((await snapshots(service, method, name, 'network')).status, 403)
    }
    for (const name of ['Upper', '-x', 'x'.repeat(65), 'a%20b', `a'b`]) {
      assert.equal((await snapshots(service, 'PUT', name)).status, 404, name)
    }
  })

  test('a moved clock shows the instant of the snapshot again, also an earlier one', async () => {
    const clock = async (now?: string): Promise<number> => {
      const body = now === undefined ? {} : { body: { now } }
      const method = now === undefined ? 'GET' : 'POST'
      const options = { as: 'admin', listener: 'private', ...body } as const
      return Date.parse((await service.call(method, '//sandbox/clock', options)).json.now)
    }
    await take(service, 'unmoved')
    await clock('2031-03-01T00:00:00Z')
    await take(service, 'moved')
    await clock('2032-03-01T00:00:00Z')
    await restore(service, 'moved')
    const moved = (await clock()) - Date.parse('2031-03-01T00:00:00Z')
    assert.ok(moved >= 0 && moved < 60_000, String(moved))
    await restore(service, 'unmoved')
    assert.ok(Math.abs((await clock()) - Date.now()) < 60_000)
  })

  test('every table of a snapshot has a primary key, and no other table needs its rows', async () => {
    const keyless = await sql(
      service.database,
      'select table_name from list_snapshot_tables() where key_columns is null',
    )
    assert.deepEqual(keyless, [])
    const referencing = await sql(
      service.database,
      `select conrelid::regclass::text as "from", confrelid::regclass::text as "to"
       from pg_constraint
       where contype = 'f'
         and confrelid::regclass::text in (select table_name from list_snapshot_tables())
         and conrelid::regclass::text not in (select table_name from list_snapshot_tables())`,
    )
    assert.deepEqual(referencing, [])
  })

  test('the database refuses snapshots of a production', async () => {
    const { database } = await openTestService({ env: { RATE_LIMIT: 'off' } })
    await sql(database, `update installation set kind = 'production' returning kind`)
    for (const call of [`take_snapshot('x', null)`, `restore_snapshot('x')`]) {
      await assert.rejects(sql(database, `select ${call}`), /Only a sandbox has snapshots/)
    }
  })
})
