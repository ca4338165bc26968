import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { type Authority, makeAuthority } from '../../support/certificates.ts'
import { addressesOf, openTlsService, type TlsTestService } from '../../support/served-service.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let plain: TestService
let tls: TlsTestService
let authority: Authority

before(async () => {
  authority = await makeAuthority()
  plain = await openTestService()
  await plain.publicServer.listen({ host: '127.0.0.1', port: 0 })
  await plain.privateServer.listen({ host: '127.0.0.1', port: 0 })
  tls = await openTlsService(authority, { TLS_CLIENT_CERT: 'optional' })
})

/** Sockets that never close their own side: what ends them is the service. */
const openPlain = (service: TestService): Socket =>
  keep(connectPlain({ host: '127.0.0.1', port: addressesOf(service).public, allowHalfOpen: true }))

const openTls = (): Socket => {
  const options: ConnectionOptions & { allowHalfOpen: boolean } = {
    host: '127.0.0.1',
    port: addressesOf(tls).public,
    servername: 'cards.test',
    ca: authority.pem,
    allowHalfOpen: true,
  }
  return keep(connectTls(options))
}

const head = (line: string, host: string, ...headers: string[]): string =>
  [line, `Host: ${host}`, ...headers, '', ''].join('\r\n')

/** Sends a byte now and then until the connection is no more. */
const drip = async (socket: Socket, text: string): Promise<void> => {
  for (const byte of text) {
    if (socket.destroyed) return
    socket.write(byte)
    await sleep(250)
  }
}

/** Whatever a test finds, no socket outlives it. */
const opened = new Set<Socket>()
after(() => {
  for (const socket of opened) socket.destroy()
})

const keep = <Kept extends Socket>(socket: Kept): Kept => {
  opened.add(socket)
  return socket
}

const forever = 'x'.repeat(10_000)
const form = 'Content-Type: application/x-www-form-urlencoded'

/** Peers that take their time, each on a connection of its own. */
const slowPeers: Readonly<Record<string, () => Socket>> = {
  'a connection that says nothing': () => openPlain(plain),
  'headers in drips': () => {
    const socket = openPlain(plain)
    void drip(socket, `GET /problems HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Long: ${forever}`)
    return socket
  },
  'a body in drips': () => {
    const socket = openPlain(plain)
    const length = `Content-Length: ${forever.length}`
    socket.write(head('POST /oauth/token HTTP/1.1', '127.0.0.1:8080', form, length))
    void drip(socket, forever)
    return socket
  },
  'a body in drips that was answered by its head': () => {
    const socket = openPlain(plain)
    const length = `Content-Length: ${forever.length}`
    socket.write(head('POST /thr/processor/cards HTTP/1.1', '127.0.0.1:8080', length))
    void drip(socket, forever)
    return socket
  },
  'a second request in drips': () => {
    const socket = openPlain(plain)
    socket.write(head('GET /problems HTTP/1.1', '127.0.0.1:8080'))
    socket.once('data', () => drip(socket, `GET /${forever}`))
    return socket
  },
  'no handshake where TLS is spoken': () => openPlain(tls),
  'a handshake, and then nothing': () => openTls(),
  'headers in drips over TLS': () => {
    const socket = openTls()
    void drip(socket, `GET /problems HTTP/1.1\r\nHost: cards.test\r\nX-Long: ${forever}`)
    return socket
  },
  'a body in drips over TLS': () => {
    const socket = openTls()
    const length = `Content-Length: ${forever.length}`
    socket.write(head('POST /oauth/token HTTP/1.1', 'cards.test', form, length))
    void drip(socket, forever)
    return socket
  },
}

/** Ten seconds are promised; the rest is for a machine that is busy. */
const promisedMs = 15_000

/** What a peer is answered, and how long the service kept it. */
const hear = async (socket: Socket): Promise<{ answer: string; lastedMs: number }> => {
  const startedAtMs = performance.now()
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  const late = AbortSignal.timeout(promisedMs)
  await Promise.race([once(socket, 'end'), once(socket, 'close'), once(late, 'abort')])
  const lastedMs = performance.now() - startedAtMs
  return { answer: Buffer.concat(chunks).toString('latin1'), lastedMs }
}

const statusesIn = (answer: string): string[] => answer.match(/HTTP\/1\.1 \d{3}/g) ?? []

test('a request that does not arrive within 10 s ends its connection, plain or TLS, wherever it stops', async () => {
  const heard = await Promise.all(
    Object.entries(slowPeers).map(async ([what, open]) => {
      const { answer, lastedMs } = await hear(open())
      return { what, lastedMs, statuses: statusesIn(answer) }
    }),
  )
  for (const { lastedMs, what } of heard) {
    assert.ok(lastedMs >= 9_500, `${what}: ended after ${lastedMs} ms`)
    assert.ok(lastedMs < promisedMs, `${what}: held for ${lastedMs} ms`)
  }
  const statusesOf = (what: string) => heard.find((each) => each.what === what)?.statuses
  assert.deepEqual(statusesOf('headers in drips'), ['HTTP/1.1 400'])
  assert.deepEqual(statusesOf('a body in drips'), ['HTTP/1.1 400'])
  // A second answer would be taken for that of the next request.
  assert.deepEqual(statusesOf('a body in drips that was answered by its head'), ['HTTP/1.1 401'])
  assert.deepEqual(statusesOf('a second request in drips'), ['HTTP/1.1 200'])
  // Our side of each is open still: the service has let go of them all the same.
  const letGo = AbortSignal.timeout(promisedMs)
  while (plain.connections.public.count() + tls.connections.public.count() > 0) {
    assert.equal(letGo.aborted, false, 'connections are counted that have ended')
    await sleep(50)
  }
})

test('an answer that nobody reads ends its connection, while a stream without events lives on', async () => {
  const reader = openPlain(plain)
  const stream = openPlain(plain)
  const bearer = `Authorization: Bearer ${await plain.token()}`
  const accept = 'Accept: text/event-stream'
  const [chunks, fault] = [[] as Buffer[], new AbortController()]
  stream.on('data', (chunk: Buffer) => chunks.push(chunk)).once('close', () => fault.abort())
  stream.write(head('GET /thr/processor/events HTTP/1.1', '127.0.0.1:8080', bearer, accept))
  await once(stream, 'data')
  const path = '/docs/static/swagger-ui-bundle.js'
  reader.on('error', () => undefined).pause()
  // More than the buffers of two sockets take.
  reader.write(head(`GET ${path} HTTP/1.1`, '127.0.0.1:8080').repeat(20))
  const before = plain.connections.public.count()
  assert.equal(before, 2)
  const late = performance.now() + 30_000
  while (plain.connections.public.count() === 2) {
    assert.ok(performance.now() < late, 'The answer was kept for its reader.')
    await sleep(100)
  }
  while (!Buffer.concat(chunks).includes(': still here')) await once(stream, 'data')
  assert.ok(!fault.signal.aborted)
  for (const socket of [reader, stream]) socket.destroy()
})
