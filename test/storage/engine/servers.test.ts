import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../../../src/domain/problem.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { migrate } from '../../../src/storage/engine/migrate.ts'
import { openPostgres } from '../../../src/storage/engine/postgres.ts'
import {
  findRememberedRequest,
  rememberAnswer,
} from '../../../src/storage/idempotency/idempotency.ts'
import { administer, openReplicated } from '../../support/replicated-postgres.ts'
import { sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const pair = await openReplicated()

/**
 * So soon that a test need not wait, and not so soon that a busy machine is taken for a dead one.
 */
const statementTimeoutMs = 4_000

const open = (connectionString: string, poolSize = 3): Database =>
  openPostgres({ connectionString, poolSize, statementTimeoutMs, onIdleError: () => undefined })

const primaryUrl = (database = 'acts'): string => {
  const url = new URL(pair.primary())
  url.pathname = `/${database}`
  return url.href
}

/** Another member of the address. */
const changed = (url: string, change: (parts: { hosts: string[]; query: string }) => void) => {
  const [, before = '', hosts = '', path = '', query = ''] =
    /^(.*@)([^/]*)(\/[^?]*)\?(.*)$/.exec(url) ?? []
  const parts = { hosts: hosts.split(','), query }
  change(parts)
  return `${before}${parts.hosts.join(',')}${path}?${parts.query}`
}

const unavailable = (detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.code, 'unavailable')
  assert.match(error.detail ?? '', detail)
  return true
}

const silent = /does not answer/
const unconfirmed = /did not confirm that the change is durable/

const insert = 'insert into act (name) values ($1)'

const names = async (database: Database): Promise<unknown[]> =>
  (await sql(database, 'select name from act order by name')).map(({ name }) => name)

/** Resolves when so many sessions wait for the standby; answers their process ids. */
const waitingForStandby = async (count: number): Promise<number[]> => {
  const text = `select pid from pg_stat_activity where wait_event = 'SyncRep'`
  for (;;) {
    const found = (await administer(pair.primary(), text)) as { pid: number }[]
    if (found.length >= count) return found.map(({ pid }) => pid)
    await sleep(20)
  }
}

/**
 * Resolves when the standby has it, too: elsewhere a commit waits until it is written there, not
 * until it is seen.
 */
const createDatabase = async (name: string): Promise<void> => {
  const primary = new URL(pair.primary())
  primary.searchParams.set('options', '-c synchronous_commit=remote_apply')
  await administer(primary.href, `create database ${name}`)
}

/** Asks until it is answered: what was broken is not for ever. */
const untilAnswered = async (database: Database): Promise<void> => {
  const isAnswered = () =>
    sql(database, 'select 1 as one').then(
      () => true,
      () => false,
    )
  await until(isAnswered)
}

