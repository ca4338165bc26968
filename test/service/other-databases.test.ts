import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { examine } from '../../src/service/doctor/examine.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { pinfold } from '../cli/run-pinfold.ts'
import { ask, issueCard, pinTry } from '../support/network.ts'
import { openPgBouncer, pgBouncerLeftOut } from '../support/pgbouncer.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder } from '../support/process.ts'
import { openServerDatabase, openTestService, pool, sql } from '../support/service.ts'
import { administer, type TestPostgres } from '../support/test-databases.ts'

const migrations = new URL('../../database/migrations/', import.meta.url)

const packaged = await openPostgres()
const debian = await openPostgres({ debian: true })

const servers = [
  { name: 'the packaged PostgreSQL', postgres: packaged },
  { name: "Debian's PostgreSQL", postgres: debian },
]

/**
 * What a database administrator may have set for a database, each to what the driver or the
 * statements do not expect.
 */
const settings = {
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Asia/Kathmandu',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  client_encoding: 'LATIN1',
  default_transaction_isolation: 'serializable',
  lc_messages: 'C',
  default_transaction_deferrable: 'on',
  client_min_messages: 'debug5',
  row_security: 'off',
  plan_cache_mode: 'force_custom_plan',
  random_page_cost: '40',
  jit_above_cost: '0',
  array_nulls: 'off',
  transform_null_equals: 'on',
  backslash_quote: 'on',
  quote_all_identifiers: 'on',
  exit_on_error: 'on',
  statement_timeout: '30s',
  lock_timeout: '30s',
  idle_in_transaction_session_timeout: '30s',
  idle_session_timeout: '30s',
}

/** What a session of the service has in place of some of them, in PostgreSQL 18 or 15. */
const ownSettings = {
  idle_session_timeout: '0',
  transaction_timeout: '0',
  quote_all_identifiers: 'off',
  exit_on_error: 'off',
}

/**
 * Settings of a database with which there is no start, where doctor tells of them, and what both
 * name.
 */
const unsuitable = [
  {
    setting: 'session_replication_role',
    value: 'replica',
    check: 'database',
    said: /session_replication_role = replica.*reset session_replication_role/,
  },
  {
    setting: 'default_transaction_read_only',
    value: 'on',
    check: 'database',
    said: /default_transaction_read_only = off/,
  },
  {
    setting: 'search_path',
    value: 'nosuch',
    check: 'schema',
    said: /search_path.*names no existing schema.*reset search_path/,
  },
] as const

/** What an operator reads when a start is refused: one line, and no stack. */
const readRefusal = async (databaseUrl: string): Promise<string> => {
  const env = { DATA_DIR: await makeFolder(), DATABASE_URL: databaseUrl, SANDBOX: 'true' }
  const { code, stderr, stdout } = await pinfold(env, 'migrate')
  assert.equal(code, 3, `${stdout}${stderr}`)
  assert.equal(stderr.trim().split('\n').length, 1, stderr)
  assert.doesNotMatch(stderr, /\n\s+at /)
  return stderr
}

/** What doctor finds wrong with a database that would be refused. */
const readFaults = async (databaseUrl: string, named = 'database'): Promise<string> => {
  const findings = await examine({
    DATA_DIR: await makeFolder(),
    DATABASE_URL: databaseUrl,
    SANDBOX: 'true',
  })
  const faults = findings.filter(({ check, verdict }) => check === named && verdict === 'fault')
  return faults.map(({ found, remedy }) => `${found} ${remedy}`).join('\n')
}

const composeUrl = ({ url }: TestPostgres): string => {
  if (url === undefined) throw new Error('There is no server.')
  return url
}

/** A card is created, read and authorized, with a name that is not ASCII. */
const assertServes = async (databaseUrl: string): Promise<void> => {
  const database = pool(databaseUrl, 5)
  const service = await openTestService({ database })
  try {
    const card = await issueCard(service)
    const { json } = await ask(service, pinTry(service, card))
    assert.equal(json.approved, true, JSON.stringify(json))
    const page = await service.call('GET', `/cards/${card.publicToken}`)
    assert.equal(page.status, 200, JSON.stringify(page.json))
  } finally {
    await service.close()
    await database.close()
  }
}

