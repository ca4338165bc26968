import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { interactionPolicy } from 'oidc-provider'
import { atEndOfFile } from './end-of-file.ts'

/**
 * An issuer of identities outside of the service: oidc-provider over the wire, where whoever is
 * next signs in at once.
 */

export type IdentityIssuer = {
  issuer: string
  clientId: string
  clientSecret: string
  /** What is said of each person, by subject. */
  people: Map<string, Readonly<Record<string, unknown>>>
  /** Who signs in next; null: the issuer refuses. */
  next: string | null
  /** Every request that it got, as method and path. */
  asked: string[]
  /** An access token for a person, as a program of theirs gets it. */
  tokenFor: (
    subject: string,
    options?: { audience?: string; ageSeconds?: number | null },
  ) => Promise<string>
  stop: () => Promise<void>
  start: () => Promise<void>
}

export const openIdentityIssuer = async (redirectUri: string): Promise<IdentityIssuer> => {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'outside' }
  const clientId = 'console'
  const clientSecret = randomBytes(16).toString('hex')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const opened: IdentityIssuer = {
    issuer,
    clientId,
    clientSecret,
    people: new Map(),
    next: null,
    asked: [],
    async tokenFor(subject, { audience = 'people', ageSeconds = 0 } = {}) {
      const { SignJWT } = await import('jose')
      const nowSeconds = Math.floor(Date.now() / 1_000)
      return new SignJWT({
        ...opened.people.get(subject),
        client_id: 'some-tool',
        ...(ageSeconds !== null && { auth_time: nowSeconds - ageSeconds }),
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'outside', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(audience)
        .setIssuedAt(nowSeconds)
        .setExpirationTime(nowSeconds + 300)
        .setJti(randomBytes(8).toString('hex'))
        .sign(privateKey)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async start() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
  const policy = interactionPolicy.base()
  // Whoever is next signs in, whoever the browser was before.
  policy.get('login')?.checks.add(
    new interactionPolicy.Check('next', 'who is next', 'login_required', ({ oidc }) => {
      return !oidc.result?.login
    }),
  )
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [key] },
    claims: { openid: ['sub'], profile: ['name'], groups: ['teams', 'groups'] },
    scopes: ['openid', 'profile', 'groups'],
    // As it is in most: groups are told at the UserInfo endpoint.
    conformIdTokenClaims: true,
    pkce: { required: () => true },
    findAccount: (_ctx, subject) => ({
      accountId: subject,
      claims: () => ({ sub: subject, ...opened.people.get(subject) }),
    }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId,
        accountId: oidc.session?.accountId,
      })
      grant.addOIDCScope('openid profile groups')
      await grant.save()
      return grant
    },
    interactions: { policy, url: (_ctx, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['a test’s own'] },
    features: { devInteractions: { enabled: false } },
  })
  const callback = provider.callback()
  server.on('request', async (request, response) => {
    opened.asked.push(`${request.method} ${request.url?.split('?')[0]}`)
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    const result =
      opened.next === null
        ? { error: 'access_denied', error_description: 'no <b>entry</b>' }
        : { login: { accountId: opened.next } }
    await provider.interactionFinished(request, response, result)
  })
  atEndOfFile(async () => {
    server.closeAllConnections()
    server.close()
  })
  return opened
}
