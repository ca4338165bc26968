import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { createEventStreams, type EventStream } from '../../../src/operations/events/streams.ts'
import { setClientActive } from '../../support/builders.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, openTestService, pool, sql } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { openLiveReader } from './client-system.ts'
import { type DeliveryService, openDeliveryService } from './delivery-service.ts'

const postgres = await openPostgres()
let service: DeliveryService
let port: number
before(async () => {
  service = await openDeliveryService()
  const address = await service.publicServer.listen({ host: '127.0.0.1', port: 0 })
  port = Number(new URL(address).port)
})

type FeedEvent = { id: string; type: string; data: { publicToken: string; sequence: number } }

const readAll = async (
  query = '',
  as: 'client' | 'otherClient' = 'client',
): Promise<FeedEvent[]> => {
  const events: FeedEvent[] = []
  for (let path: string | undefined = `//thr/processor/events${query}`; path; ) {
    const answer = await service.call('GET', path, { as })
    assert.equal(answer.status, 200)
    events.push(...answer.json)
    const next = /<(.+)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1]
    path = next === undefined ? undefined : `/${next}`
  }
  return events
}

const makeEvents = async (count: number): Promise<string> => {
  const { publicToken } = await service.createCard()
  for (let event = 1; event < count; event += 1) {
    await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  }
  await until(async () => (await sql(service.database, unpublished)).length === 0)
  return publicToken
}
const unpublished = 'select sequence from event where not published'

test('all events are read, page by page, each card’s in order, and a client’s own alone', async () => {
  const token = await makeEvents(25)
  const all = await readAll()
  const paged = await readAll('?limit=7')
  assert.deepEqual(paged, all)
  const ofCard = all.filter(({ data }) => data.publicToken === token)
  assert.deepEqual(
    ofCard.map(({ data }) => data.sequence),
    Array.from({ length: 25 }, (_, i) => i + 1),
  )
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
  assert.deepEqual(await readAll('', 'otherClient'), [])
  assert.deepEqual(
    (await readAll('?types=card.created,pin.set&limit=3')).map(({ id }) => id),
    all.filter(({ type }) => type === 'card.created').map(({ id }) => id),
  )
})

test('reading goes on after an event that is kept, and says so when it is kept no longer', async () => {
  await makeEvents(3)
  const all = await readAll()
  const last = all.at(-1)?.id ?? ''
  assert.deepEqual(await readAll(`?after=${last}`), [])
  const token = await makeEvents(2)
  const later = await readAll(`?after=${last}`)
  assert.deepEqual(
    later.map(({ data }) => data.publicToken),
    [token, token],
  )
  for (const after of [randomUUID(), 'x']) {
    const answer = await service.call('GET', `/events?after=${after}`)
    assert.deepEqual([answer.status, answer.json.errors[0].pointer], [422, '/after'])
  }
  const others = await service.call('GET', `/events?after=${last}`, { as: 'otherClient' })
  assert.equal(others.status, 422)
})

test('a live reader that is killed goes on with exactly what it missed', async () => {
  const token = await service.token()
  await makeEvents(1)
  const start = (await readAll()).at(-1)?.id
  const first = await openLiveReader(port, { token })
  assert.deepEqual([first.status, first.contentType], [200, 'text/event-stream; charset=utf-8'])
  const making = makeEvents(60)
  await until(() => first.ids.length >= 10)
  first.kill()
  const lastId = first.lastId()
  await making
  const second = await openLiveReader(port, { token, lastEventId: lastId })
  const expected = (await readAll(`?after=${start}`)).map(({ id }) => id)
  await until(() => first.ids.length + second.ids.length >= expected.length)
  const more = await makeEvents(1)
  await until(() => first.ids.length + second.ids.length > expected.length)
  assert.deepEqual([...first.ids, ...second.ids].slice(0, expected.length), expected)
  assert.equal((await readAll()).at(-1)?.data.publicToken, more)
  second.kill()
})

test('a live reader gets only what happens from now on, of the types that it wants', async () => {
  const token = await service.token()
  await makeEvents(3)
  const reader = await openLiveReader(port, { token, query: '?types=card.created' })
  await makeEvents(3)
  await until(() => reader.ids.length === 1)
  const all = await readAll()
  assert.equal(all.find(({ id }) => id === reader.ids[0])?.type, 'card.created')
  reader.kill()
})

