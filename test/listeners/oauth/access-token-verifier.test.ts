import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { decodeJwt, SignJWT } from 'jose'
import { Problem } from '../../../src/domain/problem.ts'
import {
  type AccessTokenVerifierOptions,
  createAccessTokenVerifier,
} from '../../../src/listeners/oauth/access-token-verifier.ts'
import { findClient } from '../../../src/storage/clients/clients.ts'
import { setClientActive } from '../../support/builders.ts'
import {
  askToken,
  audiences,
  basic,
  forge,
  type Running,
  register,
  runAuthorizationServer,
  signingKey,
} from './support.ts'

let running: Running
let token: string

before(async () => {
  running = await runAuthorizationServer()
  await register(running.database, {})
  await register(running.database, { clientId: 'root', kind: 'admin', scopes: ['admin'] })
  token = await tokenOf('acme')
})
after(() => running.close())

const tokenOf = async (clientId: string): Promise<string> => {
  const { body } = await askToken(running.issuer, {}, { authorization: basic(clientId) })
  return String(body.access_token)
}

const makeVerifier = (options: Partial<AccessTokenVerifierOptions> = {}) =>
  createAccessTokenVerifier({
    issuer: running.issuer,
    audience: audiences.public,
    listener: 'public',
    keys: running.server.publicKeys,
    findClient: (clientId) => findClient(running.database, clientId),
    ...options,
  })

const firstKey = () => {
  const key = running.keys[0]
  assert.ok(key)
  return key.privateKey
}

const isRefusal = (challenge: string, detail: string) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.code, 'unauthenticated')
  assert.equal(error.detail, detail)
  assert.equal(error.headers['www-authenticate'], challenge)
  return true
}

/** The text of each refusal: one for signature, key and client, which a forger could learn from. */
const reasons = {
  noHeader: 'The request has no Authorization header. Send "Authorization: Bearer <token>".',
  otherScheme:
    'The Authorization header does not have the scheme Bearer. Send "Authorization: Bearer ' +
    '<token>".',
  noToken:
    'The Authorization header has no token of the form that RFC 6750 defines. Send ' +
    '"Authorization: Bearer <token>", with the token on one line and without quotes.',
  noJwt:
    'The token is not an access token of this service. Request one at the token endpoint, which ' +
    'is /oauth/token unless AUTH_ISSUER names another.',
  expired: 'The access token has expired. Request a new one.',
  otherIssuer:
    'The access token names another issuer. Request one from the issuer of this service.',
  otherAudience:
    'The access token was issued for another service or listener: its audience does not include ' +
    'this one. The public listener accepts tokens of client systems, the private listener those ' +
    'of card networks and administrators.',
  notBound:
    'The access token must be bound to a client certificate. Request a new one on a connection ' +
    'that uses the certificate.',
  invalid:
    'The access token is not valid: its signature, key or client is unknown, or the client is ' +
    'disabled. Request a new one at the token endpoint.',
}
const isInvalidToken = (reason: keyof typeof reasons) =>
  isRefusal('Bearer realm="pinfold", error="invalid_token"', reasons[reason])

test('a token of the embedded issuer tells its client, kind, scopes and end', async () => {
  const caller = await makeVerifier().verify(`Bearer ${token}`)
  assert.equal(caller.clientId, 'acme')
  assert.equal(caller.kind, 'client')
  assert.deepEqual([...caller.scopes], ['cards.read', 'cards.write', 'pin.write'])
  assert.equal(caller.expiresAt.getTime(), (decodeJwt(token).exp ?? 0) * 1_000)
})

test('a token signed with any published key is accepted, and the scheme in any case', async () => {
  const key = running.keys[1]
  assert.ok(key)
  const signed = await forge(key.privateKey, running.issuer, {}, { kid: 'second' })
  for (const header of [`Bearer ${signed}`, `bearer ${signed}`, `BEARER  ${signed}`]) {
    assert.equal((await makeVerifier().verify(header)).clientId, 'acme')
  }
  const longType = await forge(firstKey(), running.issuer, {}, { typ: 'application/at+jwt' })
  assert.equal((await makeVerifier().verify(`Bearer ${longType}`)).clientId, 'acme')
})

