import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRelyingParty } from '../../src/console/relying-party.ts'
import { exponentOneJwk, forgeJwt } from '../support/weak-rsa-keys.ts'

const issuer = 'https://people.test'

for (const jwksUri of [`${issuer}/keys`, 'https://People.test:443/keys']) {
  test(`no person signs in by an ID token that a weak key at ${jwksUri} verifies`, () =>
    signInByWeakKey(jwksUri))
}

async function signInByWeakKey(jwksUri: string): Promise<void> {
  let nonce: string | null = null
  const answers: Readonly<Record<string, () => object>> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: jwksUri,
    }),
    '/token': () => {
      const now = Math.floor(Date.now() / 1_000)
      const idToken = forgeJwt(
        { kid: 'weak' },
        {
          iss: issuer,
          aud: 'console',
          sub: 'anybody',
          nonce,
          groups: ['all'],
          iat: now,
          exp: now + 60,
          auth_time: now,
        },
      )
      return { access_token: 'a', token_type: 'bearer', id_token: idToken }
    },
    '/keys': () => ({ keys: [{ ...exponentOneJwk, kid: 'weak', alg: 'RS256', use: 'sig' }] }),
  }
  const party = createRelyingParty({
    issuer,
    clientId: 'console',
    credentials: null,
    groupsClaim: 'groups',
    redirectUri: 'https://console.test/callback',
    listRoles: () => ['viewer'],
    fetch: async (address) =>
      Response.json(answers[new URL(address).pathname]?.() ?? {}, { status: 200 }),
  })
  const { searchParams } = await party.begin('secret', { again: false, hint: null })
  nonce = searchParams.get('nonce')
  const query = `code=c&state=${searchParams.get('state')}&iss=${encodeURIComponent(issuer)}`
  await assert.rejects(party.finish('secret', query), { code: 'unavailable' })
}
