import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  createPinfold,
  type EventRecord,
  type EventType,
} from '../../../../packages/sdk/client/client.ts'
import { eventBlocks } from '../../../../packages/sdk/client/transport/event-stream.ts'
import { openServedService, type ServedService } from '../../../support/served-service.ts'
import { strongPins } from '../../../support/service.ts'
import { createRecorder, refusal } from './recorder.ts'

let service: ServedService
before(async () => {
  service = await openServedService()
})

const blocked = async (publicToken: string): Promise<void> => {
  const body = { status: 'Blocked' }
  await service.call('PUT', `/card-cvv/${publicToken}/cvv/status`, { body })
}

const newestId = async (): Promise<string> => {
  while (true) {
    const { json } = await service.call('GET', '/events')
    if (json.length > 0) return json.at(-1).id
  }
}

test('events are followed over broken and ended connections, each once and in order', async () => {
  const { publicToken } = await service.createCard()
  const bodies: AbortController[] = []
  const recorder = createRecorder()
  // Each connection can be broken, or ended as the service ends it, from here.
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await recorder.fetch(input, init)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const breaker = new AbortController()
    bodies.push(breaker)
    const passing = new TransformStream()
    const ended = response.body?.pipeTo(passing.writable, { signal: breaker.signal })
    ended?.catch(() => undefined)
    return new Response(passing.readable, response)
  }
  const pinfold = createPinfold({ ...service.sandbox, fetch })
  await service.call('GET', '/events')
  await blocked(publicToken)
  // Published a moment after it happened.
  let first: EventRecord | undefined
  while (!first) [first] = (await pinfold.events.list().page()).items

  const read: EventRecord[] = []
  for await (const event of pinfold.events.follow({ after: first.id })) {
    read.push(event)
    if (read.length === 4) break
    if (read.length === 1) {
      recorder.befall('/events', 'request lost', refusal(503, 'unavailable', 0))
    }
    bodies.at(-1)?.abort()
    await blocked(publicToken)
  }
  const sequences = read.map(({ data }) => data.sequence)
  assert.deepEqual(
    sequences,
    sequences.map((_sequence, at) => (sequences[0] ?? 0) + at),
  )
  assert.ok(bodies.length > 1)
  const resumed = recorder.sent.map(({ headers }) => headers.get('last-event-id'))
  assert.ok(resumed.includes(read[0]?.id ?? ''))
})

test('only events of the types that were asked for are followed, from now on', async () => {
  const { maskedPan, publicToken } = await service.createCard()
  const recorder = createRecorder()
  const pinfold = createPinfold({ ...service.sandbox, fetch: recorder.fetch })
  const types: EventType[] = ['cvv.blocked']
  const events = pinfold.events.follow({ after: await newestId(), types })[Symbol.asyncIterator]()
  const next = events.next()
  const [pin] = strongPins({ maskedPan })
  await service.call('POST', `/card-pin/${publicToken}/pin`, { body: { pin } })
  await blocked(publicToken)
  const { value } = await next
  assert.equal(value?.type, 'cvv.blocked')
  assert.equal(value?.data.publicToken, publicToken)
  await events.return?.()
})

test('following ends with the reason of the signal', async () => {
  const leaving = new AbortController()
  const pinfold = createPinfold(service.sandbox)
  const following = pinfold.events.follow({}, { signal: leaving.signal })[Symbol.asyncIterator]()
  const next = following.next()
  setTimeout(() => leaving.abort(new Error('The shift is over.')), 50)
  await assert.rejects(next, /The shift is over/)
})

test('an answer that no retry can improve ends the stream', async () => {
  const pinfold = createPinfold({ ...service.sandbox, scope: 'cards.read' })
  const following = pinfold.events.follow()[Symbol.asyncIterator]()
  await assert.rejects(following.next(), { code: 'insufficient_scope' })
  const unknown = createPinfold(service.sandbox).events.follow({ after: 'never' })
  await assert.rejects(unknown[Symbol.asyncIterator]().next(), { code: 'validation_failed' })
})

