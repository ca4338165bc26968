import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, compactDecrypt, type JWK, jwtVerify } from 'jose'
import { requestCardData } from '../../../packages/sdk/device/device.ts'
import { Problem } from '../../../src/domain/problem.ts'
import { admitSessionKeys } from '../../../src/service/limits.ts'
import type { CreatedCard } from '../../support/service.ts'
import { type CardDataService, issuer, openCardDataService } from './service.ts'

const run = promisify(execFile)

let service: CardDataService
let card: CreatedCard

before(async () => {
  service = await openCardDataService({ env: { RATE_LIMIT: 'off' } })
  card = await service.createCard()
})

const nonce = 'device-key-nonce-1'

const publicJwk = (key: KeyObject): JWK => {
  const { crv, kty, x, y } = key.export({ format: 'jwk' }) as Required<JWK>
  return { kty, crv, x, ...(y && { y }) } as JWK
}

const reveal = async (deviceKey: JWK, includePin = true): Promise<string> => {
  const { json, status } = await service.getCardData(card.publicToken, {
    deviceKey,
    nonce,
    includePin,
  })
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(json), ['jwe'])
  return json.jwe
}

const headerOf = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())

const pairs = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  X25519: () => generateKeyPairSync('x25519'),
}

for (const [curve, makePair] of Object.entries(pairs)) {
  test(`another implementation opens the device-key form on ${curve}, and verifies it by its kid`, async () => {
    const { privateKey, publicKey } = makePair()
    const deviceKey = publicJwk(publicKey)
    const jwe = await reveal(deviceKey)
    const header = headerOf(jwe.split('.')[0] ?? '')
    assert.deepEqual(Object.keys(header).sort(), ['alg', 'cty', 'enc', 'epk'])
    assert.deepEqual([header.alg, header.enc], ['ECDH-ES', 'A256GCM'])
    assert.deepEqual(Object.keys(header.epk).sort(), Object.keys(deviceKey).sort())
    const { plaintext } = await compactDecrypt(jwe, privateKey)
    const jws = Buffer.from(plaintext).toString()
    const signKey = service.serviceKeys.keys.find(({ alg }) => alg === 'ES256')
    assert.ok(signKey)
    assert.deepEqual(headerOf(jws.split('.')[0] ?? ''), {
      alg: 'ES256',
      typ: 'card-data+jwt',
      kid: signKey.kid,
    })
    const { payload } = await jwtVerify<{ card: object; cnf: object }>(jws, signKey, {
      issuer,
      subject: card.publicToken,
      typ: 'card-data+jwt',
      algorithms: ['ES256'],
    })
    const { card: told, cnf, exp = 0, iat = 0, iss, nonce: answered, sub, ...others } = payload
    assert.deepEqual(others, {})
    assert.deepEqual([iss, sub, answered], [issuer, card.publicToken, nonce])
    assert.ok(exp > iat && exp - iat <= 60)
    assert.deepEqual(cnf, { jkt: await calculateJwkThumbprint(deviceKey, 'sha256') })
    assert.deepEqual(Object.keys(told).sort(), ['CVV', 'PAN', 'PIN', 'expiryDate'])
  })
}

test('each answer has a key of its own', async () => {
  const deviceKey = publicJwk(pairs['P-256']().publicKey)
  const jwes = await Promise.all(Array.from({ length: 8 }, () => reveal(deviceKey)))
  const keys = jwes.map((jwe) => headerOf(jwe.split('.')[0] ?? '').epk.x)
  assert.equal(new Set(keys).size, keys.length)
})