test('a client has ten streams at most, over all processes, and gets one back that it lets go', async () => {
  const token = await service.token()
  await until(
    async () => (await sql(service.database, 'select slot from client_stream')).length === 0,
  )
  const readers = await Promise.all(
    Array.from({ length: 10 }, () => openLiveReader(port, { token })),
  )
  assert.ok(readers.every(({ status }) => status === 200))
  const otherProcess = createEventStreams(service.database, () => undefined)
  await assert.rejects(
    otherProcess.open('demo-client', { after: null, types: null }, new Date(Date.now() + 1_000)),
    { code: 'rate_limited' },
  )
  assert.equal((await openLiveReader(port, { token })).status, 429)
  readers[0]?.kill()
  await until(
    async () => (await sql(service.database, 'select slot from client_stream')).length === 9,
  )
  const again = await openLiveReader(port, { token })
  assert.equal(again.status, 200)
  for (const reader of [...readers, again]) reader.kill()
})

test('a stream ends when its token does, and when its client is disabled', async () => {
  const read = async ({ events }: EventStream) => {
    for await (const _ of events);
  }
  await until(
    async () => (await sql(service.database, 'select slot from client_stream')).length === 0,
  )
  const streams = createEventStreams(service.database, () => undefined, { renewMs: 500 })
  const filter = { after: null, types: null }
  const startedMs = performance.now()
  await read(await streams.open('demo-client', filter, new Date(Date.now() + 400)))
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs >= 390 && tookMs < 60_000, `${tookMs}`)
  const longer = streams.open('demo-other-client', filter, new Date(Date.now() + 60_000))
  await setClientActive(service.database, 'demo-other-client', false)
  await read(await longer)
  await setClientActive(service.database, 'demo-other-client', true)
})

test('a stream that was being opened as the service stops is refused and keeps no slot', async () => {
  const slots = `select slot from client_stream where client_id = 'demo-other-client'`
  const streams = createEventStreams(service.database, () => undefined)
  const filter = { after: null, types: null }
  const opening = streams.open('demo-other-client', filter, new Date(Date.now() + 60_000))
  const refused = assert.rejects(opening, { code: 'unavailable' })
  await streams.close()
  await refused
  assert.deepEqual(await sql(service.database, slots), [])
})

test('open streams end cleanly when the service stops', { timeout: 120_000 }, async () => {
  const stopping = await openTestService()
  const address = await stopping.publicServer.listen({ host: '127.0.0.1', port: 0 })
  const token = await stopping.token()
  const reader = await openLiveReader(Number(new URL(address).port), { token })
  await stopping.publicServer.close()
  await until(reader.hasEnded)
})

test('however many place events at once, none is missed, doubled or put before what a reader has seen', {
  skip: postgres.leftOut,
}, async () => {
  const { database, url } = await openServerDatabase(postgres, 20)
  const crowd = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  const others = [pool(url, 2), pool(url, 2), pool(url, 2)]
  const seen: string[] = []
  let isMade = false
  let isPublished = false
  const read = async () => {
    let after = ''
    while (true) {
      const wasPublished = isPublished
      const { json } = await crowd.call('GET', `/events${after}`)
      for (const { id } of json) seen.push(id)
      if (json.length > 0) after = `?after=${json.at(-1).id}`
      else if (wasPublished) return
    }
  }
  // On a machine that does much else, who waits for the clients' head may be turned away, and tries
  // again.
  const publishSome = (other: (typeof others)[number]): Promise<number> =>
    publishBatch(other).catch((error: unknown) => {
      assert.ok(error instanceof AggregateError)
      assert.ok(error.errors.every(isUnavailable), String(error.cause))
      return publishSome(other)
    })
  const isUnavailable = (error: unknown) => error instanceof Problem && error.code === 'unavailable'
  const place = async (other: (typeof others)[number]) => {
    while (!isMade || (await publishSome(other)) > 0) await publishSome(other)
  }
  // Fewer at once than there are connections, and of each card one: nobody waits for another's row
  // or connection.
  const make = async () => {
    const { publicToken } = await crowd.createCard()
    for (let time = 1; time <= 20; time += 1) {
      const { status } = await crowd.call('POST', `/card-pin/${publicToken}/pin/unblock`)
      assert.equal(status, 204)
    }
  }
  const placing = others.map(place)
  const reading = read()
  await Promise.all(Array.from({ length: 15 }, make))
  isMade = true
  await Promise.all(placing)
  isPublished = true
  await reading
  const rows = await sql<{ eventId: string; publicToken: string; sequence: number }>(
    database,
    `select event_id as "eventId", public_token as "publicToken", sequence from published_event
     order by position`,
  )
  assert.equal(rows.length, 15 * 21)
  assert.deepEqual(
    seen,
    rows.map(({ eventId }) => eventId),
  )
  const next = new Map<string, number>()
  for (const { publicToken, sequence } of rows) {
    assert.equal(sequence, (next.get(publicToken) ?? 0) + 1)
    next.set(publicToken, sequence)
  }
  for (const other of others) await other.close()
})