for (const { name, postgres } of servers) {
  suite(`${name} as others have set it up`, { skip: postgres.leftOut }, () => {
    test('settings of the database for dates, strings, bytes, isolation and time-outs change nothing', async () => {
      const { url } = await openServerDatabase(postgres, 1)
      const name = new URL(url).pathname.slice(1)
      await administer(url, async (client) => {
        for (const [setting, value] of Object.entries(settings)) {
          await client.query(`alter database ${name} set ${setting} = '${value}'`)
        }
      })
      const database = pool(url, 1)
      const found = await sql(
        database,
        'select name, setting from pg_settings where name = any($1::text[])',
        [Object.keys(ownSettings)],
      )
      for (const { name: setting, setting: value } of found) {
        assert.equal(value, ownSettings[setting as keyof typeof ownSettings], String(setting))
      }
      await database.close()
      await assertServes(url)
    })

    test('a database that sorts and folds letters as in Turkish is served', async () => {
      const { close, name: database, url } = await postgres.createDatabase()
      const turkish = `${database}_tr`
      try {
        await administer(composeUrl(postgres), (client) =>
          client.query(
            `create database ${turkish} encoding 'UTF8' locale 'C' locale_provider icu icu_locale 'tr-TR' template template0`,
          ),
        )
        const turkishUrl = url.replace(database, turkish)
        const fresh = pool(turkishUrl, 1)
        await migrate(fresh, migrations)
        await fresh.close()
        await assertServes(turkishUrl)
      } finally {
        await administer(composeUrl(postgres), (client) =>
          client.query(`drop database if exists ${turkish} with (force)`),
        )
        await close()
      }
    })

    for (const { check, said, setting, value } of unsuitable) {
      test(`${setting} = ${value} is refused at the start and found by doctor`, async () => {
        const { close, name, url } = await postgres.createDatabase()
        await administer(url, (client) =>
          client.query(`alter database ${name} set ${setting} = ${value}`),
        )
        assert.match(await readRefusal(url), said)
        assert.match(await readFaults(url, check), said)
        await close()
      })
    }

    test('a database with too few connections is refused at the start and found by doctor', {
      timeout: 120_000,
    }, async () => {
      const { close, name: database, url } = await postgres.createDatabase()
      const user = `one_${database}`
      await administer(url, async (client) => {
        await client.query(`create role ${user} login password '${user}'`)
        await client.query(`alter database ${database} owner to ${user}`)
        await client.query(`alter database ${database} connection limit 1`)
      })
      try {
        const theirs = new URL(url)
        theirs.username = user
        theirs.password = user
        assert.match(await readRefusal(theirs.href), /too many connections for database/)
        assert.match(await readFaults(theirs.href), /too many connections for database/)
      } finally {
        await close()
        await administer(composeUrl(postgres), (client) => client.query(`drop role ${user}`))
      }
    })

    test('a database whose encoding is not UTF-8 is refused at the start and found by doctor', async () => {
      const { close, name: database, url } = await postgres.createDatabase()
      const latin = `${database}_latin1`
      try {
        await administer(composeUrl(postgres), (client) =>
          client.query(`create database ${latin} encoding 'LATIN1' locale 'C' template template0`),
        )
        const latinUrl = url.replace(database, latin)
        const said = /encoding LATIN1.*Create one with create database/
        assert.match(await readRefusal(latinUrl), said)
        assert.match(await readFaults(latinUrl), said)
      } finally {
        await administer(composeUrl(postgres), (client) =>
          client.query(`drop database if exists ${latin} with (force)`),
        )
        await close()
      }
    })
  })

  suite(`${name} behind PgBouncer`, { skip: postgres.leftOut || pgBouncerLeftOut }, () => {
    for (const mode of ['transaction', 'statement'] as const) {
      test(`${mode} mode is refused at the start and found by doctor`, async () => {
        const { close, name: database } = await postgres.createDatabase()
        const bouncer = await openPgBouncer(composeUrl(postgres), mode)
        const said = /connection pooler.*pool_mode = session/
        assert.match(await readRefusal(bouncer.composeUrl(database)), said)
        assert.match(await readFaults(bouncer.composeUrl(database)), said)
        await close()
      })
    }

    test('session mode serves', async () => {
      const { url } = await openServerDatabase(postgres, 1)
      const bouncer = await openPgBouncer(composeUrl(postgres), 'session')
      const through = bouncer.composeUrl(new URL(url).pathname.slice(1))
      assert.equal(await readFaults(through), '')
      await assertServes(through)
    })
  })
}