test('a device key that is private, off its curve, of small order or misspelt is refused', async () => {
  const { body } = await requestCardData(service.serviceKeys, card.publicToken)
  const deviceKey = 'deviceKey' in body ? body.deviceKey : assert.fail()
  const x25519 = generateKeyPairSync('x25519')
  const okp = { ...x25519.publicKey.export({ format: 'jwk' }) }
  const smallOrder = (hex: string) => ({
    ...okp,
    x: Buffer.from(hex.padEnd(64, '0'), 'hex').toString('base64url'),
  })
  const coordinate = randomBytes(32).toString('base64url')
  const faults: [string, object][] = [
    ['with its private half', { ...deviceKey, d: coordinate }],
    ['X25519 with its private half', x25519.privateKey.export({ format: 'jwk' })],
    ['off the curve', { ...deviceKey, y: coordinate }],
    ['the point at zero', { ...deviceKey, x: 'A'.repeat(43), y: 'A'.repeat(43) }],
    ['not canonical', { ...deviceKey, x: `${deviceKey.x.slice(0, -1)}_` }],
    ['without y', { ...deviceKey, y: undefined }],
    ['X25519 with y', { ...okp, y: deviceKey.y }],
    ['EC called X25519', { ...deviceKey, crv: 'X25519' }],
    ['another curve', { ...deviceKey, crv: 'P-384' }],
    ['a symmetric key', { kty: 'oct', k: coordinate }],
    ['order 1', smallOrder('00')],
    ['order 2', smallOrder('01')],
    ['order 8', smallOrder('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b8')],
    ['order 8', smallOrder('5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157')],
    ['order 2', smallOrder(`ec${'f'.repeat(60)}7f`)],
    ['order 1', smallOrder(`ee${'f'.repeat(60)}7f`)],
  ]
  for (const [what, fault] of faults) {
    const answer = await service.getCardData(card.publicToken, { deviceKey: fault, nonce })
    assert.deepEqual([answer.status, answer.json.code], [422, 'validation_failed'], what)
    assert.match(answer.json.errors[0].pointer, /^\/deviceKey/, what)
    assert.ok(!answer.text.includes(coordinate), what)
  }
  // What Web Cryptography adds to a public key by itself is no reason to refuse it.
  const exported = { ...deviceKey, key_ops: [], ext: true }
  const taken = await service.getCardData(card.publicToken, { deviceKey: exported, nonce })
  assert.equal(taken.status, 200)
})

const hasJose = await run('jose', ['alg']).then(
  () => true,
  () => false,
)
const lacksJose =
  !hasJose &&
  process.env.TEST_JOSE !== 'required' &&
  'the command jose is not installed (Debian: apt-get install jose)'

test('a second implementation, in C, opens and verifies the device-key form', {
  skip: lacksJose,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-jose-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const file = (name: string): string => join(folder, name)
  await run('jose', ['jwk', 'gen', '-i', '{"kty":"EC","crv":"P-256"}', '-o', file('device.jwk')])
  const { stdout } = await run('jose', ['jwk', 'pub', '-i', file('device.jwk'), '-o', '-'])
  await writeFile(file('jwe'), await reveal(JSON.parse(stdout)))
  await run('jose', ['jwe', 'dec', '-i', file('jwe'), '-k', file('device.jwk'), '-O', file('jws')])
  const { text } = await service.call('GET', '//.well-known/jwks.json', { token: null })
  const signKey = JSON.parse(text).keys.find(({ alg }: JWK) => alg === 'ES256')
  await writeFile(file('sign.jwk'), JSON.stringify(signKey))
  const verified = await run('jose', [
    ...['jws', 'ver', '-i', file('jws'), '-k', file('sign.jwk'), '-O', '-'],
  ])
  const claims = JSON.parse(verified.stdout)
  assert.deepEqual([claims.sub, claims.nonce], [card.publicToken, nonce])
  assert.match(claims.card.PAN, /^[0-9]{16}$/)
})

/** Calls that begin when it is their turn, and end when they are told to. */
const callsOf = ({ enter }: ReturnType<typeof admitSessionKeys>) => {
  const begun: string[] = []
  const leaves = new Map<string, () => void>()
  const ask = async (name: string) => {
    leaves.set(name, await enter(name.slice(0, 1)))
    begun.push(name)
  }
  const end = async (name: string) => {
    leaves.get(name)?.()
    await settle()
  }
  return { ask, begun, end }
}

test('waiting clients take turns, however many calls one of them sends', async () => {
  const { ask, begun, end } = callsOf(admitSessionKeys())
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map(ask)
  await settle()
  assert.deepEqual(begun, ['a1', 'a2'])
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']) await end(name)
  await Promise.all(all)
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2'])
})

test('a client with too many waiting calls is refused with Retry-After, and other clients are not', async () => {
  const { ask, begun, end } = callsOf(admitSessionKeys())
  const names = Array.from({ length: 102 }, (_, at) => `a${at}`)
  const all = names.map(ask)
  await assert.rejects(
    ask('a102'),
    (error) => error instanceof Problem && error.headers['retry-after'] === '1',
  )
  all.push(ask('b1'))
  for (const name of ['a0', 'a1', 'b1', ...names.slice(2)]) await end(name)
  await Promise.all(all)
  assert.deepEqual(begun, ['a0', 'a1', 'a2', 'b1', ...names.slice(3)])
})
