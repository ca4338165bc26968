import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  fetchKeys,
  pinKeys,
  requestCardData,
  type ServiceKeys,
  sealPin,
} from '../../../packages/sdk/device/device.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { composeHeader } from '../../../src/hsm/keys/key-purposes.ts'
import { openSoftwareKeyEngine } from '../../../src/hsm/software/key-engine.ts'
import { SecretKey, toMasterKeys } from '../../../src/hsm/software/master-keys.ts'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openLeftDatabase, product } from '../../support/builders.ts'
import { makePreparedFolder, type Program, startProgram } from '../../support/process.ts'
import {
  type CreatedCard,
  newCard,
  openTestService,
  sql,
  strongPins,
} from '../../support/service.ts'
import {
  type CardDataService,
  issuer,
  keepKeyVersion,
  openCardDataService,
  relay,
  rsaTestKey,
} from './service.ts'

let service: CardDataService
let card: CreatedCard

before(async () => {
  service = await openCardDataService({ env: { RATE_LIMIT: 'off' } })
  card = await service.createCard()
})

const open = { token: null }

const publishedKeys = async (): Promise<ServiceKeys> =>
  pinKeys(issuer, (await service.call('GET', '//.well-known/jwks.json', open)).json)

test('the keys of card data are published, and no others, each for one purpose', async () => {
  const { headers, json, status } = await service.call('GET', '//.well-known/jwks.json', open)
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^application\/json/)
  const purposes = json.keys.map(({ alg, kid, kty, use }: Record<string, string>) =>
    [kid, kty, use, alg].join(' '),
  )
  assert.deepEqual(purposes, [
    'card-data-wrap-1 RSA enc RSA-OAEP-256',
    'card-data-sign-1 RSA sig PS256',
    'card-data-sign-ec-1 EC sig ES256',
    'card-data-pin-1 EC enc ECDH-ES',
  ])
  const members = { RSA: 'alg,e,kid,kty,n,use', EC: 'alg,crv,kid,kty,use,x,y' }
  for (const key of json.keys as { kty: 'RSA' | 'EC' }[]) {
    assert.equal(Object.keys(key).sort().join(), members[key.kty])
  }
})

test('each key is there in PEM, too, without a token, for a page of any origin', async () => {
  for (const key of service.serviceKeys.keys) {
    const { headers, status, text } = await service.call('GET', `/keys/${key.kid}.pem`, open)
    assert.deepEqual([status, headers['access-control-allow-origin']], [200, '*'])
    const { e, n, x, y } = createPublicKey(text).export({ format: 'jwk' })
    assert.deepEqual([e, n, x, y], [key.e, key.n, key.x, key.y])
  }
  const [wrap] = service.serviceKeys.keys
  assert.equal(Buffer.from(wrap?.n ?? '', 'base64url').length, 512)
  for (const kid of ['card-data-wrap-9', 'token-signing-1', 'pan-1', 'x']) {
    const { json, status } = await service.call('GET', `/keys/${kid}.pem`, open)
    assert.deepEqual([status, json.code], [404, 'not_found'])
  }
})

test('requests that need the RSA keys are unavailable until these are made', async () => {
  const young = await openTestService()
  const { publicToken } = await young.createCard()
  const path = `/cards/${publicToken}/encrypted`
  const { body } = await requestCardData(service.serviceKeys, publicToken, { form: 'sessionKey' })
  const answers = [
    await young.call('GET', '//.well-known/jwks.json', open),
    await young.call('GET', '/keys/card-data-wrap-1.pem', open),
    await young.call('POST', path, { body }),
  ]
  for (const { headers, json, status } of answers) {
    assert.deepEqual([status, json.code], [503, 'unavailable'])
    assert.ok(Number(headers['retry-after']) >= 1)
  }
  const text = `select 1 from event where type = 'card_data.revealed'`
  assert.equal((await sql(young.database, text)).length, 0)
})

