import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { unwrapKeyBlock } from '../../src/crypto/key-block.ts'
import { xaesKey } from '../../src/crypto/xaes-256-gcm.ts'
import { isPan } from '../../src/domain/pan.ts'
import { demoProducts } from '../../src/sandbox/demo-products.ts'
import type { Database } from '../../src/storage/database.ts'
import { openPglite } from '../../src/storage/pglite.ts'
import { newProduct } from '../administration/administer.ts'
import { type Program, startProgram } from '../support/process.ts'
import { newCard, sql } from '../support/service.ts'

const longPinProduct = 9012

/** Twelve digits are found by nobody by chance. */
const pins = ['719340628416', '805372914063', '340957281604'] as const

/** The database of a program that has stopped. */
async function withDatabase<Result>(
  dataDir: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await openPglite(join(dataDir, 'pgdata'))
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
async function travel(program: Program): Promise<Journey> {
  const token = await program.token()
  const told = new Set<string>(pins)
  const answers: string[] = []
  const call = async (method: string, path: string, body?: unknown, headers = {}) => {
    const answer = await program.call(method, path, { token, body, headers })
    if (!(method === 'GET' && path.endsWith('/pin'))) {
      answers.push(answer.text, JSON.stringify([...answer.headers]))
    } else if (answer.status === 200) told.add(answer.json.pin)
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
  return { pins: told, answers }
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

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`after ${signal} no PAN and no PIN is in any file, log line or answer that should not hold it`, async () => {
    const program = await startWithLongPins()
    const journey = await travel(program)
    await program.kill(signal)
    const printed = Buffer.from(program.stdout() + program.stderr() + journey.answers.join('\n'))
    const files = await filesUnder(program.dataDir)
    const contents = await Promise.all(files.map((file) => readFile(file)))
    // Only now: opening the database writes to it.
    const pans = await readPans(program.dataDir)
    assert.ok(pans.length >= 3 && pans.every(isPan))
    assert.ok(journey.pins.size > pins.length)
    const places = [...contents.entries()].map(
      ([index, content]) => [files[index], content] as const,
    )
    for (const secret of [...pans, ...journey.pins].flatMap(spellings)) {
      assert.ok(!printed.includes(secret), 'what was printed or answered')
      for (const [place, content] of places) assert.ok(!content.includes(secret), place)
    }
    const known = Buffer.from('Everyday Debit')
    assert.ok(
      places.some(([, content]) => content.includes(known)),
      'the search finds what is there',
    )
  })
}
