/**
 * A role that owns the schema beside the role of the service (database/privileges.sql): the service
 * does all that it does, and cannot write what its functions guard.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import type pg from 'pg'
import { expireRecords, makeSlices } from '../../src/operations/events/expire.ts'
import { expireOneTimeRecords } from '../../src/service/background.ts'
import { examine } from '../../src/service/doctor/examine.ts'
import type { Database, Statement } from '../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../src/storage/engine/functions.ts'
import { protectedTables } from '../../src/storage/engine/privileges.ts'
import { pinfold } from '../cli/run-pinfold.ts'
import { answerPing, putInForce } from '../operations/decisions/endpoint-service.ts'
import { enterAll, signAll } from '../support/audit.ts'
import { openDecisionEndpoint } from '../support/decision-endpoint.ts'
import { listDeclaredStatements } from '../support/declared-statements.ts'
import { ask, cvvTry, issueCard, otherDigits, pinTry } from '../support/network.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, startRefused } from '../support/process.ts'
import { openTestService, pool, sql, strongPins, type TestService } from '../support/service.ts'
import { administer, type TestDatabase } from '../support/test-databases.ts'

const postgres = await openPostgres()

/** Statements of a migration, which the owner sends. */
const ofOwner: ReadonlySet<string> = new Set([
  'lock_migrations',
  'record_installed_function',
  'record_migration',
])

/**
 * What is missing to statements that only a cluster is sent: functions and tables of the engine.
 */
const ofClusters: ReadonlySet<string> = new Set(['42883', '42P01'])

/** Why a statement may not be executed: privileges are checked, and nothing is done. */
async function findRefusal(client: pg.Client, { name, text }: Statement): Promise<string | null> {
  const numbers = [...text.matchAll(/\$(\d+)/g)].map(([, digits]) => Number(digits))
  const nulls = Array(Math.max(0, ...numbers)).fill('null')
  try {
    await client.query(`prepare examined as ${text}`)
    await client.query(`explain execute examined${nulls.length > 0 ? `(${nulls})` : ''}`)
    return null
  } catch (error) {
    const { code = '', message } = error as pg.DatabaseError
    return ofClusters.has(code) ? null : `${name}: ${message}`
  } finally {
    await client.query('deallocate all')
  }
}

/** A role that may sign in to a database. @returns its address. */
const roleUrl = (url: string, role: string): string => {
  const address = new URL(url)
  address.username = role
  address.password = 'secret'
  return address.href
}