test('keys rotate with overlap: the new one is first, the old one works until it is retired', async () => {
  const old = service.serviceKeys
  const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  await keepKeyVersion(service, 'card-data-wrap', 2, rsaTestKey('other'))
  await keepKeyVersion(service, 'card-data-sign', 2, rsaTestKey('other'))
  await keepKeyVersion(service, 'card-data-sign-ec', 2, ec())
  await keepKeyVersion(service, 'card-data-pin', 2, ec())
  await service.keys.hsm.refreshKeys()
  const both = await publishedKeys()
  assert.deepEqual(
    both.keys.map(({ kid }) => kid),
    ['wrap-2', 'wrap-1', 'sign-2', 'sign-1', 'sign-ec-2', 'sign-ec-1', 'pin-2', 'pin-1'].map(
      (name) => `card-data-${name}`,
    ),
  )
  const reveal = async (keys: ServiceKeys, form: 'deviceKey' | 'sessionKey') => {
    const request = await requestCardData(keys, card.publicToken, { form })
    return request.open(await relay(service, card.publicToken, request.body))
  }
  const setPin = async (keys: ServiceKeys, index: number): Promise<number> => {
    const body = await sealPin(keys, card.publicToken, strongPins(card)[index] ?? '')
    return (await service.call('POST', `/card-pin/${card.publicToken}/pin`, { body })).status
  }
  for (const form of ['deviceKey', 'sessionKey'] as const) {
    assert.equal((await reveal(both, form)).pan.length, 16)
    // The old wrap key still opens; what is signed now, old keys alone do not verify.
    await assert.rejects(reveal(old, form), { name: 'DeviceError' })
  }
  assert.deepEqual([await setPin(old, 0), await setPin(both, 1)], [204, 204])
  await sql(
    service.database,
    `update hsm_key set state = 'retired' where key_name like 'card-data-%' and key_version = 1`,
  )
  await service.keys.hsm.refreshKeys()
  assert.equal((await publishedKeys()).keys.length, 4)
  assert.equal(await setPin(old, 2), 422)
  const { body } = await requestCardData(old, card.publicToken, { form: 'sessionKey' })
  const refused = await service.getCardData(card.publicToken, body)
  assert.equal(refused.json.code, 'invalid_session_key')
  assert.equal((await reveal(await publishedKeys(), 'sessionKey')).pan.length, 16)
})

test('a key block that changed places with another opens for nothing', async () => {
  const masterKey = new SecretKey(randomBytes(32))
  const engine = openSoftwareKeyEngine(masterKey)
  const wrapped = (name: 'card-data-wrap' | 'card-data-sign') =>
    toMasterKeys(masterKey).wrap(
      composeHeader(keyCatalogue[name].kind, 'N'),
      rsaTestKey(name).export({ format: 'der', type: 'pkcs8' }),
    )
  const generated = async (name: 'card-data-sign-ec' | 'card-data-pin') =>
    (await engine.generate(keyCatalogue[name].kind)).keyBlock
  const blocks = {
    'card-data-wrap': wrapped('card-data-wrap'),
    'card-data-sign': wrapped('card-data-sign'),
    'card-data-sign-ec': await generated('card-data-sign-ec'),
    'card-data-pin': await generated('card-data-pin'),
  }
  const names = Object.keys(blocks) as (keyof typeof blocks)[]
  for (const name of names) {
    for (const other of names) {
      const opening = engine.open(keyCatalogue[other].kind, blocks[name])
      if (other === name) await opening
      else await assert.rejects(opening, `${name} as ${other}`)
    }
  }
})

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

const longPinProduct = 9012

/** Twelve digits are found by nobody by chance. */
const pins = ['719340628416', '805372914063'] as const

/** The database of a program that has stopped. */
const withDatabase = async <Result>(
  { dataDir }: Program,
  work: (database: Database) => Promise<Result>,
): Promise<Result> => {
  const database = await openLeftDatabase(dataDir)
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
    const members = { ...common, productId: longPinProduct, pinLength: 12 }
    await product(database, members, program.sandbox.clientId)
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

test('a first start waits for no RSA key, and the next keeps each secret to the device', async () => {
  const dataDir = await makePreparedFolder(undefined, 'migrated')
  const first = await startProgram({ dataDir })
  // A program that takes longer than 5 s ends itself with exit code 1.
  assert.deepEqual(await first.kill('SIGTERM'), { code: 0, signal: null })
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

test('a page that is traced may fetch the public keys: its browser asks first, and is let', async () => {
  const published = (await service.call('GET', '//.well-known/jwks.json', open)).json.keys
  const pem = `/keys/${published[0].kid}.pem`
  for (const path of ['//.well-known/jwks.json', '//.well-known/audit-log-keys', pem]) {
    const answer = await service.call('OPTIONS', path, {
      ...open,
      headers: {
        origin: 'https://shop.test',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'baggage,traceparent',
      },
    })
    assert.equal(answer.status, 204, path)
    assert.equal(answer.headers['access-control-allow-origin'], '*')
    assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    const allowed = String(answer.headers['access-control-allow-headers']).split(', ')
    for (const name of ['traceparent', 'tracestate', 'baggage']) assert.ok(allowed.includes(name))
    assert.ok(!allowed.includes('authorization') && !allowed.includes('*'))
  }
  // What needs a token is nobody's to ask from a page.
  const refused = await service.call('OPTIONS', '/products', open)
  assert.ok(refused.status >= 400 && !('access-control-allow-origin' in refused.headers))
})
