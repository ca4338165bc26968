import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { parseClientJwks } from '../../../src/operations/clients/credentials.ts'
import { expireAssertions, rememberAssertion } from '../../../src/storage/clients/assertions.ts'
import { exponentOneJwk, forgeJwt, goodRsaJwk, weakRsaJwks } from '../../support/weak-rsa-keys.ts'
import { askToken, basic, type Running, register, runAuthorizationServer } from './support.ts'

const algorithms = ['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519']
const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const privateKeys = new Map<string, CryptoKey>()
let running: Running

before(async () => {
  running = await runAuthorizationServer()
  const keys = await Promise.all(
    algorithms.map(async (alg) => {
      const { privateKey, publicKey } = await generateKeyPair(alg)
      privateKeys.set(alg, privateKey)
      return { ...(await exportJWK(publicKey)), alg, kid: alg }
    }),
  )
  const jwks = JSON.stringify({ keys })
  await register(running.database, { clientId: 'bank', jwks })
  await register(running.database, { clientId: 'rival', jwks, secretHash: null })
})
after(() => running.close())

interface Deviation {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, string>>
  readonly algorithm?: string
  readonly key?: CryptoKey | Uint8Array
}

function assertion({ algorithm = 'ES256', claims, header, key }: Deviation = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000)
  const signingKey = key ?? privateKeys.get(algorithm)
  assert.ok(signingKey)
  return new SignJWT({
    iss: 'bank',
    sub: 'bank',
    aud: running.issuer,
    jti: randomUUID(),
    iat: now,
    exp: now + 60,
    ...claims,
  })
    .setProtectedHeader({ alg: algorithm, kid: algorithm, ...header })
    .sign(signingKey)
}

const ask = (client_assertion: string, parameters: Readonly<Record<string, string>> = {}) =>
  askToken(running.issuer, { client_assertion, client_assertion_type: type, ...parameters })

for (const algorithm of algorithms) {
  test(`a client gets a token by private_key_jwt with ${algorithm}`, async () => {
    const { body, status } = await ask(await assertion({ algorithm }))
    assert.equal(status, 200, String(body.error_description))
    assert.equal(body.scope, 'cards.read cards.write pin.write')
  })
}

test('an assertion may name its type and the client beside it', async () => {
  for (const typ of ['JWT', 'client-authentication+jwt']) {
    const accepted = await ask(await assertion({ header: { typ } }), { client_id: 'bank' })
    assert.equal(accepted.status, 200)
  }
})

test('an assertion is accepted once, also of many that come at once', async () => {
  const once = await assertion()
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(once)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.ok(answers.every(({ body, status }) => status === 200 || body.error === 'invalid_client'))
  assert.equal((await ask(once)).status, 401)
})

test('two clients may use the same jti', async () => {
  const jti = randomUUID()
  assert.equal((await ask(await assertion({ claims: { jti } }))).status, 200)
  const rival = await assertion({ claims: { jti, iss: 'rival', sub: 'rival' } })
  assert.equal((await ask(rival)).status, 200)
})

test('a client with keys cannot fall back to a secret', async () => {
  const { body } = await askToken(running.issuer, {}, { authorization: basic('bank') })
  assert.equal(body.error, 'invalid_client')
})

const now = Math.floor(Date.now() / 1_000)
const refused: readonly (readonly [string, () => Deviation])[] = [
  ['meant for the token endpoint', () => ({ claims: { aud: `${running.issuer}/oauth/token` } })],
  ['meant for another server', () => ({ claims: { aud: 'https://elsewhere.test' } })],
  ['meant for another server too', () => ({ claims: { aud: [running.issuer, 'https://b.test'] } })],
  ['expired', () => ({ claims: { exp: now - 60 } })],
  ['without exp', () => ({ claims: { exp: undefined } })],
  ['that lives for an hour', () => ({ claims: { exp: now + 3_600 } })],
  ['not valid yet', () => ({ claims: { nbf: now + 120 } })],
  ['of the future', () => ({ claims: { iat: now + 120 } })],
  ['without jti', () => ({ claims: { jti: undefined } })],
  ['with an endless jti', () => ({ claims: { jti: 'x'.repeat(256) } })],
  ['issued by another', () => ({ claims: { iss: 'rival' } })],
  ['about an unknown client', () => ({ claims: { iss: 'nobody', sub: 'nobody' } })],
  ['that is an access token', () => ({ header: { typ: 'at+jwt' } })],
  ['signed by a key of another kind', () => ({ header: { kid: 'PS256' } })],
  ['signed by an unknown key', () => ({ header: { kid: 'other' } })],
]

