import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { unwrapKeyBlock } from '../../src/crypto/key-block.ts'
import { xaesKey } from '../../src/crypto/xaes-256-gcm.ts'
import { isPan } from '../../src/domain/pan.ts'
import { demoProducts } from '../../src/sandbox/demo-data.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { newProduct } from '../operations/clients/administer.ts'
import { openLeftDatabase } from '../support/builders.ts'
import { type Program, startProgram } from '../support/process.ts'
import { newCard, openTestService, sql } from '../support/service.ts'

const longPinProduct = 9012

/** Twelve digits are found by nobody by chance. */
const pins = ['719340628416', '805372914063', '340957281604'] as const

/** The database of a program that has stopped. */
async function withDatabase<Result>(
  dataDir: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await openLeftDatabase(dataDir)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** A program with a product whose PINs have twelve digits. */
async function startWithLongPins(): Promise<Program> {
  const program = await startProgram({ env: { LOG_LEVEL: 'trace' } })
  const token = await tokenOfAdministrator(program)
  const administer = async (method: string, path: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const url = `${program.privateUrl}${path}`
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.text())
  }
  await administer('POST', '/products', newProduct({ productId: longPinProduct, pinLength: 12 }))
  const productIds = [...demoProducts.map(({ productId }) => productId), longPinProduct]
  await administer('PATCH', `/clients/${program.sandbox.clientId}`, { productIds })
  return program
}

async function tokenOfAdministrator({ sandbox }: Program): Promise<string> {
  const { clientId, clientSecret } = sandbox.admin
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const answer = await fetch(sandbox.tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}

interface Journey {
  /** PINs of the cards, drawn and set. */
  readonly pins: ReadonlySet<string>
  /** Every answer that should hold no PIN. */
  readonly answers: readonly string[]
}

/** All operations, well and badly called, with PINs wherever a careless client may put them. */
async function runCards(program: Program): Promise<Journey> {
  const token = await program.token()
  const revealed = new Set<string>(pins)
  const answers: string[] = []
  const call = async (method: string, path: string, body?: unknown, headers = {}) => {
    const answer = await program.call(method, path, { token, body, headers })
    if (!(method === 'GET' && path.endsWith('/pin'))) {
      answers.push(answer.text, JSON.stringify([...answer.headers]))
    } else if (answer.status === 200) revealed.add(answer.json.pin)
    return answer
  }
  for (const [index, pin] of pins.entries()) {
    const { json } = await call('POST', '/cards', newCard({ cardProduct: longPinProduct }))
    const pinPath = `/card-pin/${json.publicToken}/pin`
    const cvvPath = `/card-cvv/${json.publicToken}/cvv/status`
    await call('GET', pinPath)
    const key = { 'idempotency-key': `pin-${index}` }
    for (const _ of ['set', 'repeated']) {
      assert.equal((await call('POST', pinPath, { pin }, key)).status, 204)
    }
    await call('POST', pinPath, { pin: `${pin}0` })
    await call('POST', pinPath, { pin, cardPin: pin })
    await call('POST', pinPath, { pin: Number(pin) })
    await call('POST', pinPath, { [pin]: pin, [`pin-${pin}`]: 1 })
    await call('POST', '/cards', newCard({ customerReference: pin, cardProduct: pin }))
    await call('GET', `/cards?customerReference=${pin}&cursor=${pin}&${pin}=1`)
    await call('GET', `/card-pin/${pin}/pin/status`)
    await call('GET', `//${pin}`)
    await call('GET', `//problems/${pin}`)
    await call('GET', `/cards/${json.publicToken}`, undefined, { 'x-request-id': 'r-1' })
    await call('PUT', cvvPath, { status: 'Blocked', description: `not ${pin[0]}` })
    await call('PUT', cvvPath, { status: pin })
    await call('POST', `${pinPath}/unblock`)
    await call('GET', pinPath)
  }
  return { pins: revealed, answers }
}

/** The PANs of every card, opened with the keys that lie in the same folder. */
async function readPans(dataDir: string): Promise<string[]> {
  const masterKey = Buffer.from((await readFile(join(dataDir, 'master.key'), 'utf8')).trim(), 'hex')
  return withDatabase(dataDir, async (database) => {
    const [panKey] = await sql<{ block: string }>(
      database,
      `select key_block as "block" from hsm_key where key_name = 'pan'`,
    )
    const { key } = unwrapKeyBlock(masterKey, String(panKey?.block))
    const cards = await sql<{ publicToken: string; sealed: Uint8Array }>(
      database,
      'select public_token as "publicToken", encrypted_pan as "sealed" from card',
    )
    return cards.map(({ publicToken, sealed }) => {
      const bytes = Buffer.from(sealed)
      const [ciphertext, tag] = [bytes.subarray(27, -16), bytes.subarray(-16)]
      const subject = Buffer.from(publicToken)
      return xaesKey(key).open(bytes.subarray(3, 27), subject, { ciphertext, tag }).toString()
    })
  })
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name))
}

