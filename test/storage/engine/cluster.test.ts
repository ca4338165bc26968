import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { examine } from '../../../src/service/doctor/examine.ts'
import { prepareCluster } from '../../../src/storage/engine/cluster.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { migrate } from '../../../src/storage/engine/migrate.ts'
import { placement } from '../../../src/storage/engine/placement.ts'
import { launchPinfold } from '../../cli/run-pinfold.ts'
import { endConnectionsToNodes, openCitus } from '../../support/citus.ts'
import { listDocumented } from '../../support/cluster-document.ts'
import { ask, issueCard, pinTry } from '../../support/network.ts'
import { makeFolder } from '../../support/process.ts'
import {
  openEmbedded,
  openServerDatabase,
  openTestDatabase,
  openTestService,
  pgliteLeftOut,
  pool,
  sql,
} from '../../support/service.ts'

const citus = openCitus()
const skip = citus.leftOut
const root = new URL('../../../', import.meta.url)
const migrations = new URL('database/migrations/', root)
const spread = placement.spread.flatMap(({ tables }) => tables)

/** A cluster at this program's schema, of which no table is spread. */
const openUnspread = async (): Promise<{ database: Database; url: string }> => {
  const { close, url } = await citus.createDatabase()
  const database = pool(url, 5)
  closing.push(async () => {
    await database.close()
    await close()
  })
  await migrate(database, migrations)
  return { database, url }
}
const closing: (() => Promise<void>)[] = []

const references = (database: Database) =>
  sql(
    database,
    `select conrelid::regclass::text as "table", pg_get_constraintdef(oid) as "text" from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace and conrelid::regclass::text = any ($1)
     order by 1, 2`,
    [[...spread, ...placement.copied]],
  )

test('every table of the schema has its place on a cluster, and has it once', async () => {
  const database = pgliteLeftOut ? await openTestDatabase() : await openEmbedded()
  const rows = await sql<{ name: string }>(
    database,
    `select relname as name from pg_class
     where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and not relispartition
     order by relname`,
  )
  const placed = [...spread, ...placement.copied, ...placement.coordinator].sort()
  assert.deepEqual(
    placed,
    rows.map(({ name }) => name),
  )
})

test('one server is told that it is no cluster, and is left as it is', async () => {
  const answer = await launchPinfold({ DATA_DIR: await makeFolder() }, 'cluster', 'prepare')
  assert.equal(answer.code, 3)
  assert.match(answer.stderr, /is not a cluster: the extension citus is missing/)
})