suite('a role that owns the schema, and one that serves', { skip: postgres.leftOut }, () => {
  const suffix = randomBytes(4).toString('hex')
  const [owner, serving] = [`owner_${suffix}`, `serving_${suffix}`]
  let made: TestDatabase
  let adminUrl = ''
  let ownerUrl = ''
  let servingUrl = ''
  let env: Record<string, string> = {}
  let database: Database
  let service: TestService

  before(async () => {
    made = await postgres.createDatabase()
    adminUrl = made.url
    ownerUrl = roleUrl(made.url, owner)
    servingUrl = roleUrl(made.url, serving)
    await administer(adminUrl, async (client) => {
      for (const role of [owner, serving]) {
        await client.query(`create role ${role} login password 'secret'`)
      }
      await client.query(`alter database ${made.name} owner to ${owner}`)
    })
    env = { DATA_DIR: await makeFolder(), DATABASE_URL: servingUrl, SANDBOX: 'true' }
  })

  after(async () => {
    await service.close()
    await database.close()
    await made.close()
    await administer(postgres.url ?? '', (client) => client.query(`drop role ${owner}, ${serving}`))
  })

  test('a start as the role that serves makes no schema, and says who does', async () => {
    const said = await startRefused({ dataDir: env.DATA_DIR ?? '', env })
    assert.match(said, /grant create on schema/)
  })

  test('the schema is made and brought up by the role that MIGRATION_DATABASE_URL names', async () => {
    const both = { ...env, MIGRATION_DATABASE_URL: ownerUrl }
    const migrated = await pinfold(both, 'migrate', '--json')
    assert.equal(migrated.code, 0, migrated.stderr)
    assert.ok(JSON.parse(migrated.stdout).applied.length > 0)
    assert.deepEqual(JSON.parse((await pinfold(both, 'migrate', '--json')).stdout).applied, [])
    // Without it the schema is left to its owner.
    const own = await pinfold(env, 'migrate', '--json')
    assert.deepEqual(JSON.parse(own.stdout), { applied: [] }, own.stderr)
    database = pool(servingUrl, 10)
    await makeSlices(database, 30)
    service = await openTestService({ database })
  })

  test('the whole journey of a card works', async () => {
    // Its data is revealed, its PIN set, shown and sealed on the way.
    const card = await issueCard(service)
    const path = `/card-pin/${card.publicToken}/pin`
    const answered = async (question: object) => (await ask(service, question)).json.responseCode
    const [pin = ''] = strongPins({ maskedPan: card.pan })
    const key = { headers: { 'idempotency-key': `two-roles-${suffix}` } }
    for (const _ of ['first', 'again']) {
      assert.equal((await service.call('POST', path, { body: { pin }, ...key })).status, 204)
    }
    assert.equal(await answered(pinTry(service, card, pin)), '00')
    for (let tries = 0; tries < 3; tries += 1) {
      assert.equal(await answered(pinTry(service, card, otherDigits(pin))), '55')
    }
    assert.equal(await answered(pinTry(service, card, pin)), '75')
    assert.equal((await service.call('GET', `${path}/status`)).json.status, 'Blocked')
    assert.equal((await service.call('POST', `${path}/unblock`)).status, 204)
    assert.equal(await answered(pinTry(service, card, pin)), '00')
    assert.equal(await answered(cvvTry(card)), '00')
    const body = { cardStatusCode: '62' }
    const status = await service.call('PUT', `/cards/${card.publicToken}/status`, { body })
    assert.ok(status.status < 300, status.text)
    const { status: refused } = await service.call('GET', '/card-pin/9999999999/pin')
    assert.equal(refused, 404)
    const webhook = { url: 'http://127.0.0.1:9/', events: ['*'] }
    const { json } = await service.call('POST', '/webhooks', { body: webhook })
    const ping = await service.call('POST', `/webhooks/${json.webhookId}/ping`)
    assert.ok(ping.status < 300, ping.text)
  })

  test('a decision endpoint is registered and activated, and its versions never change', async () => {
    const endpoint = await openDecisionEndpoint(answerPing)
    await putInForce(service, { url: endpoint.url })
    const path = '/decision-endpoint/rotate-secret'
    assert.equal((await service.call('POST', path)).status, 200)
    await expireOneTimeRecords(database, new Date())
    for (const text of [
      'update decision_endpoint set url = url',
      'delete from decision_endpoint',
      'delete from decision_endpoint_state',
      'update decision_signing_key set public_key = public_key',
    ]) {
      await assert.rejects(database.script(text), { code: '42501' }, text)
    }
    assert.equal((await service.call('DELETE', '/decision-endpoint')).status, 204)
  })

  test('what goes by itself works: events, slices, the audit log, what is old', async () => {
    await enterAll(database)
    await signAll(service.audit)
    await expireRecords(database, { eventDays: 30, attemptDays: 90, paymentDays: 400 })
    await expireOneTimeRecords(database, new Date())
    const slices = await sql(
      database,
      `select from pg_inherits where inhparent in ('event'::regclass, 'published_event'::regclass)`,
    )
    assert.ok(slices.length > 4)
    const events = await service.call('GET', '/events')
    assert.ok(events.json.length > 8, events.text)
  })

  test('every statement of the service may be executed', async () => {
    const statements = (await listDeclaredStatements()).filter(({ name }) => !ofOwner.has(name))
    assert.ok(statements.length > 300)
    const refusals: (string | null)[] = []
    await administer(servingUrl, async (client) => {
      await client.query('set plan_cache_mode = force_generic_plan')
      for (const statement of statements) refusals.push(await findRefusal(client, statement))
    })
    assert.deepEqual(
      refusals.filter((refusal) => refusal !== null),
      [],
    )
  })

  for (const table of protectedTables) {
    test(`the role that serves cannot write ${table}`, async () => {
      const [column] = await sql<{ name: string }>(
        database,
        `select attname::text as name from pg_attribute
         where attrelid = '${table}'::regclass and attnum > 0 and attgenerated = '' limit 1`,
      )
      for (const text of [
        `insert into ${table} default values`,
        `update ${table} set ${column?.name} = ${column?.name}`,
        `delete from ${table}`,
        `truncate ${table}`,
        `alter table ${table} add column more text`,
      ]) {
        await assert.rejects(database.script(text), { code: '42501' }, text)
      }
    })
  }

  test('the role that serves makes no table, and no function of the schema finds its temporary ones', async () => {
    await assert.rejects(database.script('create table another (a text)'), { code: '42501' })
    const rows = await sql<{ name: string; config: string[] | null; isDefiner: boolean }>(
      database,
      `select proname as name, proconfig as config, prosecdef as "isDefiner" from pg_proc
       join pg_namespace on pg_namespace.oid = pronamespace
       where nspname = current_schema() and has_function_privilege(pg_proc.oid, 'EXECUTE')
         and proname <> 'next_audit_act_number'`,
    )
    assert.ok(rows.length > 20)
    for (const { config, isDefiner, name } of rows) {
      assert.ok(isDefiner && config?.includes('search_path=public, pg_temp'), name)
    }
  })

  test('each function that a statement calls may be executed, and no other', async () => {
    const rows = await sql<{ name: string }>(
      database,
      `select proname as name from pg_proc
       where pronamespace = current_schema()::regnamespace
         and has_function_privilege(oid, 'EXECUTE') and proname <> 'next_audit_act_number'
       order by 1`,
    )
    const called = (await readFunctionFiles()).map(({ functionName }) => functionName)
    const statements = ['sql', 'ts']
      .flatMap((ending) => globSync(`src/storage/*/*.${ending}`))
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n')
    assert.deepEqual(
      rows.map(({ name }) => name),
      called.filter((name) => new RegExp(`\\b${name}\\(`).test(statements)).sort(),
    )
  })

  test('doctor says which of both holds', async () => {
    const find = async (changes: object) =>
      (await examine({ ...env, ...changes })).find(({ check }) => check === 'privileges')
    assert.match((await find({}))?.found ?? '', /by functions only; owner_/)
    await administer(ownerUrl, (client) => client.query(`grant update on audit_act to ${serving}`))
    const fault = await find({})
    assert.deepEqual(
      [fault?.verdict, /can write audit_act directly/.test(fault?.found ?? '')],
      ['fault', true],
    )
    await administer(ownerUrl, (client) =>
      client.query(`revoke update on audit_act from ${serving}`),
    )
    const one = await find({ DATABASE_URL: ownerUrl })
    assert.match(one?.found ?? '', /One role owns the tables and serves/)
  })

  test('a migration that cannot be meant is refused, with what to do', async () => {
    const refusal = async (changes: Record<string, string>) => {
      const { code, stderr } = await pinfold({ ...env, ...changes }, 'migrate')
      assert.equal(code, 3, stderr)
      return stderr
    }
    assert.match(await refusal({ MIGRATION_DATABASE_URL: servingUrl }), /name the same role/)
    const elsewhere = await postgres.createDatabase()
    assert.match(
      await refusal({ MIGRATION_DATABASE_URL: elsewhere.url }),
      /leads to another database/,
    )
    await elsewhere.close()
    assert.match(await refusal({ MIGRATION_DATABASE_URL: adminUrl }), /reassign owned by owner_/)
    await administer(ownerUrl, (client) =>
      client.query(`delete from installed_function where file_name = 'cards/lock-card.sql'`),
    )
    assert.match(await refusal({}), /belong to owner_.*: run pinfold migrate with MIGRATION/)
    const both = { ...env, MIGRATION_DATABASE_URL: ownerUrl }
    assert.equal((await pinfold(both, 'migrate')).code, 0)
  })
})