suite('a primary with a standby that commits wait for', {
  skip: pair.leftOut,
  timeout: 600_000,
}, () => {
  let database: Database

  before(async () => {
    await createDatabase('acts')
    await administer(primaryUrl(), 'create table act (name text not null)')
    database = open(pair.composeUrl('acts'))
  })
  beforeEach(async () => {
    await administer(primaryUrl(), 'truncate act')
  })
  after(() => database.close())

  test('among several servers the writable one is used, at whatever place of the list', async () => {
    for (const sessions of ['read-write', 'primary']) {
      const url = changed(pair.composeUrl('acts'), (parts) => {
        parts.hosts.reverse()
        // Nobody listens there.
        parts.hosts.unshift('127.0.0.1:9')
        parts.query = `target_session_attrs=${sessions}`
      })
      const there = open(url)
      await sql(there, insert, [sessions])
      await there.close()
    }
    assert.deepEqual(await names(database), ['primary', 'read-write'])
  })

  test('without a writable server, the error names each server and its fault', async () => {
    const url = changed(pair.composeUrl('acts'), (parts) => {
      parts.hosts[0] = '127.0.0.1:9'
    })
    const none = open(url, 1)
    await assert.rejects(sql(none, 'select 1 as one'), (error) => {
      assert.ok(error instanceof Problem && error.cause instanceof Error)
      const standby = new URL(pair.standby()).host
      assert.match(error.cause.message, /^127\.0\.0\.1:9: connect ECONNREFUSED/)
      assert.ok(error.cause.message.endsWith(`${standby}: is a standby`), error.cause.message)
      return unavailable(silent)(error)
    })
    await none.close()
  })

  test('a commit that its standby does not confirm is given up, and not said to be done', async (t) => {
    pair.signalStandby('SIGSTOP')
    t.after(() => pair.signalStandby('SIGCONT'))
    await assert.rejects(sql(database, insert, ['waits']), unavailable(silent))
    const inTransaction = database.transaction((tx) => sql(tx, insert, ['waits, too']))
    await assert.rejects(inTransaction, unavailable(silent))
    assert.deepEqual(await names(database), [], 'what the standby lacks nobody sees')
    pair.signalStandby('SIGCONT')
    await sql(database, insert, ['goes on'])
    assert.ok((await names(database)).includes('goes on'))
  })

  test('a transaction may lift the statement time limit for itself alone', async () => {
    const one = open(pair.composeUrl('acts'), 1)
    const slow = 'select pg_sleep(6)'
    await one.transaction(async (tx) => {
      await tx.script('set local statement_timeout = 0')
      await sql(tx, slow)
    })
    await assert.rejects(sql(one, slow), unavailable(silent))
    await one.close()
  })

  for (const end of ['pg_cancel_backend', 'pg_terminate_backend']) {
    test(`a commit whose wait for the standby is ended by ${end} is not said to be done`, async (t) => {
      // Whoever turns warnings off must not make it silent.
      await administer(pair.primary(), 'alter role postgres set client_min_messages = error')
      pair.signalStandby('SIGSTOP')
      t.after(() => pair.signalStandby('SIGCONT'))
      const patient = openPostgres({
        connectionString: pair.composeUrl('acts'),
        poolSize: 2,
        statementTimeoutMs: 60_000,
        onIdleError: () => undefined,
      })
      const refused = end === 'pg_cancel_backend' ? unavailable(unconfirmed) : unavailable(silent)
      const commits = [
        assert.rejects(sql(patient, insert, ['alone']), refused),
        assert.rejects(
          patient.transaction((tx) => sql(tx, insert, ['in a transaction'])),
          refused,
        ),
      ]
      for (const pid of await waitingForStandby(2)) {
        await administer(pair.primary(), `select ${end}(${pid})`)
      }
      await Promise.all(commits)
      pair.signalStandby('SIGCONT')
      await administer(pair.primary(), 'alter role postgres reset client_min_messages')
      assert.deepEqual(await names(patient), ['alone', 'in a transaction'])
      await patient.close()
    })
  }

  test('an answer that was remembered is not given again while the standby may lack it', async (t) => {
    await createDatabase('kept')
    const kept = open(pair.composeUrl('kept'))
    t.after(() => kept.close())
    await migrate(kept, new URL('../../../database/migrations/', import.meta.url))
    const reference = { clientId: 'ana', keyHashes: [Buffer.from('key')] } as const
    const fingerprint = Buffer.from('request')
    const claim = { ...reference, claimId: randomUUID(), requestFingerprint: fingerprint }
    assert.ok(await rememberAnswer(kept, { ...claim, answer: Buffer.from('answer') }))
    pair.signalStandby('SIGSTOP')
    t.after(() => pair.signalStandby('SIGCONT'))
    const again = () => findRememberedRequest(kept, reference, [fingerprint])
    await assert.rejects(again(), unavailable(silent))
    pair.signalStandby('SIGCONT')
    assert.equal((await again())?.isSameRequest, true)
  })

  test('a server that takes no changes any more loses its connections, and is found again', async (t) => {
    const takeChanges = async () => {
      await administer(pair.primary(), 'alter system reset default_transaction_read_only')
      await administer(pair.primary(), 'select pg_reload_conf()')
    }
    t.after(takeChanges)
    await Promise.all([1, 2, 3].map(() => sql(database, 'select pg_sleep(0.05)')))
    assert.equal(database.load?.().idle, 3)
    await administer(pair.primary(), 'alter system set default_transaction_read_only = on')
    await administer(pair.primary(), 'select pg_reload_conf()')
    // Each session has to hear of it first.
    const setting = `select current_setting('default_transaction_read_only') as value, pg_sleep(0.2)`
    await until(async () => {
      const settings = await Promise.all([1, 2, 3].map(() => sql(database, setting)))
      return settings.every(([row]) => row?.value === 'on')
    })
    await assert.rejects(sql(database, insert, ['refused']), unavailable(silent))
    assert.equal(database.load?.().idle, 0, 'none of the old ones is kept')
    await takeChanges()
    await untilAnswered(database)
    await sql(database, insert, ['taken'])
    assert.deepEqual(await names(database), ['taken'])
  })

  test('calls to a server that hangs fail in time, and succeed again once it answers', async (t) => {
    await Promise.all([1, 2, 3].map(() => sql(database, 'select pg_sleep(0.05)')))
    pair.signalPrimary('SIGSTOP')
    t.after(() => pair.signalPrimary('SIGCONT'))
    const asked = Array.from({ length: 12 }, () => sql(database, 'select 1 as one'))
    const answers = await Promise.allSettled(asked)
    for (const answer of answers) {
      assert.ok(answer.status === 'rejected' && unavailable(silent)(answer.reason))
    }
    assert.equal(database.load?.().waiting, 0, 'nobody is left to wait')
    pair.signalPrimary('SIGCONT')
    await untilAnswered(database)
  })

  test('the wait for a connection shortens the wait for the answer, and no server is distrusted for that', async () => {
    const connectionString = primaryUrl()
    const onIdleError = (): void => undefined
    const options = { connectionString, poolSize: 1, statementTimeoutMs: 8_000, onIdleError }
    const one = openPostgres(options)
    const first = sql(one, 'select pg_sleep(4)')
    const second = sql(one, 'select pg_sleep(30)')
    await first
    await assert.rejects(second, (error) => {
      assert.ok(unavailable(silent)(error) && error instanceof Problem)
      // The server itself would have ended it later, and said so.
      assert.ok(error.cause instanceof Error && !('code' in error.cause), String(error.cause))
      return true
    })
    await sql(one, 'select 1 as one')
    await one.close()
  })

  test('a server without a connection to spare is a 503, and is asked again', async () => {
    await administer(pair.primary(), `create role guest login password 'guest' connection limit 1`)
    const url = new URL(primaryUrl())
    Object.assign(url, { username: 'guest', password: 'guest' })
    const guests = open(url.href, 2)
    await sql(guests, 'select 1 as one')
    const both = [1, 2].map(() => sql(guests, 'select pg_sleep(3)'))
    const results = await Promise.allSettled(both)
    const refused = results.filter((result) => result.status === 'rejected')
    assert.equal(refused.length, 1)
    assert.ok(unavailable(/lacks resources/)(refused[0]?.reason))
    assert.equal(refused[0]?.reason.cause.code, '53300')
    await sql(guests, 'select 1 as one')
    await guests.close()
  })

  test('a server that starts anew breaks what runs, and is back by itself', async () => {
    const running = assert.rejects(sql(database, 'select pg_sleep(60)'), unavailable(silent))
    // One session that is killed takes all others with it: the server trusts its memory no more.
    const killed = `copy (select 1) to program 'kill -9 $PPID'`
    await assert.rejects(administer(pair.primary(), killed))
    await running
    await untilAnswered(database)
    await pair.untilSynchronous()
    await sql(database, insert, ['after'])
    assert.deepEqual(await names(database), ['after'])
  })

  test('after a failover, calls go to the new primary, which has all that was acknowledged', async () => {
    await sql(database, insert, ['acknowledged'])
    pair.killPrimary()
    await pair.promote()
    await untilAnswered(database)
    await sql(database, insert, ['after'])
    assert.deepEqual(await names(database), ['acknowledged', 'after'])
  })
})