suite('on a cluster', { skip }, () => {
  let prepared: Database
  let preparedUrl: string
  /** Of all services on the prepared database: its master key is here. */
  let dataDir: string
  before(async () => {
    dataDir = await makeFolder()
    const opened = await openServerDatabase(citus)
    prepared = opened.database
    preparedUrl = opened.url
  })

  test('a schema with rows is spread with them, by two that do it at once, and then there is nothing to do', async (t) => {
    const { database, url } = await openUnspread()
    t.after(async () => closing.pop()?.())
    const before = await references(database)
    const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
    const cards = [await issueCard(service), await issueCard(service), await issueCard(service)]
    const counted = async () =>
      Promise.all(
        [...spread, ...placement.copied].map(async (table) => {
          const [row] = await sql<{ count: number }>(
            database,
            `select count(*)::integer as count from ${table}`,
          )
          return [table, row?.count] as const
        }),
      )
    const rows = await counted()
    const [env, findings] = await examined(url, service.dataDir)
    assert.match(
      findings.find(({ check }) => check === 'cluster')?.found ?? '',
      /^Not distributed over/,
    )
    const other = pool(url, 2)
    const [first, second] = await Promise.all([prepareCluster(database), prepareCluster(other)])
    await other.close()
    const done = [...first.spread, ...second.spread].map(({ tableName }) => tableName)
    assert.deepEqual(done.toSorted(), spread.toSorted())
    assert.deepEqual([...first.copied, ...second.copied].toSorted(), placement.copied.toSorted())
    assert.deepEqual(await counted(), rows)
    assert.deepEqual(await references(database), before)
    const again = await launchPinfold(env, 'cluster', 'prepare')
    assert.deepEqual(
      [again.code, again.stdout || again.stderr],
      [0, `No change was due: every table is in its place on ${first.nodes} nodes.\n`],
    )
    const [, healed] = await examined(url, service.dataDir)
    assert.equal(healed.find(({ check }) => check === 'cluster')?.verdict, 'good')
    // What was made before is served after.
    for (const card of cards) {
      assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '00')
    }
    const [left] = await sql<{ bytes: number }>(
      database,
      `select sum(pg_relation_size(relation::regclass))::integer as bytes from unnest($1::text[]) as relation`,
      [spread],
    )
    assert.equal(left?.bytes, 0, 'the coordinator has no rows of its own any more')
  })

  test('a migration changes spread tables, and a table that it adds is spread by the next preparation', async (t) => {
    const { database } = await openUnspread()
    t.after(async () => closing.pop()?.())
    await prepareCluster(database)
    const folder = await makeFolder()
    await cp(fileURLToPath(migrations), folder, { recursive: true })
    await writeFile(
      join(folder, '0999_later.sql'),
      `alter table card add column later text;
       alter table card add constraint card_later_check check (later <> '');
       create index card_later on card (later) where later is not null;
       alter table product add column later text`,
    )
    assert.deepEqual(await migrate(database, pathToFileURL(`${folder}/`)), ['0999_later.sql'])
    await sql(database, `update card set later = 'x' where public_token = '1000000000'`)
    assert.deepEqual((await prepareCluster(database)).spread, [])
    await sql(database, `select undistribute_table('client_assertion')`)
    assert.deepEqual(
      (await prepareCluster(database)).spread.map(({ tableName }) => tableName),
      ['client_assertion'],
    )
  })

  test('a table that lies otherwise is named, and nothing is changed', async (t) => {
    const { database } = await openUnspread()
    t.after(async () => closing.pop()?.())
    await sql(database, `select create_distributed_table('client_assertion', 'client_id')`)
    await assert.rejects(prepareCluster(database), /client_assertion is distributed by client_id/)
    const [row] = await sql(database, 'select count(*)::integer as count from pg_dist_partition')
    assert.deepEqual(row, { count: 1 })
  })

  test('reads that are asked for at once go to the node of each', async () => {
    const read = {
      isRead: true,
      one: { name: 'read_one', text: 'select $1::text as "key"' },
      several: { name: 'read_several', text: 'select 1 / 0' },
    }
    const rows = await Promise.all(['a', 'b', 'c'].map((key) => prepared.readRow(read, [key])))
    assert.deepEqual(rows, [{ key: 'a' }, { key: 'b' }, { key: 'c' }])
  })

  test('an authorization begins and is settled beside its card, by one remote command each', async (t) => {
    const service = await openTestService({ database: prepared, dataDir })
    const { publicToken } = await issueCard(service)
    const client = new pg.Client({ connectionString: preparedUrl })
    await client.connect()
    t.after(() => client.end())
    let commands = 0
    client.on('notice', ({ message = '' }) => {
      if (message.startsWith('issuing')) commands += 1
    })
    await client.query('set citus.log_remote_commands = on')
    const authorizationId = randomUUID()
    const begin = await composeCall(client, 'begin_authorization', {
      p_public_token: publicToken,
      p_kind: 'pin',
      p_current_month: '2026-11',
      p_authorization_id: authorizationId,
      p_network_id: 'network',
      p_request_id: 'request',
      p_reference: 'reference',
      p_entry_mode: 'chip',
      p_transaction_type: 'purchase',
    })
    commands = 0
    const begun = await client.query(begin)
    assert.equal(commands, 1)
    const { epoch, try_number: tryNumber } = begun.rows[0]
    const settle = await composeCall(client, 'settle_authorization', {
      p_public_token: publicToken,
      p_authorization_id: authorizationId,
      p_kind: 'pin',
      p_try_number: tryNumber,
      p_epoch: epoch,
      p_comparison: 'match',
      p_response_code: '00',
      p_checks: '[]',
      p_duration_ms: 1,
      p_network_id: 'network',
      p_request_id: 'request',
      p_reference: 'reference',
      p_entry_mode: 'chip',
      p_event_type: 'authorization.approved',
      p_details: '{}',
    })
    commands = 0
    const settled = await client.query(settle)
    assert.equal(commands, 1)
    assert.equal(settled.rows[0].remaining, 3)
  })

  test('whatever connection to a node ends, what was acknowledged is there, whole, and once', async () => {
    const service = await openTestService({
      database: prepared,
      dataDir,
      env: { RATE_LIMIT: 'off' },
    })
    const cards = await Promise.all(Array.from({ length: 8 }, () => issueCard(service)))
    let isOver = false
    let isAnswered = false
    const acknowledged: { publicToken: string; key: string }[] = []
    const change = async (card: (typeof cards)[number]) => {
      while (!isOver) {
        const key = randomUUID()
        const send = () =>
          service.call('POST', `/card-pin/${card.publicToken}/pin`, {
            body: { pin: card.pin },
            headers: { 'idempotency-key': key },
          })
        // As a client does: the same request under the same key until it is answered.
        for (let tries = 0; tries < 200; tries += 1) {
          if ((await send()).status === 204) {
            acknowledged.push({ publicToken: card.publicToken, key })
            break
          }
        }
      }
    }
    const changing = Promise.all(cards.map(change))
    let ended = 0
    for (let round = 0; round < 10; round += 1) {
      await wait(300)
      ended += await endConnectionsToNodes(preparedUrl)
    }
    isOver = true
    // What was prepared when a connection ended is committed or undone by the cluster, once in a
    // minute or when asked: until then it is not seen, and its rows are locked.
    const recovering = (async () => {
      while (!isAnswered) {
        await sql(prepared, 'select recover_prepared_transactions() as recovered')
        await wait(200)
      }
    })()
    await changing.finally(() => {
      isAnswered = true
    })
    await recovering
    await sql(prepared, 'select recover_prepared_transactions() as recovered')
    assert.ok(ended > 0, 'connections were ended')
    for (const { publicToken } of cards) {
      const events = await sql<{ sequence: number; type: string }>(
        prepared,
        'select sequence, type from event where public_token = $1 order by sequence',
        [publicToken],
      )
      assert.deepEqual(
        events.map(({ sequence }) => sequence),
        events.map((_, at) => at + 1),
      )
      const due = acknowledged.filter((each) => each.publicToken === publicToken).length
      assert.equal(events.filter(({ type }) => type === 'pin.set').length, due)
    }
  })

  test('the reference of the cluster lists statements of several shards, and those a cluster never gets', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      fileURLToPath(new URL('test/support/statement-shards.ts', root)),
      preparedUrl,
    ])
    const shards: Record<string, number | string> = JSON.parse(stdout)
    const names = (is: (shards: number | string) => boolean) =>
      Object.keys(shards)
        .filter((name) => is(shards[name] ?? 0))
        .sort()
    assert.deepEqual(
      await listDocumented('Sent to every shard'),
      names((count) => Number(count) > 1),
    )
    assert.deepEqual(
      await listDocumented('Never sent to a cluster'),
      names((count) => typeof count === 'string'),
    )
  })
})

/** Composes a call of a function with these arguments, and null for all others. */
async function composeCall(
  client: pg.Client,
  name: string,
  values: Readonly<Record<string, string | number>>,
): Promise<pg.QueryConfig> {
  const { rows } = await client.query<{ names: string[] }>(
    'select proargnames[1 : pronargs] as names from pg_proc where proname = $1',
    [name],
  )
  const given = Object.keys(values)
  const listed = (rows[0]?.names ?? []).map((argument) => {
    const at = given.indexOf(argument)
    return `${argument} => ${at < 0 ? 'null' : `$${at + 1}`}`
  })
  return { text: `select * from ${name}(${listed.join(', ')})`, values: Object.values(values) }
}

/** What the doctor says of a database, in the environment of its service. */
async function examined(url: string, dataDir: string) {
  const env = {
    DATA_DIR: dataDir,
    DATABASE_URL: url,
    SANDBOX: 'true',
    PORT: '1',
    PRIVATE_PORT: '2',
  }
  return [env, await examine(env)] as const
}
