import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  approve,
  cut,
  type DecisionBehaviour,
  hang,
  openDecisionEndpoint,
  raw,
  text,
  trickle,
} from '../../support/decision-endpoint.ts'
import { openAsker } from './asking.ts'

/** What an endpoint may do that is no answer, and what is recorded of it. */
const behaviours: readonly (readonly [
  what: string,
  behaviour: DecisionBehaviour,
  error: string | null,
  statusCode: number | null,
])[] = [
  ['never answers', hang, null, null],
  ['sends its answer byte by byte, too slowly', trickle(40), null, 200],
  ['cuts the connection', cut, 'connection_failed', null],
  [
    'cuts the connection within the headers',
    raw('HTTP/1.1 200 OK\r\ncontent-le', (socket) => socket.destroy()),
    'connection_failed',
    null,
  ],
  [
    'cuts the connection within the body',
    raw('HTTP/1.1 200 OK\r\ncontent-length: 22\r\n\r\n{"decision":"app', (s) => s.destroy()),
    'connection_failed',
    200,
  ],
  ['sends no HTTP', raw('approve\r\n\r\n', (socket) => socket.end()), 'connection_failed', null],
  [
    'switches protocols',
    raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    'connection_failed',
    null,
  ],
  [
    'sends endless headers',
    raw(`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}`),
    'connection_failed',
    null,
  ],
  ['answers 204', () => 204, 'bad_status', 204],
  ['answers 201', text('{"decision":"approve"}', 'application/json', 201), 'bad_status', 201],
  ['answers 500', () => 500, 'bad_status', 500],
  [
    'answers 500 and never ends',
    (_received, response) => {
      response.writeHead(500).write('{')
      return undefined
    },
    'bad_status',
    500,
  ],
  [
    'announces 100 MB',
    (_received, response) => {
      response.writeHead(200, { 'content-length': 100_000_000 }).write('x')
      return undefined
    },
    'too_large',
    200,
  ],
  ['answers web page', text('<html>approve</html>', 'text/html'), 'bad_body', 200],
  ['answers another type', text('{"decision":"approve"}', 'text/plain'), 'bad_body', 200],
  ['answers no JSON', text('approve'), 'bad_body', 200],
  ['answers nothing', text(''), 'bad_body', 200],
  ['answers twice', text('{"decision":"approve"}{"decision":"decline"}'), 'bad_body', 200],
  ['answers both', text('{"decision":"decline","decision":"approve"}'), 'bad_body', 200],
  [
    'answers for another decision',
    () => ({ decision: 'approve', decisionId: '0193b1a0-0000-7000-8000-0000000000ff' }),
    'bad_body',
    200,
  ],
  [
    'compresses',
    (_received, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"decision":"approve"}')
      return undefined
    },
    'bad_body',
    200,
  ],
  ['approves a negative amount', () => ({ decision: 'approve', amount: -1 }), 'bad_amount', 200],
  ['approves too much', () => ({ decision: 'approve', amount: 1_251 }), 'bad_amount', 200],
]

test('whatever an endpoint does instead of an answer is an error or a time-out', async () => {
  for (const [what, behaviour, error, statusCode] of behaviours) {
    const endpoint = await openDecisionEndpoint(behaviour)
    const outcome = await openAsker().ask(endpoint.url, { timeoutMs: 150 })
    const { answer, error: found, statusCode: status } = outcome
    assert.deepEqual([answer, found, status], [null, error, statusCode], what)
    await endpoint.close()
  }
})

test('no more than 16 KiB are read of a body without an announced length', async () => {
  let sentBytes = 0
  const endpoint = await openDecisionEndpoint((_received, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const send = () => {
      while (!response.destroyed && sentBytes < 100_000_000) {
        sentBytes += 65_536
        if (!response.write(Buffer.alloc(65_536, 0x20))) return void response.once('drain', send)
      }
    }
    send()
    return undefined
  })
  const { error } = await openAsker().ask(endpoint.url)
  assert.equal(error, 'too_large')
  await sleep(100)
  assert.ok(sentBytes < 20_000_000, `${sentBytes} bytes left the endpoint`)
})

test('an answer of 16 KiB is read, one of a byte more is not', async () => {
  const padded = (lengthBytes: number) => '{"decision":"approve"}'.padEnd(lengthBytes)
  const endpoint = await openDecisionEndpoint(text(padded(16_384)))
  assert.equal((await openAsker().ask(endpoint.url)).answer?.decision, 'approve')
  endpoint.answer = text(padded(16_385))
  assert.equal((await openAsker().ask(endpoint.url)).error, 'too_large')
})

test('no redirect is followed, to the inside least of all', async () => {
  const inside = await openDecisionEndpoint()
  const endpoint = await openDecisionEndpoint((_received, response) => {
    response.writeHead(307, { location: inside.url }).end()
    return undefined
  })
  const { error, statusCode } = await openAsker().ask(endpoint.url)
  assert.deepEqual([error, statusCode], ['bad_status', 307])
  assert.equal(inside.received.length, 0)
})

test('a name that leads to the inside is not called', async () => {
  const { ask } = openAsker({ resolve: async () => ['10.0.0.1'] })
  const outcome = await ask('http://client.example/decide')
  assert.deepEqual([outcome.error, outcome.statusCode], ['target_refused', null])
  const literal = await openAsker().ask('http://169.254.169.254/latest/meta-data')
  assert.equal(literal.error, 'target_refused')
})

const answer = (body: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

test('a second answer on a connection is never taken for the answer of the next request', async () => {
  const second = answer('{"decision":"approve"}')
  const behaviour: DecisionBehaviour = ({ body }, { socket }) => {
    if (body.sequence !== 1) throw new Error('the tests send one sequence')
    const isFirst = endpoint.received.length === 1
    socket?.write(answer('{"decision":"decline"}'))
    if (isFirst) setTimeout(() => socket?.write(second), 30)
    return undefined
  }
  const endpoint = await openDecisionEndpoint(behaviour)
  const { ask } = openAsker()
  assert.equal((await ask(endpoint.url)).answer?.decision, 'decline')
  await sleep(100)
  assert.equal((await ask(endpoint.url)).answer?.decision, 'decline')
  assert.equal(endpoint.received.length, 2)
})

test('an answer without a content type is read', async () => {
  const endpoint = await openDecisionEndpoint((_received, response) => {
    response.end('{"decision":"approve"}')
    return undefined
  })
  assert.equal((await openAsker().ask(endpoint.url)).answer?.decision, 'approve')
  endpoint.answer = text('{"decision":"approve"}', 'application/vnd.client+json; charset=utf-8')
  assert.equal((await openAsker().ask(endpoint.url)).answer?.decision, 'approve')
})

test('an endpoint that misbehaved is asked again, and may answer', async () => {
  const endpoint = await openDecisionEndpoint(cut)
  const { ask } = openAsker()
  await ask(endpoint.url)
  endpoint.answer = approve
  assert.equal((await ask(endpoint.url)).answer?.decision, 'approve')
})