test('a stream is read alike however it is cut and its lines end', async () => {
  const text = 'id: a\n: live\n\nid: b\r\ndata: {"x":\r\ndata: 1}\r\n\r\n: still here\r\rdata\n\n'
  const expected = [
    { id: 'a', data: undefined },
    { id: 'b', data: '{"x":\n1}' },
    { id: undefined, data: undefined },
    { id: undefined, data: '' },
  ]
  const read = async (chunks: readonly string[]) => {
    const blocks: object[] = []
    async function* source() {
      yield* chunks
    }
    for await (const block of eventBlocks(source())) blocks.push(block)
    return blocks
  }
  assert.deepEqual(await read([text]), expected)
  assert.deepEqual(await read([...text]), expected)
})

/**
 * A service that gives a token, and for each connection that follows what comes next in the row.
 */
const streams = (...row: (() => Response)[]) => {
  const resumedAfter: (string | null)[] = []
  const pinfold = createPinfold({
    baseUrl: 'https://cards.example',
    clientId: 'a-client',
    clientSecret: 'a-secret',
    tokenEndpoint: 'https://cards.example/oauth/token',
    async fetch(input, init) {
      if (String(input).endsWith('/oauth/token')) return Response.json({ access_token: 'a' })
      resumedAfter.push(new Headers(init?.headers).get('last-event-id'))
      return row.shift()?.() ?? refusal(404, 'not_found')
    },
  })
  return { pinfold, resumedAfter }
}

const stream = (text: string, cancelled?: () => void): Response => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    ...(cancelled && { cancel: cancelled }),
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

test('a connection that fell silent is left, and the next one goes on where it was', async () => {
  let left = 0
  const { pinfold, resumedAfter } = streams(
    () => stream('id: a\ndata: {"type":"pin.set"}\n\nid: b\n\n', () => (left += 1)),
    () => stream('id: c\ndata: {"type":"pin.blocked"}\n\n'),
  )
  const read: string[] = []
  for await (const { type } of pinfold.events.follow({}, { silenceMs: 50 })) {
    if (read.push(type) === 2) break
  }
  assert.deepEqual(read, ['pin.set', 'pin.blocked'])
  assert.deepEqual(resumedAfter, [null, 'b'])
  assert.equal(left, 1)
})

const noStreams: [title: string, answer: () => Response][] = [
  [
    'a page of HTML',
    () => new Response('<p>Log in</p>', { headers: { 'content-type': 'text/html' } }),
  ],
  ['an event that is no JSON', () => stream('id: a\ndata: {\n\n')],
  ['an event that is null', () => stream('id: a\ndata: null\n\n')],
  ['an id that no header can hold', () => stream('id: \u20ac\ndata: {}\n\n')],
  ['a line without an end', () => stream('x'.repeat(2_000_000))],
]

for (const [title, answer] of noStreams) {
  test(`following ends where what comes is no stream of events: ${title}`, async () => {
    const { pinfold, resumedAfter } = streams(answer)
    const next = pinfold.events.follow()[Symbol.asyncIterator]().next()
    await assert.rejects(next, { code: 'unexpected_answer' })
    assert.equal(resumedAfter.length, 1)
  })
}

test('options that cannot be followed are refused before a request is sent', async () => {
  const { pinfold, resumedAfter } = streams()
  const first = (follow: AsyncIterable<EventRecord>) => follow[Symbol.asyncIterator]().next()
  const code = 'invalid_argument'
  await assert.rejects(first(pinfold.events.follow({ after: '\u20ac' })), { code })
  await assert.rejects(first(pinfold.events.follow({}, { silenceMs: 0 })), { code })
  assert.deepEqual(resumedAfter, [])
})

test('the client waits as long as the service asks before it calls again', async () => {
  const leaving = new AbortController()
  const { pinfold, resumedAfter } = streams(
    () => {
      setTimeout(() => leaving.abort(new Error('The shift is over.')), 100)
      return refusal(503, 'unavailable', 2_147_484)
    },
    () => {
      leaving.abort(new Error('Called again.'))
      return stream('')
    },
  )
  const { signal } = leaving
  const next = pinfold.events.follow({}, { signal })[Symbol.asyncIterator]().next()
  await assert.rejects(next, /The shift is over/)
  assert.equal(resumedAfter.length, 1)
})