/** How digits may lie in a file: as text, in two-byte characters, in base64, as packed decimals. */
const spellings = (digits: string): readonly Buffer[] => [
  Buffer.from(digits),
  Buffer.from(digits, 'utf16le'),
  // Without the last digits, which the text that follows would change.
  Buffer.from(Buffer.from(digits).toString('base64').replace(/=*$/, '').slice(0, -2)),
  Buffer.from(digits, 'hex'),
]

async function assertNoLeak(program: Program, journey: Journey): Promise<void> {
  const printed = Buffer.from(program.stdout() + program.stderr() + journey.answers.join('\n'))
  const files = await filesUnder(program.dataDir)
  const contents = await Promise.all(files.map((file) => readFile(file)))
  // Only now: opening the database writes to it.
  const pans = await readPans(program.dataDir)
  assert.ok(pans.length >= 3 && pans.every(isPan))
  assert.ok(journey.pins.size > pins.length)
  const places = [...contents.entries()].map(([index, content]) => [files[index], content] as const)
  for (const secret of [...pans, ...journey.pins].flatMap(spellings)) {
    assert.ok(!printed.includes(secret), 'what was printed or answered')
    for (const [place, content] of places) assert.ok(!content.includes(secret), place)
  }
  const known = Buffer.from('Everyday Debit')
  assert.ok(
    places.some(([, content]) => content.includes(known)),
    'the search finds what is there',
  )
}

const title = (signal: NodeJS.Signals) =>
  `after ${signal} no PAN and no PIN is in any file, log line or answer that should not hold it`

test(title('SIGKILL'), async () => {
  const program = await startWithLongPins()
  const journey = await runCards(program)
  await program.kill('SIGKILL')
  await assertNoLeak(program, journey)
})

test(title('SIGTERM'), async (t) => {
  const program = await startWithLongPins()
  const journey = await runCards(program)
  const secrets = await sendTraced(program)
  await program.kill('SIGTERM')
  await assertNoLeak(program, journey)
  await t.test('its log tells of each request by its route, id, trace and client', () => {
    assertTraced(linesOf(program.stdout()))
  })
  await t.test('its log holds no secret of them', async () => {
    const masterKey = (await readFile(join(program.dataDir, 'master.key'), 'utf8')).trim()
    const printed = program.stdout() + program.stderr()
    for (const secret of [...secrets, masterKey]) assert.ok(!printed.includes(secret), secret)
  })
})

const bads = [
  '00-0-0-0',
  '00-00000000000000000000000000000000-b7ad6b7169203331-01',
  '00-abcdef4111111111111111abcdefabcd-b7ad6b7169203331-01',
  'x',
]

/** Requests with names of their own. @returns what of them the log must not hold. */
async function sendTraced(program: Program): Promise<string[]> {
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
  const { clientSecret, network } = program.sandbox
  return [
    `"${json.pin}"`,
    token,
    token.split('.')[2] ?? '',
    clientSecret,
    ...network.zoneKeys.map(({ value }) => value),
    'Zacharias',
    'Quillfeather',
    'QUILLFEATHER',
    '1990-04-17',
    'Quiet note.',
    'reference-99',
    'key-of-a-client',
    publicToken,
  ]
}

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
const linesOf = (stdout: string): Line[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)

function assertTraced(lines: readonly Line[]): void {
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
}

test('a caller that goes away in the middle of its body is no fault of the service', async () => {
  const lines: string[] = []
  const service = await openTestService({ onLogLine: (line) => lines.push(line) })
  const token = await service.token()
  const { port } = new URL(await service.publicServer.listen({ host: '127.0.0.1', port: 0 }))
  for (const path of ['/thr/processor/cards', '/oauth/token']) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n',
    )
    // The service has begun to read.
    await once(socket, 'data')
    socket.end('{"cardType":')
    await once(socket, 'close')
  }
  await service.close()
  assert.ok(lines.length > 0)
  const errors = linesOf(lines.join('')).filter(({ level }) => level >= 50)
  assert.deepEqual(errors, [])
})
