import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { pinKeys, requestCardData, type ServiceKeys, sealPin } from '../../../sdk/device/device.ts'
import { keyCatalogue } from '../../../src/hsm/contract/catalogue.ts'
import { headerOf } from '../../../src/hsm/keys/key-purposes.ts'
import { openSoftwareKeyEngine } from '../../../src/hsm/software/key-engine.ts'
import { masterKeysOf, SecretKey } from '../../../src/hsm/software/master-keys.ts'
import { type CreatedCard, openTestService, sql, strongPins } from '../../support/service.ts'
import { rsaTestKey } from './rsa-test-key.ts'
import {
  type CardDataService,
  issuer,
  keepKeyVersion,
  openCardDataService,
  relay,
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

test('until the RSA keys are made, what needs them is unavailable, tells when to ask again, and is no disclosure', async () => {
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
    masterKeysOf(masterKey).wrap(
      headerOf(keyCatalogue[name].kind, 'N'),
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