for (const [title, deviation] of refused) {
  test(`an assertion ${title} is 401 invalid_client`, async () => {
    const { body, status } = await ask(await assertion(deviation()))
    assert.deepEqual([status, body.error], [401, 'invalid_client'])
  })
}

test('an assertion signed with a shared secret or not at all is refused', async () => {
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claims = { iss: 'bank', sub: 'bank', aud: running.issuer, jti: 'n', exp: now + 60 }
  const unsigned = `${encode({ alg: 'none' })}.${encode(claims)}.`
  const { alg: _, ...publicJwk } = await exportJWK((await generateKeyPair('ES256')).publicKey)
  const shared = await assertion({
    algorithm: 'HS256',
    key: Buffer.from(JSON.stringify(publicJwk)),
  })
  for (const refusedAssertion of [unsigned, shared]) {
    assert.equal((await ask(refusedAssertion)).body.error, 'invalid_client')
  }
})

test('an unusable registered key authenticates no client, and its fault is not disclosed', async () => {
  const jwks = JSON.stringify({ keys: [{ kty: 'oct', k: 'AAAA' }] })
  await register(running.database, { clientId: 'broken', jwks })
  const { body } = await ask(await assertion({ claims: { iss: 'broken', sub: 'broken' } }))
  assert.deepEqual(body, {
    error: 'invalid_client',
    error_description:
      'The client authentication failed. Check the client id, its secret or key, the method of ' +
      'authentication, and that the client is not disabled.',
  })
  assert.equal(running.failures.length, 1, 'the operator hears of it')
})

test('an assertion that a weak key verifies is refused, although the key was registered before', async () => {
  const now = Math.floor(Date.now() / 1_000)
  const jwks = JSON.stringify({ keys: [{ ...exponentOneJwk, alg: 'RS256', kid: 'weak' }] })
  await register(running.database, { clientId: 'weak', jwks })
  const forged = forgeJwt(
    { kid: 'weak' },
    {
      iss: 'weak',
      sub: 'weak',
      aud: running.issuer,
      jti: randomUUID(),
      iat: now,
      exp: now + 60,
    },
  )
  const { body, status } = await ask(forged)
  assert.deepEqual([status, body.error], [401, 'invalid_client'])
  assert.ok(!('access_token' in body))
})

test('a weak RSA key is registered for no client', () => {
  for (const [what, jwk] of Object.entries(weakRsaJwks)) {
    assert.throws(() => parseClientJwks(jwk), /RSA key|are not a valid key/, what)
  }
  assert.match(parseClientJwks(goodRsaJwk), /"kty":"RSA"/)
})

test('what has expired is forgotten in small steps, what has not is kept', async () => {
  const jtiHash = (jti: string) => createHash('sha256').update(jti).digest()
  const remember = (jti: string, expiresAt: Date) =>
    rememberAssertion(running.database, { clientId: 'old', jtiHash: jtiHash(jti), expiresAt })
  const moment = new Date('2020-01-01T00:00:00Z')
  for (const jti of ['a', 'b', 'c']) {
    assert.equal(await remember(jti, new Date(moment.getTime() - 1)), true)
  }
  assert.equal(await remember('kept', moment), true)
  assert.equal(await expireAssertions(running.database, moment, 2), 2)
  assert.equal(await expireAssertions(running.database, moment, 2), 1)
  assert.equal(await expireAssertions(running.database, moment, 2), 0)
  assert.equal(await remember('kept', moment), false)
})
