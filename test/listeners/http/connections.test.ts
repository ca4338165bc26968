import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { type Authority, makeAuthority } from '../../support/certificates.ts'
import { findPorts, openTlsService, type TlsTestService } from '../../support/served-service.ts'
import { openTestService, type TestService } from '../../support/service.ts'

// What no HTTP client sends by itself, and how long peers may take: by sockets.
let service: TestService
let tls: TlsTestService
let authority: Authority

before(async () => {
  authority = await makeAuthority()
  service = await openTestService()
  await service.publicServer.listen({ host: '127.0.0.1', port: 0 })
  await service.privateServer.listen({ host: '127.0.0.1', port: 0 })
  tls = await openTlsService(authority, { TLS_CLIENT_CERT: 'optional' })
})

/** Sends bytes on a connection of its own, and reads until the service closes it. */
async function exchange(
  bytes: string | Buffer,
  listener: 'public' | 'private' = 'public',
): Promise<string> {
  const socket = connect(findPorts(service)[listener], '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

const statusOf = (answer: string): number => Number(answer.split(' ')[1])
const documentOf = (answer: string): { code?: string; detail?: string; requestId?: string } =>
  JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))

const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n${headers}\r\n`

test('what is no HTTP request is answered with a problem document and a closed connection', async () => {
  const requests: Readonly<Record<string, string | Buffer>> = {
    'an unknown method': 'FETCH /thr/processor/cards HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n',
    'a greeting of TLS': Buffer.from('16030100c8010000c40303', 'hex'),
    'no version': 'GET / \r\n\r\n',
    'no host': 'GET / HTTP/1.1\r\n\r\n',
    'a header without a name': get('/problems', ': value\r\n'),
    'two lengths':
      'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    'a length and chunks':
      'POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
  }
  for (const [what, bytes] of Object.entries(requests)) {
    const answer = await exchange(bytes)
    assert.equal(statusOf(answer), 400, what)
    assert.match(answer, /^connection: close\r$/im, what)
  }
  const answer = await exchange(requests['an unknown method'] ?? '')
  const document = documentOf(answer)
  assert.equal(document.code, 'malformed_request')
  assert.match(answer, /content-type: application\/problem\+json/i)
  assert.match(answer, /cache-control: no-store/i)
  assert.match(answer, /api-version: 2026-11-20/i)
  assert.ok(answer.includes(`X-Request-Id: ${document.requestId}`))
})

test('headers that are too long are refused, and the limit is named', async () => {
  const answer = await exchange(get('/problems', `X-Long: ${'a'.repeat(17_000)}\r\n`))
  assert.equal(statusOf(answer), 400)
  assert.equal(documentOf(answer).detail, 'The headers exceed the limit of 16384 bytes.')
})

test('a request without a Host is not answered as if it had one', async () => {
  const answer = await exchange('GET /problems HTTP/1.0\r\n\r\n')
  assert.deepEqual([statusOf(answer), documentOf(answer).code], [421, 'misdirected_request'])
})

test('a probe of health or metrics needs no Host, and two are refused', async () => {
  for (const path of ['/livez', '/readyz', '/health', '/metrics']) {
    for (const version of ['1.0', '1.1']) {
      const probe = `GET ${path} HTTP/${version}\r\nConnection: close\r\n\r\n`
      assert.equal(statusOf(await exchange(probe, 'private')), 200, `${path} ${version}`)
    }
  }
  const two = 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'
  assert.equal(statusOf(await exchange(two, 'private')), 400)
  const unnamed = 'GET /problems HTTP/1.1\r\nConnection: close\r\n\r\n'
  assert.equal(statusOf(await exchange(unnamed, 'private')), 400)
})

test('a connection is kept for KEEP_ALIVE_SECONDS between two requests', async () => {
  const kept = async (env: Readonly<Record<string, string>>) => {
    const { privateServer, publicServer } = await openTestService({ env })
    return [publicServer.server.keepAliveTimeout, privateServer.server.keepAliveTimeout]
  }
  assert.deepEqual(await kept({}), [72_000, 72_000])
  assert.deepEqual(await kept({ KEEP_ALIVE_SECONDS: '620' }), [620_000, 620_000])
})

test('two Authorization headers are refused: a proxy may have checked the other one', async () => {
  const bearer = `Authorization: Bearer ${await service.token()}\r\n`
  const path = get('/thr/processor/products', bearer)
  assert.equal(statusOf(await exchange(path)), 200)
  const answer = await exchange(path.replace(bearer, bearer + bearer))
  assert.deepEqual([statusOf(answer), documentOf(answer).code], [400, 'malformed_request'])
  assert.equal(documentOf(answer).detail, 'The header Authorization must occur once.')
})

test('a body that is longer than its limit is refused while it arrives in pieces', async () => {
  const token = await service.token()
  const piece = `${(8192).toString(16)}\r\n${' '.repeat(8192)}\r\n`
  const answer = await exchange(
    'POST /thr/processor/cards HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n' +
      `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      `Transfer-Encoding: chunked\r\n\r\n${piece.repeat(9)}0\r\n\r\n`,
  )
  assert.deepEqual([statusOf(answer), documentOf(answer).code], [413, 'body_too_large'])
})

