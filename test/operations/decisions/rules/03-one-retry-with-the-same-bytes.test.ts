import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasTimeToRetry } from '../../../../src/operations/decisions/exchange.ts'
import { makeAuthority } from '../../../support/certificates.ts'
import {
  after,
  approve,
  cut,
  type DecisionBehaviour,
  openDecisionEndpoint,
  raw,
  text,
} from '../../../support/decision-endpoint.ts'
import { atEndOfFile } from '../../../support/end-of-file.ts'
import { until } from '../../../support/until.ts'
import { openAsker } from '../asking.ts'

/** Does one thing the first time, and approves from then on. */
const firstly = (behaviour: DecisionBehaviour): DecisionBehaviour => {
  let isFirst = true
  return (received, response) => {
    if (!isFirst) return approve(received, response)
    isFirst = false
    return behaviour(received, response)
  }
}

test('a connection that fails before any byte of an answer: the same bytes are sent once more', async () => {
  const endpoint = await openDecisionEndpoint(firstly(cut))
  const { answer, error } = await openAsker().ask(endpoint.url)
  assert.deepEqual([answer?.decision, error], ['approve', null])
  const [first, second] = endpoint.received
  assert.ok(first && second)
  assert.deepEqual(second.bytes, first.bytes)
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'traceparent']) {
    assert.equal(second.headers[name], first.headers[name], name)
  }
  assert.equal(first.headers['decision-attempt'], '1')
  assert.equal(second.headers['decision-attempt'], '2')
})

test('there is no second retry', async () => {
  const endpoint = await openDecisionEndpoint(cut)
  const { error } = await openAsker().ask(endpoint.url)
  assert.equal(error, 'connection_failed')
  assert.equal(endpoint.received.length, 2)
})

test('a server that refuses connections is tried twice', async () => {
  const endpoint = await openDecisionEndpoint()
  await endpoint.close()
  const outcome = await openAsker().ask(endpoint.url)
  assert.deepEqual([outcome.error, outcome.statusCode], ['connection_failed', null])
})

test('a retry needs 40 percent of the time', () => {
  const exchange = { startedMs: 10_000, deadlineMs: 11_000 }
  assert.ok(hasTimeToRetry(exchange, 10_600))
  assert.ok(!hasTimeToRetry(exchange, 10_601))
  assert.ok(!hasTimeToRetry(exchange, 11_001))
})

test('a connection that fails after its time for a retry is not tried again', async () => {
  const endpoint = await openDecisionEndpoint(firstly(after(900, cut)))
  const outcome = await openAsker().ask(endpoint.url, { timeoutMs: 1_400 })
  assert.equal(outcome.answer, null)
  assert.equal(endpoint.received.length, 1)
})

const begun: readonly (readonly [what: string, behaviour: DecisionBehaviour])[] = [
  ['a byte', raw('H', (socket) => socket.destroy())],
  ['half of the headers', raw('HTTP/1.1 200 OK\r\ncontent-le', (socket) => socket.destroy())],
  [
    'half of the body',
    raw('HTTP/1.1 200 OK\r\ncontent-length: 22\r\n\r\n{"decision":"app', (s) => s.destroy()),
  ],
  ['another protocol', raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n')],
  ['a status', () => 503],
  ['no JSON', text('no')],
]

test('an answer that began is never asked for again, whatever became of it', async () => {
  for (const [what, behaviour] of begun) {
    const endpoint = await openDecisionEndpoint(firstly(behaviour))
    const { answer, error } = await openAsker().ask(endpoint.url)
    assert.deepEqual([answer, error === null], [null, false], what)
    assert.equal(endpoint.received.length, 1, what)
  }
})

test('the same holds under TLS, whose handshake is no byte of an answer', async () => {
  const authority = await makeAuthority()
  const identity = await authority.issue('localhost')
  let sends = ''
  let requests = 0
  const server = createServer(identity, (request) => {
    requests += 1
    request.resume()
    const { socket } = request
    if (sends === '') socket.destroy()
    else socket.write(sends, () => socket.destroy())
  })
  atEndOfFile(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`
  const { ask } = openAsker({ ca: authority.pem, httpsOnly: true })
  assert.equal((await ask(url)).error, 'connection_failed')
  assert.equal(requests, 2)
  sends = 'HTTP/1.1 200'
  requests = 0
  assert.equal((await ask(url)).error, 'connection_failed')
  assert.equal(requests, 1)
})

test('a time-out is no reason for a retry', async () => {
  const endpoint = await openDecisionEndpoint(() => undefined)
  await openAsker().ask(endpoint.url, { timeoutMs: 1_000 })
  await sleep(100)
  assert.equal(endpoint.received.length, 1)
})

test('a kept connection that the server closed costs no answer', async () => {
  const endpoint = await openDecisionEndpoint((_received, response) => {
    // It announces nothing, and closes at once.
    response.once('finish', () => setImmediate(() => response.socket?.destroy()))
    return { decision: 'approve' }
  })
  const { ask } = openAsker()
  for (let turn = 0; turn < 20; turn += 1) {
    assert.equal((await ask(endpoint.url)).answer?.decision, 'approve', `${turn}`)
  }
})

test('the retry takes a new connection, since all kept ones may have failed', async () => {
  const used = new Set<unknown>()
  const endpoint = await openDecisionEndpoint(async (_received, { socket }) => {
    if (used.has(socket)) {
      socket?.destroy()
      return undefined
    }
    used.add(socket)
    await until(() => used.size >= 4)
    return { decision: 'approve' }
  })
  const { ask } = openAsker()
  await Promise.all(Array.from({ length: 4 }, () => ask(endpoint.url)))
  assert.equal(used.size, 4, 'four connections are kept')
  assert.equal((await ask(endpoint.url)).answer?.decision, 'approve')
  assert.equal(endpoint.received.length, 6)
})
