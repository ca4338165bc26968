import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isScope, listScopes } from '../../../src/domain/client.ts'
import { claimedClientId } from '../../../src/listeners/oauth/claimed-client.ts'
import {
  generateClientSecret,
  hashClientSecret,
  matchesClientSecret,
  parseClientJwks,
} from '../../../src/operations/clients/credentials.ts'
import { openTestService, sql } from '../../support/service.ts'
import { basic } from './support.ts'

const folder = await mkdtemp(join(tmpdir(), 'pinfold-admins-'))
after(() => rm(folder, { recursive: true, force: true }))

const pairs = {
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: generateKeyPairSync('ed25519'),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
}
const publicJwk = (name: keyof typeof pairs) => pairs[name].publicKey.export({ format: 'jwk' })

test('a client secret has 256 random bits, and only its hash is compared', () => {
  const secret = generateClientSecret()
  assert.match(secret, /^[\w-]{43}$/)
  assert.notEqual(secret, generateClientSecret())
  const hash = hashClientSecret(secret)
  assert.equal(hash.length, 32)
  assert.equal(matchesClientSecret(secret, hash), true)
  assert.equal(matchesClientSecret(`${secret}x`, hash), false)
  assert.equal(matchesClientSecret('', new Uint8Array()), false)
})

test('public keys of every accepted kind are stored, alone or as a set', () => {
  const single = { keys: [{ ...publicJwk('ec'), use: 'sig' }] }
  assert.deepEqual(JSON.parse(parseClientJwks(publicJwk('ec'))), single)
  const keys = [publicJwk('ec'), { ...publicJwk('ed25519'), alg: 'EdDSA' }, publicJwk('rsa')]
  assert.equal(JSON.parse(parseClientJwks({ keys })).keys.length, 3)
})

test('the kid of a key is a UUID, whatever its digits, and no card number', () => {
  const named = (kid: string) => () => parseClientJwks({ ...publicJwk('ec'), kid })
  // Luhn-valid: 532653032864.
  assert.equal(JSON.parse(named('87cbc1b5-527c-4f8c-b532-653032864aaf')()).keys.length, 1)
  assert.throws(named('4242424242424242'), TypeError)
})

test('nothing is stored of a key but what verifies', () => {
  const stored = parseClientJwks({
    ...publicJwk('ec'),
    kid: 'a',
    use: 'enc',
    note: 'x',
    key_ops: [],
  })
  assert.deepEqual(JSON.parse(stored).keys, [{ ...publicJwk('ec'), kid: 'a', use: 'sig' }])
})

test('a private, weak, foreign or broken key is refused', () => {
  const refused: readonly unknown[] = [
    null,
    'a',
    [],
    {},
    { keys: [] },
    { keys: Array.from({ length: 11 }, () => publicJwk('ec')) },
    { keys: [publicJwk('ec'), null] },
    pairs.ec.privateKey.export({ format: 'jwk' }),
    { kty: 'oct', k: 'AAAA' },
    { ...publicJwk('ec'), alg: 'HS256' },
    { ...publicJwk('ec'), x: 'AAAA' },
    { ...publicJwk('ec'), x: undefined },
    generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }),
    generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }),
    generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' }),
  ]
  for (const value of refused) assert.throws(() => parseClientJwks(value), TypeError)
})

test('the client that a token request claims is found in every form of authentication', () => {
  const form = (fields: Record<string, string>) =>
    Buffer.from(new URLSearchParams(fields).toString())
  const payload = Buffer.from(JSON.stringify({ sub: 'acme' })).toString('base64url')
  assert.equal(claimedClientId(undefined, form({ client_id: 'acme' })), 'acme')
  assert.equal(claimedClientId(basic('acme'), form({})), 'acme')
  assert.equal(claimedClientId(basic('a%2Fb'), form({})), 'a/b')
  assert.equal(claimedClientId(undefined, form({ client_assertion: `e30.${payload}.x` })), 'acme')
  for (const nobody of [{}, { client_id: 'x'.repeat(65) }, { client_assertion: 'a.b.c' }]) {
    assert.equal(claimedClientId('Bearer x', form(nobody)), undefined)
  }
})

test('a scope belongs to one listener', () => {
  const ofThePrivateOne = listScopes('private')
  assert.deepEqual(ofThePrivateOne.slice(0, 2), ['authorizations.write', 'admin'])
  assert.ok(ofThePrivateOne.includes('approve'))
  assert.deepEqual([...listScopes('public'), ...ofThePrivateOne], listScopes())
  assert.equal(isScope('toString'), false)
})

const administratorJwk = (kid?: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...publicKey.export({ format: 'jwk' }), ...(kid !== undefined && { kid }) }
}

let files = 0
const fileOf = async (content: unknown): Promise<string> => {
  files += 1
  const file = join(folder, `admins-${files}.jwk`)
  await writeFile(file, JSON.stringify(content))
  return file
}

test('a set of keys names several first administrators, each by its kid, in whom nobody had a hand', async () => {
  const keys = [administratorJwk('ana'), administratorJwk('bo')]
  const env = { ADMIN_JWK_FILE: await fileOf({ keys }) }
  const service = await openTestService({ env })
  const get = (clientId: string) =>
    service.call('GET', `//clients/${clientId}`, { as: 'admin', listener: 'private' })
  for (const [at, clientId] of ['ana', 'bo'].entries()) {
    const { json } = await get(clientId)
    assert.deepEqual(
      [json.kind, json.createdBy, json.controlledBy, json.jwks.keys[0].x],
      ['admin', null, [], keys[at]?.x],
    )
  }
  assert.equal((await get('admin')).status, 404)
})

test('the key of a first administrator that the file puts back counts as another one than before', async () => {
  const env = { ADMIN_JWK_FILE: await fileOf(administratorJwk()) }
  const service = await openTestService({ env })
  const of = async () =>
    (await service.call('GET', '//clients/admin', { as: 'admin', listener: 'private' })).json
  assert.equal((await of()).credentialsVersion, 1)
  const body = { jwks: administratorJwk() }
  await service.call('PATCH', '//clients/admin', { as: 'admin', listener: 'private', body })
  const { database, dataDir } = service
  await sql(database, `update client set credentials_changed_at = now() - interval '1 day'`)
  await openTestService({ database, dataDir, env })
  const after = await of()
  // Whoever had given it theirs may hold a token still, and stays behind it until it is confirmed.
  assert.deepEqual([after.credentialsVersion, after.controlledBy], [3, ['demo-admin']])
  const [row] = await sql<{ recent: boolean }>(
    database,
    `select credentials_changed_at > now() - interval '1 hour' as recent from client
     where client_id = 'admin'`,
  )
  assert.equal(row?.recent, true)
})

test('a key set that could make one person two is refused before the registration', async () => {
  const jwk = administratorJwk('ana')
  for (const [keys, why] of [
    [[jwk, { ...jwk, kid: 'bo' }], /twice/],
    [[jwk, administratorJwk('ana')], /same kid/],
    [[jwk, administratorJwk()], /needs a kid/],
    [[jwk, administratorJwk('a b')], /needs a kid/],
    [[], /1 to 10/],
  ] as const) {
    const env = { ADMIN_JWK_FILE: await fileOf({ keys }) }
    await assert.rejects(openTestService({ env }), (error: Error) => {
      assert.match(error.message, /must hold the public JWK of the first administrator/)
      return why.test(String(error.cause))
    })
  }
})
