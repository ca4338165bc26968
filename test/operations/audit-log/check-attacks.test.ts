/**
 * Whoever writes the database by SQL, without the HSM, cannot switch off what holds rows against
 * their entries.
 */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { checkDue } from '../../../src/operations/audit-log/check.ts'
import { auditCheckFindings } from '../../../src/service/doctor/audit-check.ts'
import { enterAll } from '../../support/audit.ts'
import { readRowDigest } from '../../support/digested-columns.ts'
import { databaseEngines } from '../../support/engines.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

/** A check that is due by its own terms. @returns what it found, each once. */
const check = async (service: TestService, everySeconds = 0): Promise<readonly string[]> => {
  const { audit, database } = service
  const newest = `select coalesce(max(number), 0)::float8 as "number" from audit_act`
  const [{ number } = { number: 0 }] = await sql<{ number: number }>(database, newest)
  await enterAll(database)
  await checkDue(audit, { everySeconds, restMs: 0, settleSeconds: 0 })
  await enterAll(database)
  const rows = await sql<{ found: string; details: string }>(
    database,
    `select subject as "found", details from audit_act
     where act = 'check.found' and number > $1::bigint order by number`,
    [number],
  )
  return [...new Set(rows.map(({ details, found }) => found + (JSON.parse(details).of ?? '')))]
}

const clientDigest = readRowDigest('client')
const makeAdministrator = `update client set scopes = scopes || '{admin}' where client_id = 'demo-other-client'`
/** Computed by a statement of its own: a cluster has the digests elsewhere than the clients. */
const digestAgain = async ({ database }: TestService): Promise<void> => {
  const [{ digest } = { digest: '' }] = await sql<{ digest: string }>(
    database,
    `select encode(${clientDigest}, 'hex') as "digest" from client
     where client_id = 'demo-other-client'`,
  )
  await sql(
    database,
    `update row_digest set digest = decode($1, 'hex')
     where kind = 'client' and row_key = 'demo-other-client'`,
    [digest],
  )
}
const wholeState = `select to_jsonb(audit_check)::text as "state" from audit_check`

/** What is done by SQL, and what a check must find of it. */
const attacks: readonly {
  readonly title: string
  readonly sql: readonly (string | ((service: TestService) => Promise<void>))[]
  readonly found: readonly string[]
}[] = [
  {
    title: 'a client is made an administrator, and its digest computed anew',
    sql: [makeAdministrator, digestAgain],
    found: ['digests changedrows'],
  },
  {
    title: 'a client is made an administrator, and the digests are deleted with the baseline',
    sql: [
      makeAdministrator,
      'update audit_check set has_baseline = false',
      'delete from row_digest',
      'delete from card_digest',
    ],
    found: ['check state changed', 'digests changedcards', 'digests changedrows'],
  },
  {
    title: 'the check is said to have begun in a hundred years',
    sql: [
      makeAdministrator,
      `update audit_check set started_at = '2126-01-01', finished_at = '2126-01-01'`,
    ],
    found: ['check state changed', 'row changed'],
  },
  {
    title: 'the check is said to be unfinished and at its end',
    sql: [
      makeAdministrator,
      `update audit_check set started_at = now(), finished_at = null, after_token = '9999999999',
         kept_fold = digested_fold, new_fold = digested_fold`,
    ],
    found: ['check state changed', 'row changed'],
  },
  {
    title: 'every act since the beginning is to account for a change',
    sql: [makeAdministrator, 'update audit_check set acts_number = 0'],
    found: ['check state changed', 'row changed'],
  },
  {
    title: 'the row of the check is as it was before the first one, and unsigned',
    sql: [
      makeAdministrator,
      'delete from audit_check',
      'insert into audit_check default values',
      'delete from row_digest',
      'delete from card_digest',
    ],
    found: ['check state changed', 'digests changedcards', 'digests changedrows'],
  },
  {
    title: 'the next entries are said to be followed already',
    sql: [`update audit_check set followed_index = followed_index + 1000000`],
    found: ['check state changed'],
  },
  {
    title: 'another result of the last check is put in, with the digests of what was changed',
    sql: [
      makeAdministrator,
      digestAgain,
      `insert into audit_act (act, subject_kind, subject, details)
       select act, subject_kind, subject, details from audit_act
       where act = 'check.digested' order by number desc limit 1`,
    ],
    found: ['check state changed', 'digests changedrows'],
  },
  {
    title: 'the entry of the last result is written anew',
    sql: [
      `update audit_entry set text = replace(text, '"cards":', '"cards": ')
       where entry_id = (select digested_act from audit_check)`,
    ],
    found: ['digests changedentry'],
  },
  {
    title: 'the entry of the last result is no JSON any more',
    sql: [
      `update audit_entry set text = 'x' where entry_id = (select digested_act from audit_check)`,
    ],
    found: ['digests changedentry'],
  },
]

for (const { name, open, skip } of databaseEngines) {
  suite(`a check finds, on ${name}, that`, { skip }, () => {
    let service: TestService
    before(async () => {
      service = await openTestService({ database: await open(), env: { RATE_LIMIT: 'off' } })
      await service.createCard()
      assert.deepEqual(await check(service), [], 'the first one takes what is there')
    })

    for (const { found, sql: texts, title } of attacks) {
      test(title, async () => {
        await service.createCard()
        assert.deepEqual(await check(service), [])
        // Nothing was done to the client since: no act accounts for what is changed by hand.
        for (const text of texts) {
          if (typeof text === 'string') await sql(service.database, text)
          else await text(service)
        }
        const all = await check(service)
        assert.deepEqual(
          found.filter((each) => !all.includes(each)),
          [],
          all.join(),
        )
        await sql(
          service.database,
          `update client set scopes = array_remove(scopes, 'admin') where client_id = 'demo-other-client'`,
        )
        await check(service)
        assert.deepEqual(await check(service), [], 'once')
      })
    }

    test('an older state is put back, with the digests of its time', async () => {
      const { database } = service
      const [{ state } = { state: '{}' }] = await sql<{ state: string }>(database, wholeState)
      await service.createCard()
      assert.deepEqual(await check(service), [])
      await sql(database, 'delete from audit_check')
      await sql(
        database,
        `insert into audit_check
         select * from jsonb_populate_record(null::audit_check, $1::text::jsonb)`,
        [state],
      )
      assert.ok((await check(service)).includes('check state changed'))
    })

    test('no check is due later because of what the database says of the last one', async () => {
      const { database } = service
      const results = async (): Promise<number> =>
        (await sql(database, `select 1 from audit_act where act = 'check.digested'`)).length
      await check(service)
      const count = await results()
      await check(service, 86_400)
      assert.equal(await results(), count, 'it is not due')
      await sql(database, `update audit_check set started_at = '2126-01-01'`)
      await check(service, 86_400)
      assert.equal(await results(), count + 1)
    })

    test('the last check is long ago, whatever the database says of its state', async () => {
      await sql(service.database, `update audit_check set finished_at = '2126-01-01'`)
      await sql(service.database, `delete from audit_act where act = 'check.found'`)
      const later = new Date(Date.now() + 4 * 86_400_000)
      const [finding] = await auditCheckFindings(service.database, later)
      assert.equal(finding?.verdict, 'warning')
    })
  })
}
