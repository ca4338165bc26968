import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  fetchKeys,
  requestCardData,
  type ServiceKeys,
  sealPin,
} from '../../../sdk/device/device.ts'
import { makeProductId } from '../../../src/domain/identifiers.ts'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import { grantProduct, insertProduct } from '../../../src/storage/clients/products.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openPglite } from '../../../src/storage/engine/pglite.ts'
import { makePreparedFolder, type Program, startProgram } from '../../support/process.ts'
import { newCard, sql } from '../../support/service.ts'

/** Waits for the keys of a first start. */
const untilKeys = async (program: Program): Promise<ServiceKeys> => {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const { status } = await fetch(`${program.baseUrl}/.well-known/jwks.json`)
    if (status === 200) return fetchKeys(program.baseUrl)
    assert.equal(status, 503)
    await wait(200)
  }
  return assert.fail('No keys were made within two minutes.')
}

interface Journey {
  /** What nobody but the device may see. */
  readonly secrets: readonly string[]
  /** What was told to the client system. */
  readonly answers: readonly string[]
}

const longPinProduct = makeProductId(9012)

/** Twelve digits are found by nobody by chance. */
const pins = ['719340628416', '805372914063'] as const

/** The database of a program that has stopped. */
const withDatabase = async <Result>(
  { dataDir }: Program,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const database = await openPglite(join(dataDir, 'pgdata'))
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const addLongPinProduct = (program: Program): Promise<void> =>
  withDatabase(program, async (database) => {
    const [common] = demoProducts
    assert.ok(common)
    await insertProduct(database, { ...common, productId: longPinProduct, pinLength: 12 })
    await grantProduct(database, program.sandbox.clientId, longPinProduct)
  })

/** A card, its data in both forms, and a PIN from the device, with an idempotency key. */
const getCardData = async (program: Program, service: ServiceKeys): Promise<Journey> => {
  const token = await program.token()
  const answers: string[] = []
  const call = async (path: string, body: object, headers = {}) => {
    const answer = await program.call('POST', path, { token, body, headers })
    answers.push(answer.text)
    return answer
  }
  const { json: card } = await call('/cards', newCard({ cardProduct: longPinProduct }))
  const secrets = new Set<string>(pins)
  for (const [index, pin] of pins.entries()) {
    const sealed = await sealPin(service, card.publicToken, pin)
    const path = `/card-pin/${card.publicToken}/pin`
    for (const _ of ['set', 'repeated']) {
      assert.equal((await call(path, sealed, { 'idempotency-key': `pin-${index}` })).status, 204)
    }
    await call(path, sealed)
  }
  for (const form of ['deviceKey', 'sessionKey'] as const) {
    const options = { form, includePin: true }
    const request = await requestCardData(service, card.publicToken, options)
    const path = `/cards/${card.publicToken}/encrypted`
    const { json } = await call(path, request.body, { 'idempotency-key': form })
    const { cvv, pan, pin = '' } = await request.open(json)
    for (const secret of [pan, pin, `"CVV":"${cvv}"`]) secrets.add(secret)
    await call(path, { ...request.body, key: 'nonsense' })
  }
  return { secrets: [...secrets], answers }
}

const contentsUnder = async (folder: string): Promise<Buffer[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map(({ name, parentPath }) => readFile(join(parentPath, name))))
}

test('a first start and its end wait for no RSA key; the next one makes them, and keeps every secret to the device', async () => {
  const dataDir = await makePreparedFolder(undefined, 'migrated')
  const first = await startProgram({ dataDir })
  const endedAt = performance.now()
  assert.deepEqual(await first.kill('SIGTERM'), { code: 0, signal: null })
  assert.ok(performance.now() - endedAt < 5_000, 'keys that are being made keep it from nothing')
  await addLongPinProduct(first)
  const program = await startProgram({ dataDir, env: { LOG_LEVEL: 'trace' } })
  const service = await untilKeys(program)
  const { answers, secrets } = await getCardData(program, service)
  await program.kill('SIGTERM')
  assert.equal(secrets.length, 4)
  const printed = program.stdout() + program.stderr() + answers.join('\n')
  const contents = await contentsUnder(program.dataDir)
  const found = (text: string) => contents.some((content) => content.includes(text))
  assert.ok(found('Everyday Debit'), 'the search finds what is there')
  for (const secret of secrets) {
    assert.ok(!printed.includes(secret), 'printed or answered')
    assert.ok(!found(secret), 'in a file')
  }
  const [counted] = await withDatabase(program, (database) =>
    sql(
      database,
      `select (select count(*)::int from hsm_key where key_name like 'card-data-%') as keys,
         (select count(*)::int from idempotency_record) as answers,
         (select count(*)::int from event where type = 'card_data.revealed') as events`,
    ),
  )
  assert.deepEqual(counted, { keys: 4, answers: 2, events: 2 })
})
