import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { expireRecords, makeSlices } from '../../../src/operations/events/expire.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import {
  findDatabaseDay,
  listSlices,
  makeSlice,
  type SlicedTable,
} from '../../../src/storage/events/slices.ts'
import { enterPublished } from '../../support/audit.ts'
import { useTries } from '../../support/builders.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine, type Services } from '../authorizations/engines.ts'

const retention = { eventDays: 30, attemptDays: 90, paymentDays: 400 }
const daysAgo = (days: number) => `now() - interval '${days} days'`

/** A slice of four days that ended so many days ago. */
const makeOldSlice = async (database: Database, table: SlicedTable, endedDaysAgo: number) => {
  const untilDay = (await findDatabaseDay(database)) - endedDaysAgo
  const slice = { table, fromDay: untilDay - 4, untilDay }
  assert.ok(await makeSlice(database, slice))
  return slice
}

const hasSlice = async (database: Database, slice: Awaited<ReturnType<typeof makeOldSlice>>) =>
  (await listSlices(database, slice.table)).some(({ fromDay }) => fromDay === slice.fromDay)

const count = async (database: Database, from: string): Promise<number> =>
  (await sql<{ n: number }>(database, `select count(*)::integer as n from ${from}`))[0]?.n ?? 0

/** Acts on a card, each an event. */
const act = async (service: TestService, publicToken: string, times: number) => {
  for (let time = 0; time < times; time += 1) {
    const { status } = await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    assert.equal(status, 204)
  }
}

/**
 * Takes away what a test left of events, their slices and what was tried: the next one counts its
 * own.
 */
