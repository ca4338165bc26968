import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { expireRecords } from '../../../src/operations/events/expire.ts'
import { createEventStreams } from '../../../src/operations/events/streams.ts'
import { startDelivery } from '../../../src/operations/webhooks/delivery.ts'
import { suspensionFindings } from '../../../src/service/doctor/installation.ts'
import { listSuspendedDeliveries } from '../../../src/storage/clients/suspensions.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { examineDatabase } from '../../../src/storage/engine/installation.ts'
import { enterAll } from '../../support/audit.ts'
import { newCard, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { onEachEngine, type Services } from '../authorizations/engines.ts'
import { administerOf } from '../clients/administer.ts'
import { openReceiver, type Receiver } from './receiver.ts'

const clientId = 'demo-client'
const migrations = fileURLToPath(new URL('../../../database/migrations', import.meta.url))
const newest = Math.max(...(await readdir(migrations)).map((name) => Number.parseInt(name, 10)))

/**
 * Two processes that deliver, and a webhook of each of two clients. After the test nothing of it is
 * left to deliver.
 */
async function openDelivering(t: TestContext, { database, service, services }: Services) {
  const running = services.map(({ delivering }) => startDelivery(delivering))
  t.after(async () => {
    await Promise.all(running.map((each) => each.stop()))
    for (const table of ['delivery', 'delivery_group', 'delivery_queue', 'webhook']) {
      await sql(database, `delete from ${table}`)
    }
  })
  const receiver = await openReceiver()
  const fence = await openReceiver()
  const make = (url: string, as: 'client' | 'otherClient') =>
    service.call('POST', '/webhooks', { body: { url, events: ['*'] }, as })
  const { webhookId } = (await make(receiver.url, 'client')).json
  await make(fence.url, 'otherClient')
  const card = await service.createCard()
  const others = newCard({ cardProduct: 2001 })
  const administer = administerOf(service)
  const change = async (body: object) => {
    const { json: client, status, text } = await administer('PATCH', `/clients/${clientId}`, body)
    assert.equal(status, 200, text)
    return client
  }
  /** A wrong CVV2, which a card network may try whoever is disabled, leaves an event. */
  const act = async () => {
    for (const cvv2 of ['123', '124']) {
      const body = { publicToken: card.publicToken, entryMode: 'ecommerce', cvv2 }
      const { json } = await service.call('POST', '//network/authorizations', {
        body: { ...body, reference: '1' },
        as: 'network',
        listener: 'private',
      })
      if (json.cvv.result === 'mismatch') return
    }
    throw new Error('Neither of two values was wrong.')
  }
  /** Passes when what both processes had to send before it, and were ready to, was sent. */
  const awaitFence = async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      const seen = fence.received.length
      await service.call('POST', '/cards', { body: others, as: 'otherClient' })
      await until(() => fence.received.length > seen)
    }
  }
  return { act, administer, card, change, database, awaitFence, receiver, service, webhookId }
}

/** The sequences of a card's events, as they were written. */
const sequencesOf = async (database: Database, publicToken: string): Promise<number[]> => {
  const text = 'select sequence from event where public_token = $1 order by sequence'
  const rows = await sql<{ sequence: number }>(database, text, [publicToken])
  return rows.map(({ sequence }) => sequence)
}

const sequencesAt = ({ received }: Receiver): unknown[] =>
  received.map(({ message }) => message.data.sequence)

