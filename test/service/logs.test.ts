import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Program, startProgram } from '../support/process.ts'
import { newCard } from '../support/service.ts'

interface Line {
  readonly level: number
  readonly msg: string
  readonly requestId?: string
  readonly traceId?: string
  readonly route?: string
  readonly status?: number
  readonly clientId?: string
}

/** The lines of the log: all of standard output but the welcome. */
const linesOf = (program: Program): Line[] =>
  program
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)

test('the log tells of each request by its route, id, trace and client, and holds no secret', async () => {
  const program = await startProgram({ env: { LOG_LEVEL: 'trace' } })
  const token = await program.token()
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const holder = { firstName: 'Zacharias', lastName: 'Quillfeather', dateOfBirth: '1990-04-17' }
  const card = await program.call('POST', '/cards', {
    token,
    body: newCard({ cardHolder: holder, customerReference: 'reference-99', cardProduct: 1003 }),
    headers: { 'x-request-id': 'first', traceparent, 'idempotency-key': 'key-of-a-client' },
  })
  const { publicToken } = card.json
  const path = `/card-pin/${publicToken}/pin`
  const { json } = await program.call('GET', path, { token, headers: { 'x-request-id': 'second' } })
  await program.call('POST', path, { token, body: { pin: json.pin, description: 'Quiet note.' } })
  await program.call('POST', path, { token, body: { pin: 'x', secret: json.pin } })
  await program.call('GET', `/cards?customerReference=reference-99`, { token })
  const bads = [
    '00-0-0-0',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-abcdef4111111111111111abcdefabcd-b7ad6b7169203331-01',
    'x',
  ]
  for (const bad of bads) {
    await program.call('GET', '/products', {
      token,
      headers: { 'x-request-id': 'untraced', traceparent: bad },
    })
  }
  await program.call('GET', '/products', {
    token: `${token}x`,
    headers: { 'x-request-id': 'last' },
  })
  await program.kill('SIGTERM')

  const lines = linesOf(program)
  const about = (id: string) => lines.filter(({ requestId }) => requestId === id)
  const [first, ...more] = about('first')
  assert.deepEqual(more, [])
  assert.partialDeepStrictEqual(first, {
    msg: 'answered',
    listener: 'public',
    method: 'POST',
    route: '/thr/processor/cards',
    status: 201,
    clientId: 'demo-client',
    traceId: '0af7651916cd43dd8448eb211c80319c',
  })
  assert.equal(about('second')[0]?.route, '/thr/processor/card-pin/:publicToken/pin')
  assert.equal(about('untraced').length, bads.length)
  assert.ok(about('untraced').every(({ traceId }) => traceId === undefined))
  assert.deepEqual([about('last')[0]?.status, about('last')[0]?.clientId], [401, undefined])

  const printed = program.stdout() + program.stderr()
  const masterKey = (await readFile(join(program.dataDir, 'master.key'), 'utf8')).trim()
  const { clientSecret, network } = program.sandbox
  for (const secret of [
    `"${json.pin}"`,
    token,
    token.split('.')[2] ?? '',
    clientSecret,
    masterKey,
    ...network.zoneKeys.map(({ value }) => value),
    'Zacharias',
    'Quillfeather',
    'QUILLFEATHER',
    '1990-04-17',
    'Quiet note.',
    'reference-99',
    'key-of-a-client',
    publicToken,
  ]) {
    assert.ok(!printed.includes(secret), secret)
  }
})

test('a caller that goes away in the middle of its body is no fault of the service', async () => {
  const program = await startProgram()
  const token = await program.token()
  const { host, port } = new URL(program.baseUrl)
  for (const path of ['/thr/processor/cards', '/oauth/token']) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n',
    )
    // The service has begun to read.
    await once(socket, 'data')
    socket.end('{"cardType":')
    await once(socket, 'close')
  }
  await program.kill('SIGTERM')
  const errors = linesOf(program).filter(({ level }) => level >= 50)
  assert.deepEqual(errors, [])
})