test('no token is a challenge without an error', async () => {
  const challenge = 'Bearer realm="pinfold"'
  for (const header of [undefined, '']) {
    const isChallenge = isRefusal(challenge, reasons.noHeader)
    await assert.rejects(makeVerifier().verify(header), isChallenge)
  }
  for (const header of ['Basic YTpi', `Token ${token}`, 'Bearerx', token]) {
    const isChallenge = isRefusal(challenge, reasons.otherScheme)
    await assert.rejects(makeVerifier().verify(header), isChallenge)
  }
})

test('what is no token is refused', async () => {
  const headers = ['Bearer', 'Bearer ', 'Bearer a b', 'Bearer ä', `Bearer ${'x'.repeat(9_000)}`]
  for (const header of headers) {
    await assert.rejects(makeVerifier().verify(header), isInvalidToken('noToken'), header)
  }
  await assert.rejects(makeVerifier().verify('Bearer x'), isInvalidToken('noJwt'))
})

const now = Math.floor(Date.now() / 1_000)
type Forgery = readonly [string, () => Promise<string>, keyof typeof reasons]
const forgeries: readonly Forgery[] = [
  ['of another issuer', () => forge(firstKey(), 'https://elsewhere.test'), 'otherIssuer'],
  [
    'for the other listener',
    () => forge(firstKey(), running.issuer, { aud: audiences.private }),
    'otherAudience',
  ],
  ['for no audience', () => forge(firstKey(), running.issuer, { aud: [] }), 'otherAudience'],
  ['that has expired', () => forge(firstKey(), running.issuer, { exp: now - 1 }), 'expired'],
  ['that is not valid yet', () => forge(firstKey(), running.issuer, { nbf: now + 60 }), 'invalid'],
  ['of type JWT', () => forge(firstKey(), running.issuer, {}, { typ: 'JWT' }), 'noJwt'],
  [
    'of another type',
    () => forge(firstKey(), running.issuer, {}, { typ: 'card-data+jwt' }),
    'noJwt',
  ],
  ['signed by a stranger', () => forge(signingKey('first').privateKey, running.issuer), 'invalid'],
  [
    'that names an unknown key',
    () => forge(firstKey(), running.issuer, {}, { kid: 'third' }),
    'invalid',
  ],
  ['that names no client', () => forge(firstKey(), running.issuer, { client_id: '' }), 'invalid'],
  [
    'of an unknown client',
    () => forge(firstKey(), running.issuer, { client_id: 'nobody' }),
    'invalid',
  ],
  [
    'of a client that is no text',
    () => forge(firstKey(), running.issuer, { client_id: 7 }),
    'invalid',
  ],
  [
    'of a client of the other listener',
    () => forge(firstKey(), running.issuer, { client_id: 'root' }),
    'invalid',
  ],
  ['without exp', () => without('exp'), 'invalid'],
  ['without client_id, whatever sub says', () => without('client_id'), 'invalid'],
  ['without aud', () => without('aud'), 'otherAudience'],
  ['without iss', () => without('iss'), 'otherIssuer'],
  ['without type', () => withHeader({ alg: 'ES256', kid: 'first' }), 'noJwt'],
  [
    'with a critical extension',
    () => withHeader({ alg: 'ES256', typ: 'at+jwt', crit: ['x'], x: 1 }),
    'invalid',
  ],
  ['that is not signed', async () => unsigned(), 'invalid'],
  ['with a changed claim', async () => changed(), 'invalid'],
  ['signed by HS256 with the public key', () => sharedSecret(), 'invalid'],
  ['signed by RS256', () => rsa(), 'invalid'],
]

for (const [title, make, reason] of forgeries) {
  test(`a token ${title} is refused`, async () => {
    await assert.rejects(makeVerifier().verify(`Bearer ${await make()}`), isInvalidToken(reason))
  })
}

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')

function without(claim: string): Promise<string> {
  const { [claim]: _, ...claims } = decodeJwt(token)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'first' })
    .sign(firstKey())
}

async function withHeader(header: Readonly<Record<string, unknown>>): Promise<string> {
  const input = `${encode(header)}.${encode(decodeJwt(token))}`
  const signature = await running.keys[0]?.sign(Buffer.from(input))
  return `${input}.${Buffer.from(signature ?? []).toString('base64url')}`
}

const unsigned = (): string =>
  `${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(decodeJwt(token))}.`

function changed(): string {
  const [header, , signature] = token.split('.')
  return `${header}.${encode({ ...decodeJwt(token), client_id: 'other' })}.${signature}`
}