const forgetEvents = async (database: Database) => {
  const slices = await sql<{ name: string }>(
    database,
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent in ('event'::regclass, 'published_event'::regclass)
       and inhrelid not in ('event_default'::regclass, 'published_event_default'::regclass)`,
  )
  for (const { name } of slices) await database.script(`drop table ${name}`)
  const outboxAndFeeds = ['event', 'published_event', 'delivery', 'webhook']
  for (const table of [...outboxAndFeeds, 'authorization_request']) {
    await sql(database, `delete from ${table}`)
  }
}

onEachEngine(({ open }) => {
  let opened: Services
  before(async () => {
    opened = await open({ poolSize: 10 })
  })
  beforeEach(() => forgetEvents(opened.database))

  test('slices are made once, without a gap, before they are needed, whoever makes them', async () => {
    const { services, database } = opened
    await Promise.all(services.map((each) => makeSlices(each.database, 30)))
    await makeSlices(database, 30)
    const today = await findDatabaseDay(database)
    for (const table of ['event', 'published_event'] as const) {
      const slices = await listSlices(database, table)
      assert.equal(slices[0]?.fromDay, today)
      assert.ok((slices.at(-1)?.untilDay ?? 0) > today + 7)
      for (const [at, { fromDay }] of slices.entries()) {
        if (at > 0) assert.equal(fromDay, slices[at - 1]?.untilDay)
      }
    }
    // Kept for another time, what follows is as long as that asks for.
    await makeSlices(database, 300)
    const last = (await listSlices(database, 'event')).at(-1)
    assert.equal((last?.untilDay ?? 0) - (last?.fromDay ?? 0), 50)
    await services[0].createCard()
    assert.equal(await count(database, 'event_default'), 0)
    // By the clock, so that those of one time lie together: version 7 (RFC 9562).
    const [event] = await sql<{ id: string; at: number }>(
      database,
      'select event_id as id, extract(epoch from occurred_at)::float8 as at from event',
    )
    assert.match(event?.id ?? '', /^.{14}7.{4}[89ab]/)
    const madeAt = Number.parseInt(event?.id.replace('-', '').slice(0, 12) ?? '', 16) / 1_000
    assert.ok(Math.abs(madeAt - (event?.at ?? 0)) < 5, `${madeAt}`)
    await publishBatch(database)
    assert.equal(await count(database, 'published_event_default'), 0)
  })

  test('where events of a time are kept without a slice, the next slice is made all the same', async () => {
    const { service } = opened
    const { database } = service
    await service.createCard()
    await makeSlices(database, 30)
    const today = await findDatabaseDay(database)
    const [first] = await listSlices(database, 'event')
    assert.equal(first?.fromDay, today + 5)
    assert.equal((await listSlices(database, 'published_event'))[0]?.fromDay, today)
  })

  test('a slice of the outbox goes once it is over, and not while an event of it is unpublished', async () => {
    const { service } = opened
    const { database } = service
    const over = await makeOldSlice(database, 'event', 30)
    const living = await makeOldSlice(database, 'event', 26)
    const { publicToken } = await service.createCard()
    await act(service, publicToken, 2)
    await sql(
      database,
      `update event set occurred_at = ${daysAgo(32)} where public_token = $1 and sequence <= 2`,
      [publicToken],
    )
    await sql(
      database,
      `update event set occurred_at = ${daysAgo(29)} where public_token = $1 and sequence = 3`,
      [publicToken],
    )
    await expireRecords(database, retention)
    assert.equal(await hasSlice(database, over), true)
    assert.equal(await count(database, 'event'), 3)
    while ((await publishBatch(database)) > 0);
    await expireRecords(database, retention)
    assert.equal(await hasSlice(database, over), false)
    assert.equal(await hasSlice(database, living), true)
    const left = await sql(database, 'select sequence from event')
    assert.deepEqual(left, [{ sequence: 3 }])
  })

  test('a slice of the feeds stays while one of its events is needed', async () => {
    const { service } = opened
    const { database } = service
    const over = await makeOldSlice(database, 'published_event', 30)
    const { publicToken } = await service.createCard()
    await act(service, publicToken, 1)
    await publishBatch(database)
    await enterPublished(database)
    await act(service, publicToken, 1)
    await sql(database, `update event set occurred_at = ${daysAgo(32)}`)
    await sql(database, `update published_event set occurred_at = ${daysAgo(32)}`)
    const kept = async (what: string, remaining: number) => {
      await expireRecords(database, retention)
      assert.equal(await hasSlice(database, over), true, what)
      assert.equal(await count(database, 'published_event'), remaining, what)
    }
    await kept('one published lately, one not yet', 2)
    await sql(database, `update published_event set published_at = ${daysAgo(31)}`)
    // By itself what is old goes nevertheless.
    await kept('one that is unpublished', 0)
    await publishBatch(database)
    await kept('one that was published late', 1)
    await sql(database, `update published_event set published_at = ${daysAgo(31)}`)
    await kept('one that is not entered in the audit log', 1)
    await enterPublished(database)
    const body = { url: 'http://127.0.0.1:9/', events: ['*'] }
    const { json: webhook } = await service.call('POST', '/webhooks', { body })
    await sql(
      database,
      `insert into delivery (client_id, webhook_id, position, event_id, type, group_key)
       select client_id, $1, position, event_id, type, public_token from published_event`,
      [webhook.webhookId],
    )
    await kept('one that is to be delivered', 1)
    await sql(database, `update delivery set status = 'Delivered', created_at = ${daysAgo(31)}`)
    await expireRecords(database, retention)
    assert.equal(await hasSlice(database, over), false)
    assert.equal(await count(database, 'published_event'), 0)
  })

  test('of two that publish while slices come and go, none publishes an event twice or skips one', async () => {
    const { services, database } = opened
    const [first, second] = services
    await makeOldSlice(database, 'event', 31)
    await makeOldSlice(database, 'published_event', 31)
    const cards = await Promise.all(Array.from({ length: 6 }, () => first.createCard()))
    let isDone = false
    const publishing = [first, second, first].map(async ({ database: own }) => {
      // One that had to wait too long is no failure: it comes again.
      do await publishBatch(own, 7).catch(() => undefined)
      while (!isDone)
    })
    const changing = (async () => {
      for (let length = 1; !isDone; length = (length % 90) + 1) {
        await expireRecords(second.database, {
          eventDays: 30 + length,
          attemptDays: 90,
          paymentDays: 400,
        })
      }
    })()
    await Promise.all(cards.map(({ publicToken }) => act(second, publicToken, 8)))
    isDone = true
    await Promise.all([...publishing, changing])
    while ((await publishBatch(database)) > 0);
    const feed = await sql<{ position: string; token: string; sequence: number }>(
      database,
      `select position, public_token as token, sequence from published_event order by position`,
    )
    for (const { publicToken } of cards) {
      const sequences = feed.filter(({ token }) => token === publicToken)
      assert.deepEqual(
        sequences.map(({ sequence }) => sequence),
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
      )
    }
    assert.equal(new Set(feed.map(({ position }) => position)).size, feed.length)
    assert.equal(await count(database, 'event where not published'), 0)
  })

  test('who publishes again what is published already, as of a list from before, publishes nothing', async () => {
    const { services, database } = opened
    const [service] = services
    await makeSlices(database, 30)
    const { publicToken } = await service.createCard()
    await act(service, publicToken, 3)
    await publishBatch(database)
    await sql(database, 'update event set published = false')
    await Promise.all(services.map((each) => publishBatch(each.database)))
    assert.equal(await count(database, 'published_event'), 4)
    assert.equal(await count(database, 'event where not published'), 0)
  })

  test('attempts are forgotten by their age, and what is left of the tries does not change', async () => {
    const { service } = opened
    const { database } = service
    const { publicToken } = await service.createCard()
    await sql(
      database,
      `insert into authorization_request (public_token, authorization_id, client_id, network_id, request_id, reference,
         entry_mode, requested_at, kind, try_number, epoch, result, remaining_tries)
       select $1, gen_random_uuid(), 'demo-client', 'network', 'r', 'R-1', 'chip', now() - make_interval(days => 80 + n),
         'pin', n, 1, 'unresolved', 2
       from generate_series(1, 21) as n`,
      [publicToken],
    )
    await useTries(database, publicToken, 'pin', 1)
    const status = async () =>
      (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json.remainingTries
    assert.equal(await status(), 1)
    const leftAfter = async (): Promise<number[]> => {
      await expireRecords(database, retention)
      const text = 'select try_number as n from attempt order by try_number'
      return (await sql<{ n: number }>(database, text)).map(({ n }) => n)
    }
    const young = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    await sql(database, "update audit_entered set position = 0 where source = 'tries'")
    assert.equal((await leftAfter()).length, 21, 'The audit log has not read them yet.')
    await enterPublished(database)
    assert.deepEqual(await leftAfter(), young)
    assert.equal(await status(), 1)
    const listed = await service.call('GET', `/cards/${publicToken}/attempts`)
    assert.equal(listed.json.length, 10)
  })
})
