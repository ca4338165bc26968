import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { before, test } from 'node:test'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let port: number

before(async () => {
  service = await openTestService()
  await service.publicServer.listen({ port: 0, host: '127.0.0.1' })
  port = (service.publicServer.server.address() as AddressInfo).port
})

/** Sends bytes on a connection of its own, and reads until the service closes it. */
async function exchange(bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
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
  assert.equal(documentOf(answer).detail, 'The headers may have 16384 bytes together.')
})

test('a request without a Host is not answered as if it had one', async () => {
  const answer = await exchange('GET /problems HTTP/1.0\r\n\r\n')
  assert.deepEqual([statusOf(answer), documentOf(answer).code], [421, 'misdirected_request'])
})

test('two Authorization headers are refused: whoever stands in front may have judged the other', async () => {
  const bearer = `Authorization: Bearer ${await service.token()}\r\n`
  const path = get('/thr/processor/products', bearer)
  assert.equal(statusOf(await exchange(path)), 200)
  const answer = await exchange(path.replace(bearer, bearer + bearer))
  assert.deepEqual([statusOf(answer), documentOf(answer).code], [400, 'malformed_request'])
  assert.equal(documentOf(answer).detail, 'Authorization must be given once.')
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

test('a caller that goes away in the middle of its body harms nobody', async () => {
  const token = await service.token()
  for (let time = 0; time < 5; time += 1) {
    const socket = connect(port, '127.0.0.1')
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