test('a caller that disconnects in the middle of its body harms no other call', async () => {
  const token = await service.token()
  for (let time = 0; time < 5; time += 1) {
    const socket = connect(findPorts(service).public, '127.0.0.1')
    socket.write(
      'POST /thr/processor/cards HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n' +
        `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
        'Content-Length: 100\r\n\r\n{"cardType":',
    )
    await once(socket, 'connect')
    socket.destroy()
  }
  assert.equal(statusOf(await exchange(get('/problems'))), 200)
})

const host = 'Host: 127.0.0.1:8080'

/** All that comes back for some lines, which end the connection. */
const answerTo = (...lines: readonly string[]): Promise<string> =>
  exchange([...lines, 'Connection: close', '', ''].join('\r\n'))

test('a request of HTTP/1.1 names its host once, or is malformed like any other', async () => {
  const line = 'GET /problems HTTP/1.1'
  for (const hosts of [[], [host, host], [host, 'Host: elsewhere.test'], ['host:', host]]) {
    const answer = await answerTo(line, ...hosts)
    assert.match(answer, /^HTTP\/1\.1 400 /, hosts.join())
    assert.match(answer, /\r\nx-request-id: /i)
    assert.match(answer, /"code":"malformed_request"/)
  }
  assert.match(await answerTo(line, host), /^HTTP\/1\.1 200 /)
})

test('an expectation that is not known is passed over', async () => {
  assert.match(
    await answerTo('GET /problems HTTP/1.1', host, 'Expect: something'),
    /^HTTP\/1\.1 200 /,
  )
})

/** Sockets that never close their own side: what ends them is the service. */
const openPlain = (service: TestService): Socket =>
  keep(connect({ host: '127.0.0.1', port: findPorts(service).public, allowHalfOpen: true }))

const openTls = (): Socket => {
  const options: ConnectionOptions & { allowHalfOpen: boolean } = {
    host: '127.0.0.1',
    port: findPorts(tls).public,
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
  'a connection that says nothing': () => openPlain(service),
  'headers in drips': () => {
    const socket = openPlain(service)
    void drip(socket, `GET /problems HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Long: ${forever}`)
    return socket
  },
  'a body in drips': () => {
    const socket = openPlain(service)
    const length = `Content-Length: ${forever.length}`
    socket.write(head('POST /oauth/token HTTP/1.1', '127.0.0.1:8080', form, length))
    void drip(socket, forever)
    return socket
  },
  'a body in drips that was answered by its head': () => {
    const socket = openPlain(service)
    const length = `Content-Length: ${forever.length}`
    socket.write(head('POST /thr/processor/cards HTTP/1.1', '127.0.0.1:8080', length))
    void drip(socket, forever)
    return socket
  },
  'a second request in drips': () => {
    const socket = openPlain(service)
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
const promisedMs = 60_000

/** What a peer is answered, and how long the service kept it. */
const hear = async (socket: Socket): Promise<{ answer: string; lastedMs: number }> => {
  const startedAtMs = performance.now()
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  const late = AbortSignal.timeout(promisedMs)
  // A peer that still writes as it ends meets a reset, which is an end, too.
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  socket.once('end', resolve).once('close', resolve)
  await Promise.race([ended, once(late, 'abort')])
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
  while (service.connections.public.count() + tls.connections.public.count() > 0) {
    assert.equal(letGo.aborted, false, 'connections are counted that have ended')
    await sleep(50)
  }
})

test('an unread answer ends its connection, while a stream without events lives on', async () => {
  const reader = openPlain(service)
  const stream = openPlain(service)
  const bearer = `Authorization: Bearer ${await service.token()}`
  const accept = 'Accept: text/event-stream'
  const [chunks, fault] = [[] as Buffer[], new AbortController()]
  stream.on('data', (chunk: Buffer) => chunks.push(chunk)).once('close', () => fault.abort())
  stream.write(head('GET /thr/processor/events HTTP/1.1', '127.0.0.1:8080', bearer, accept))
  await once(stream, 'data')
  const path = '/openapi.json'
  reader.on('error', () => undefined).pause()
  // More than the buffers of two sockets take.
  reader.write(head(`GET ${path} HTTP/1.1`, '127.0.0.1:8080').repeat(200))
  const before = service.connections.public.count()
  assert.equal(before, 2)
  const late = performance.now() + 120_000
  while (service.connections.public.count() === 2) {
    assert.ok(performance.now() < late, 'The answer was kept for its reader.')
    await sleep(100)
  }
  while (!Buffer.concat(chunks).includes(': still here')) await once(stream, 'data')
  assert.ok(!fault.signal.aborted)
  for (const socket of [reader, stream]) socket.destroy()
})