function sharedSecret(): Promise<string> {
  const publicKey = JSON.stringify(running.server.publicKeys[0])
  return new SignJWT(decodeJwt(token))
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'first' })
    .sign(Buffer.from(publicKey))
}

function rsa(): Promise<string> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return forge(privateKey, running.issuer, {}, { alg: 'RS256' })
}

test('a client whose tokens are to be bound is refused with one from before, which is not', async () => {
  await register(running.database, { clientId: 'binding' })
  const before = await tokenOf('binding')
  await makeVerifier().verify(`Bearer ${before}`)
  await register(running.database, { clientId: 'binding', certificateBoundTokens: true })
  await assert.rejects(
    makeVerifier().verify(`Bearer ${before}`, 'a'.repeat(43)),
    isInvalidToken('notBound'),
  )
  // What does not say otherwise leaves it so.
  await register(running.database, { clientId: 'binding', clientName: 'Renamed' })
  await assert.rejects(makeVerifier().verify(`Bearer ${before}`), isInvalidToken('notBound'))
})

test('a token grants only what its client is registered for', async () => {
  const greedy = await forge(firstKey(), running.issuer, { scope: 'cards.read pin.reveal admin' })
  const caller = await makeVerifier().verify(`Bearer ${greedy}`)
  assert.deepEqual([...caller.scopes], ['cards.read'])
})

test('administration is a caller on the private listener alone', async () => {
  const admin = await tokenOf('root')
  const verifier = makeVerifier({ audience: audiences.private, listener: 'private' })
  assert.equal((await verifier.verify(`Bearer ${admin}`)).kind, 'admin')
  await assert.rejects(makeVerifier().verify(`Bearer ${admin}`), isInvalidToken('otherAudience'))
  await assert.rejects(verifier.verify(`Bearer ${token}`), isInvalidToken('otherAudience'))
})

test('disabling a client acts within 60 s, and a token is looked up once in that time', async () => {
  await register(running.database, { clientId: 'off' })
  const issued = await tokenOf('off')
  let clockMs = Date.now()
  let lookUps = 0
  const verifier = makeVerifier({
    now: () => new Date(clockMs),
    findClient: (clientId) => {
      lookUps += 1
      return findClient(running.database, clientId)
    },
  })
  const verify = () => verifier.verify(`Bearer ${issued}`)
  await verify()
  await setClientActive(running.database, 'off', false)
  clockMs += 59_999
  assert.equal((await verify()).clientId, 'off')
  assert.equal(lookUps, 1)
  clockMs += 1
  await assert.rejects(verify(), isInvalidToken('invalid'))
  await setClientActive(running.database, 'off', true)
  assert.equal((await verify()).clientId, 'off', 'a refusal is not remembered')
})

test('a token is looked up once, however it is spelled beside it', async () => {
  let lookUps = 0
  const verifier = makeVerifier({
    findClient: (clientId) => {
      lookUps += 1
      return findClient(running.database, clientId)
    },
  })
  for (const header of [`Bearer ${token}`, `bearer ${token}`, `Bearer   ${token} `]) {
    await verifier.verify(header)
  }
  assert.equal(lookUps, 1)
})

test('a remembered token is refused from the second that it expires', async () => {
  let clockMs = (decodeJwt(token).exp ?? 0) * 1_000 - 1_000
  const verifier = makeVerifier({ now: () => new Date(clockMs) })
  await verifier.verify(`Bearer ${token}`)
  clockMs += 1_000
  await assert.rejects(verifier.verify(`Bearer ${token}`), isInvalidToken('expired'))
})

test('many requests with one token at once cost one look-up', async () => {
  let lookUps = 0
  const verifier = makeVerifier({
    findClient: (clientId) => {
      lookUps += 1
      return findClient(running.database, clientId)
    },
  })
  await Promise.all(Array.from({ length: 50 }, () => verifier.verify(`Bearer ${token}`)))
  assert.equal(lookUps, 1)
})

test('while the database is away, the answer is unavailable and not unauthenticated', async () => {
  let away = true
  const verifier = makeVerifier({
    findClient: async (clientId) => {
      if (away) throw new Problem('unavailable')
      return findClient(running.database, clientId)
    },
  })
  await assert.rejects(verifier.verify(`Bearer ${token}`), { code: 'unavailable' })
  away = false
  assert.equal((await verifier.verify(`Bearer ${token}`)).clientId, 'acme')
})
