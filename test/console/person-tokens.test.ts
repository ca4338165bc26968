/** Who a person's access token says that somebody is, and what for (RFC 9068). */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { parsePerson } from '../../src/console/relying-party.ts'
import { derivePersonId, type Role } from '../../src/domain/person.ts'
import { createAccessTokenVerifier } from '../../src/listeners/oauth/access-token-verifier.ts'

const issuer = 'https://people.test'
const nowSeconds = Math.floor(Date.now() / 1_000)
let privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
let key: JWK

before(async () => {
  const pair = await generateKeyPair('ES256')
  privateKey = pair.privateKey
  key = { ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'ES256' }
})

const verify = async (claims: Readonly<Record<string, unknown>>, typ = 'at+jwt') => {
  const token = await new SignJWT({ iss: issuer, aud: 'people', exp: nowSeconds + 60, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k', typ })
    .sign(privateKey)
  return createAccessTokenVerifier({
    issuer,
    audience: 'people',
    listener: 'private',
    keys: [key],
    findClient: async () => {
      throw new Error('No client is looked up.')
    },
    findPerson: (given) =>
      parsePerson(given, {
        issuer,
        groupsClaim: 'groups',
        listRoles: (groups) => groups.map((group) => group as Role),
      }),
  }).verify(`Bearer ${token}`)
}

const lead = { sub: 'lea', groups: ['support-lead'] }

test('it is the person that issuer and subject are, with the scopes of the roles and the time of its proof', async () => {
  const caller = await verify({ ...lead, auth_time: nowSeconds - 100, client_id: 'admin' })
  assert.equal(caller.clientId, derivePersonId({ issuer, subject: 'lea' }))
  assert.equal(caller.kind, 'admin')
  assert.deepEqual([...caller.scopes].toSorted(), [
    'approve',
    'audit.read',
    'support.pan',
    'support.read',
    'support.write',
  ])
  assert.equal(caller.person?.authenticatedAt.getTime(), (nowSeconds - 100) * 1_000)
  assert.equal(caller.expiresAt.getTime(), (nowSeconds + 60) * 1_000)
})

test('a token without a valid time of sign-in cannot approve, and counts as old', async () => {
  for (const auth_time of [undefined, null, 'now', `${nowSeconds}`]) {
    const caller = await verify({ ...lead, ...(auth_time !== undefined && { auth_time }) })
    assert.ok(!caller.scopes.has('approve'), String(auth_time))
    assert.ok(caller.scopes.has('support.write'))
    assert.equal(caller.person?.authenticatedAt.getTime(), 0)
  }
  // What is no second of any calendar, or is still to come, was long ago, too.
  for (const auth_time of [1e300, nowSeconds + 3_600, -1, 0.5]) {
    const caller = await verify({ ...lead, auth_time })
    assert.equal(caller.person?.authenticatedAt.getTime(), 0, String(auth_time))
  }
})

test('a token of scopes gives none beside those of the roles, and no group gives none at all', async () => {
  const caller = await verify({
    sub: 'eve',
    scope: 'admin approve keys.write',
    auth_time: nowSeconds,
  })
  assert.deepEqual([...caller.scopes], [])
})

test('a token that names no person, or is no access token, is refused', async () => {
  for (const claims of [{ groups: ['admin'] }, { ...lead, sub: '' }, { ...lead, sub: 7 }]) {
    await assert.rejects(verify(claims), { code: 'unauthenticated' })
  }
  for (const typ of ['JWT', 'id+jwt']) {
    await assert.rejects(verify({ ...lead, auth_time: nowSeconds }, typ), {
      code: 'unauthenticated',
    })
  }
  await assert.rejects(verify({ ...lead, iss: 'https://other.test' }), { code: 'unauthenticated' })
  await assert.rejects(verify({ ...lead, exp: nowSeconds - 60 }), { code: 'unauthenticated' })
})
