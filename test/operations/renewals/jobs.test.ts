import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { deleteOldRenewals, doRenewals } from '../../../src/operations/renewals/jobs.ts'
import { listJobsToDo, listNextCards } from '../../../src/storage/renewals/jobs.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'

/** 100,000 in the long run; some in each. */
const cardCount = Number(process.env.TEST_RENEWED_CARDS ?? 1_500)
const today = '2031-03-15T10:00:00Z'
const postgres = await openPostgres()

suite('renewals of many cards', { skip: postgres.leftOut }, () => {
  let service: TestService
  let url: string
  before(async () => {
    const opened = await openServerDatabase(postgres)
    url = opened.url
    const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: today }
    service = await openTestService({ database: opened.database, env })
    await makeCards()
  })

  /** Copies of one card: some expire soon, some too late, some are closed, some wait already. */
  async function makeCards(): Promise<void> {
    const { publicToken } = await service.createCard({ cardType: 'Physical', activateNow: true })
    await sql(
      service.database,
      `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
         personal_data, start_date, expiry_date, waiting_expiry_date, line_token, status_code,
         pin_block, pvv, pin_key, cvk, last_sequence)
       select token, client_id, product_id, card_type, masked_pan, encrypted_pan, personal_data,
         '2027-04-01',
         case when n % 10 = 1 then date '2031-08-31' else date '2031-04-30' end,
         case when n % 10 = 3 then date '2031-04-30' end,
         token, case when n % 10 = 2 then '83' else '00' end, pin_block, pvv, pin_key, cvk, 1
       from card
       cross join (
         select n, (1000000000 + n)::text as token from generate_series(1, $2::integer) as n
       ) as copies
       where public_token = $1`,
      [publicToken, cardCount],
    )
    await sql(
      service.database,
      `insert into try_counter (public_token, kind, try_limit)
       select card.public_token, counter.kind, counter.try_limit
       from card
       cross join (
         -- Citus reads the counters first, because of the offset.
         select kind, try_limit from try_counter where public_token = $1 offset 0
       ) as counter
       where card.public_token <> $1`,
      [publicToken],
    )
    await sql(
      service.database,
      `insert into plastic (public_token, plastic_number, card_type, reason, state, start_date,
         expiry_date, delivery_status)
       select public_token, 0, card_type, 'Issue', 'Current', start_date, expiry_date, 'Delivered'
       from card where public_token <> $1
       union all
       select public_token, 1, card_type, 'Reprint', 'Waiting', start_date, expiry_date, 'Ordered'
       from card where waiting_expiry_date is not null`,
      [publicToken],
    )
  }

  const request = async (body: object) => {
    const answer = await service.call('POST', '/renewals', {
      body: { productId: 1001, expiringBefore: '2031-09-01', ...body },
    })
    assert.equal(answer.status, 202, answer.text)
    return answer.json.jobId as string
  }
  const read = async (jobId: string) => (await service.call('GET', `/renewals/${jobId}`)).json
  const tenth = cardCount / 10

  test('a dry run counts what the job then orders, and a job that is killed five times orders each once', async () => {
    const dry = await request({ dryRun: true })
    await doRenewals(service.issuing)
    const foreseen = await read(dry)
    assert.equal(foreseen.status, 'Done')
    assert.equal(foreseen.due, 9 * tenth)
    assert.equal(foreseen.ordered, 7 * tenth)
    assert.deepEqual(foreseen.refused, { renewal_in_progress: tenth, renewal_not_due: tenth })

    const jobId = await request({})
    let kills = 0
    while ((await read(jobId)).status !== 'Done') {
      const path = fileURLToPath(new URL('renewing-process.ts', import.meta.url))
      const child = spawn(process.execPath, [path, url, today], { stdio: 'inherit' })
      const exit = once(child, 'exit')
      if (kills < 5) {
        // Killed once it has done some more of the work.
        const done = (await read(jobId)).ordered
        while ((await read(jobId)).ordered <= done && child.exitCode === null) await pause(10)
        child.kill('SIGKILL')
        kills += 1
      }
      const [code, signal] = await exit
      assert.ok(code === 0 || signal === 'SIGKILL', `exit ${code}`)
    }
    assert.equal(kills, 5)
    const { due, ordered, refused } = await read(jobId)
    assert.deepEqual(
      { due, ordered, refused },
      { due: foreseen.due, ordered: foreseen.ordered, refused: foreseen.refused },
    )
    const [made] = await sql<{ plastics: number; cards: number }>(
      service.database,
      `select count(*)::integer as plastics, count(distinct public_token)::integer as cards
       from plastic where reason = 'Renewal'`,
    )
    assert.deepEqual(made, { plastics: ordered, cards: ordered })
    const [recorded] = await sql<{ events: number }>(
      service.database,
      "select count(*)::integer as events from event where type = 'card.renewal_ordered'",
    )
    assert.deepEqual(recorded, { events: ordered })
  })

  test('a job that is repeated orders nothing more: its cards reach further now', async () => {
    const jobId = await request({})
    await doRenewals(service.issuing)
    const { due, ordered, refused } = await read(jobId)
    assert.equal(due, 2 * tenth)
    assert.equal(ordered, 0)
    assert.deepEqual(refused, { renewal_in_progress: tenth, renewal_not_due: tenth })
  })

  test('a job renews the cards of its product and its client, and no other client reads it', async () => {
    const jobId = await request({ productId: 1002 })
    await doRenewals(service.issuing)
    assert.equal((await read(jobId)).due, 0)
    const other = await service.call('GET', `/renewals/${jobId}`, { as: 'otherClient' })
    assert.equal(other.status, 404)
    const own = { productId: 2001, expiringBefore: '2031-09-01' }
    const asked = await service.call('POST', '/renewals', { as: 'otherClient', body: own })
    await doRenewals(service.issuing)
    const path = `/renewals/${asked.json.jobId}`
    assert.equal((await service.call('GET', path, { as: 'otherClient' })).json.due, 0)
  })

  test('a request that is sent twice under one key is one job', async () => {
    const body = { productId: 1001, expiringBefore: '2031-09-01', dryRun: true }
    const given = { body, headers: { 'idempotency-key': 'renewals-1' } }
    const first = await service.call('POST', '/renewals', given)
    const again = await service.call('POST', '/renewals', given)
    assert.equal(again.json.jobId, first.json.jobId)
  })

  test('a product that is not granted to the client is refused, and makes no job', async () => {
    const body = { productId: 99_999, expiringBefore: '2031-09-01' }
    const { json, status } = await service.call('POST', '/renewals', { body })
    assert.deepEqual([status, json.code], [422, 'product_not_available'])
    assert.equal(json.errors[0].pointer, '/productId')
  })

  test('a card that fails is refused, and delays neither its job nor another', async () => {
    await sql(
      service.database,
      "update renewal_job set state = 'Done', finished_at = now() where state <> 'Done'",
    )
    const [broken, sound] = await Promise.all(
      [1, 2].map(() => service.createCard({ cardType: 'Virtual', expiryDate: '2031-03' })),
    )
    // A constraint, since the distributed tables of a cluster have no triggers.
    await sql(
      service.database,
      `alter table plastic add constraint planted check (
         public_token <> '${broken?.publicToken}' or reason <> 'Renewal'
       )`,
    )
    const jobId = await request({ expiringBefore: '2031-04-01' })
    const other = await request({ productId: 1002 })
    await assert.rejects(doRenewals(service.issuing), /planted/)
    await doRenewals(service.issuing)
    const { ordered, refused, requestedAt, status } = await read(jobId)
    assert.deepEqual([status, ordered, refused], ['Done', 1, { internal_error: 1 }])
    assert.equal(requestedAt.slice(0, 10), '2031-03-15')
    assert.equal((await read(other)).status, 'Done')
    await sql(service.database, 'alter table plastic drop constraint planted')
    const renewed = await service.call('GET', `/cards/${sound?.publicToken}`)
    assert.equal(renewed.json.expiryDate, '2035-03-31')
  })

  test('a client can have ten jobs that are not done, also if it requests them at once', async () => {
    await doRenewals(service.issuing)
    const answers = await Promise.all(
      Array.from({ length: 14 }, () =>
        service.call('POST', '/renewals', {
          body: { productId: 1001, expiringBefore: '2031-09-01', dryRun: true },
        }),
      ),
    )
    assert.equal(answers.filter(({ status }) => status === 202).length, 10)
    const refused = answers.filter(({ status }) => status !== 202)
    for (const { headers, json, status } of refused) {
      assert.deepEqual([status, json.code, headers['retry-after']], [429, 'rate_limited', '30'])
      assert.match(json.detail, /10 jobs of your client are not done/)
    }
    await doRenewals(service.issuing)
    await request({ dryRun: true })
    await doRenewals(service.issuing)
  })

  test('the jobs of one client do not delay the job of another', async () => {
    await doRenewals(service.issuing)
    for (let count = 0; count < 10; count += 1) {
      await request({ dryRun: true, expiringBefore: '2099-01-01' })
    }
    await sql(
      service.database,
      `insert into renewal_job (job_id, client_id, product_id, expiring_before, is_dry_run,
         request_id, requested_at)
       values (gen_random_uuid(), 'another-client', 1001, '2031-09-01', true, 'r',
         now() + interval '100 years')`,
    )
    const undone = async () =>
      (
        await sql<{ client: string }>(
          service.database,
          "select client_id as client from renewal_job where state <> 'Done'",
        )
      ).map(({ client }) => client)
    const stop = new AbortController()
    const doing = doRenewals(service.issuing, stop.signal)
    while ((await undone()).includes('another-client')) await pause(2)
    stop.abort()
    const left = await undone()
    await doing
    assert.equal(
      left.length,
      10,
      'The job of another client has its turns before the ten are done.',
    )
    await doRenewals(service.issuing)
  })

  test('a job is deleted with its cards 30 days after it finished', async () => {
    const jobId = await request({ dryRun: true })
    await doRenewals(service.issuing)
    const after = (days: number) => () => new Date(Date.parse(today) + days * 86_400_000)
    await deleteOldRenewals({ ...service.issuing, now: after(29) })
    assert.equal((await read(jobId)).status, 'Done')
    await deleteOldRenewals({ ...service.issuing, now: after(31) })
    assert.equal((await service.call('GET', `/renewals/${jobId}`)).status, 404)
    const rows = await sql(service.database, 'select from renewal_job_card where job_id = $1', [
      jobId,
    ])
    assert.equal(rows.length, 0)
  })

  /** Does one step of the list of the oldest job, from where it is or where it was. */
  const listStep = async (from: Awaited<ReturnType<typeof findListing>> = null) => {
    const job = from ?? (await findListing())
    if (job) {
      await service.database.transaction((connection) =>
        listNextCards(connection, job, '2031-03-15'),
      )
    }
    return job
  }
  const findListing = async () => {
    const [job] = await listJobsToDo(service.database, 1)
    return job?.state === 'Listing' ? job : null
  }
  const countDue = async () => {
    const jobId = await request({ dryRun: true, expiringBefore: '2099-01-01' })
    await doRenewals(service.issuing)
    return (await read(jobId)).due
  }

  test('a job finds every card, although their statuses change while it lists them', async () => {
    const due = await countDue()
    const jobId = await request({ dryRun: true, expiringBefore: '2099-01-01' })
    while (await listStep()) {
      await sql(
        service.database,
        `update card set status_code = case status_code when '00' then '62' else '00' end
         where status_code in ('00', '62')`,
      )
    }
    await doRenewals(service.issuing)
    assert.equal((await read(jobId)).due, due)
  })

  test('a process that was late with the cards of a job does not move the job back', async () => {
    const due = await countDue()
    const jobId = await request({ dryRun: true, expiringBefore: '2099-01-01' })
    const late = await listStep()
    await listStep()
    const before = await findListing()
    await listStep(late)
    assert.deepEqual(await findListing(), before)
    await doRenewals(service.issuing)
    assert.equal((await read(jobId)).due, due)
  })

  test('a job does not find a card that has expired and was not swept', async () => {
    const due = await countDue()
    const [first] = await sql<{ token: string }>(
      service.database,
      `select min(public_token) as token from card
       where status_code = '00' and waiting_expiry_date is null`,
    )
    await sql(
      service.database,
      "update card set expiry_date = '2031-02-28' where public_token = $1",
      [first?.token ?? null],
    )
    assert.equal(await countDue(), due - 1)
  })

  test('two jobs that find a card renew it once', async () => {
    await sql(
      service.database,
      `update product set validity_months = 6, renewal_earliest_days = 366
       where product_id = 1001`,
    )
    const { publicToken } = await service.createCard({
      cardType: 'Virtual',
      expiryDate: '2031-04',
    })
    const jobs = [await request({}), await request({})]
    await doRenewals(service.issuing)
    for (const jobId of jobs) assert.equal((await read(jobId)).status, 'Done')
    const { json } = await service.call('GET', `/cards/${publicToken}`)
    assert.equal(json.expiryDate, '2031-10-31')
  })
})