onEachEngine(({ open }) => {
  let opened: Services
  before(async () => {
    opened = await open({ env: { DELIVERY_TIMEOUT_MS: '30000' } })
  })

  test('a client that is disabled, or has lost both scopes, gets nothing; what waited comes later, in order', async (t) => {
    const { act, administer, card, change, database, awaitFence, receiver, service } =
      await openDelivering(t, opened)
    await until(() => receiver.received.length === 1)
    const { scopes } = (await administer('GET', `/clients/${clientId}`)).json
    const without = (...lost: string[]) => scopes.filter((scope: string) => !lost.includes(scope))

    const disabled = await change({ active: false })
    assert.ok(Math.abs(Date.parse(disabled.deliveriesSuspendedSince) - Date.now()) < 60_000)
    await act()
    await awaitFence()
    await change({ active: true, scopes: without('events.read', 'webhooks.write') })
    await act()
    await awaitFence()
    assert.deepEqual(sequencesAt(receiver), [1], 'nothing since it was disabled')
    const [waiting] = await listSuspendedDeliveries(database, 10)
    const due = (await sequencesOf(database, card.publicToken)).length - 1
    assert.deepEqual([waiting?.clientId, waiting?.waiting], [clientId, due])
    assert.ok(due >= 2)
    const finding = await suspensionFindings(database, await examineDatabase(database), newest)
    assert.deepEqual(
      finding.map(({ verdict }) => verdict),
      ['warning'],
    )
    assert.match(finding[0]?.found ?? '', new RegExp(`demo-client \\(${due} wait since 20`))

    // What waits is kept, however old it gets.
    const age = `now() - interval '31 days'`
    await sql(database, `update published_event set published_at = ${age} where client_id = $1`, [
      clientId,
    ])
    await sql(database, `update delivery set created_at = ${age} where client_id = $1`, [clientId])
    await enterAll(database)
    await expireRecords(database, { eventDays: 30, attemptDays: 400, paymentDays: 400 })

    const again = await change({ scopes: without('webhooks.write') })
    assert.equal(again.deliveriesSuspendedSince, null)
    await act()
    const written = await sequencesOf(database, card.publicToken)
    await until(() => receiver.received.length === written.length)
    assert.deepEqual(sequencesAt(receiver), written)
    assert.ok(
      receiver.received.every(({ message }) => message.data.publicToken === card.publicToken),
    )
    await change({ scopes })
    assert.deepEqual(await listSuspendedDeliveries(service.database, 10), [])
  })

  test('the three days of an endpoint stand still while its client is disabled, and go on from there', async (t) => {
    const { act, change, database, receiver, service, webhookId } = await openDelivering(t, opened)
    await until(() => receiver.received.length === 1)
    receiver.answer = () => 500
    await act()
    const failures = async () => {
      const rows = await sql<{ failures: number }>(
        database,
        `select failures from delivery where webhook_id = $1 and status = 'Pending'`,
        [webhookId],
      )
      return rows[0]?.failures ?? 0
    }
    await until(async () => (await failures()) === 1)
    await change({ active: false })
    const setBack = async (days: number) => {
      const before = `now() - interval '${days} days'`
      await sql(database, `update webhook set url_since = ${before} where webhook_id = $1`, [
        webhookId,
      ])
      await sql(
        database,
        `update delivery set first_tried_at = ${before} where webhook_id = $1 and failures > 0`,
        [webhookId],
      )
      await sql(
        database,
        `update delivery_group set due_at = now() where webhook_id = $1 and pending > 0`,
        [webhookId],
      )
      await sql(
        database,
        'update delivery_queue set arrivals = arrivals + 1, due_at = now() where webhook_id = $1',
        [webhookId],
      )
    }
    await setBack(4)
    await sql(
      database,
      `update client set deliveries_suspended_at = now() - interval '2 days' where client_id = $1`,
      [clientId],
    )
    await change({ active: true })
    const tried = await failures()
    await until(async () => (await failures()) > tried)
    const status = async () => (await service.call('GET', `/webhooks/${webhookId}`)).json.status
    assert.equal(await status(), 'Enabled', 'four days, of which it was suspended for two')
    await setBack(5.01)
    await until(async () => (await status()) === 'Disabled')
  })

  test('an open stream ends when its client loses the scope to read', async (t) => {
    const { administer, change, database } = await openDelivering(t, opened)
    const { scopes } = (await administer('GET', `/clients/${clientId}`)).json
    const streams = createEventStreams(database, () => undefined, { renewMs: 100 })
    t.after(() => streams.close())
    const filter = { after: null, types: null }
    const stream = await streams.open(clientId, filter, new Date(Date.now() + 600_000))
    await change({ scopes: ['cards.read', 'webhooks.write'] })
    for await (const _ of stream.events);
    await change({ scopes })
  })
})
