/** What each role may do on the private listener: every route, called with a person's own token. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type Role, roles, scopesByRole } from '../../../src/domain/person.ts'
import { listNeededScopes } from '../../../src/listeners/http/authentication.ts'
import { type IdentityIssuer, openIdentityIssuer } from '../../support/identity-issuer.ts'
import { makeFolder } from '../../support/process.ts'
import { openWithRoutes, type Route } from '../../support/routes.ts'
import { openTestService, type TestService } from '../../support/service.ts'

let service: TestService
let issuer: IdentityIssuer
let routes: readonly Route[]

before(async () => {
  issuer = await openIdentityIssuer('http://127.0.0.1:8081/console/sign-in/callback')
  const secretFile = join(await makeFolder(), 'secret')
  await writeFile(secretFile, issuer.clientSecret, { mode: 0o600 })
  for (const role of roles) issuer.people.set(role, { name: role, groups: [role] })
  const opened = await openWithRoutes(() =>
    openTestService({
      env: {
        RATE_LIMIT: 'off',
        CONSOLE_ISSUER: issuer.issuer,
        CONSOLE_CLIENT_ID: issuer.clientId,
        CONSOLE_CLIENT_SECRET_FILE: secretFile,
        CONSOLE_ROLES: roles.map((role) => `${role}=${role}`).join(';'),
        CONSOLE_AUDIENCE: 'people',
      },
    }),
  )
  service = opened.service
  routes = opened.routes.filter(
    ({ config, listener, method }) =>
      listener === 'private' && config.access !== 'open' && method !== 'HEAD',
  )
})

/**
 * Calls a route so that it does nothing: what changes something is sent under a key that is none.
 */
const call = async ({ method, url }: Pick<Route, 'method' | 'url'>, token: string) =>
  service.call(method, `/${url.replaceAll(/:\w+/g, '1').replace('*', 'x')}`, {
    token,
    listener: 'private',
    ...(method !== 'GET' && { body: {}, headers: { 'idempotency-key': 'a b' } }),
  })

for (const role of roles) {
  test(`the role ${role} is let in by the routes of its scopes, and refused by every other`, async () => {
    const token = await issuer.tokenFor(role)
    const scopes: readonly string[] = scopesByRole[role]
    for (const route of routes) {
      const { access } = route.config
      if (access === undefined || access === 'open') continue
      const { json, status, text } = await call(route, token)
      const name = `${route.method} ${route.url} as ${role}: ${text}`
      const isAllowed = listNeededScopes(access).some((scope) => scopes.includes(scope))
      if (isAllowed) assert.ok(![401, 403].includes(status), name)
      else assert.deepEqual([status, json.code], [403, 'insufficient_scope'], name)
    }
  })
}

/** Of some routes who may call them, written down apart from the scopes. */
const allowed: Readonly<Record<string, readonly Role[]>> = {
  'POST /cards/search': [
    'viewer',
    'support',
    'support-lead',
    'security-officer',
    'auditor',
    'developer',
  ],
  'POST /cards/1/freeze': ['support', 'support-lead'],
  'POST /cards/1/pin/unblock': ['support', 'support-lead'],
  'POST /cards/unblock': ['support', 'support-lead'],
  'POST /cards/1/activate': ['support', 'support-lead'],
  'POST /cards/1/renew': ['support', 'support-lead'],
  'POST /cards/1/cancel-renewal': ['support', 'support-lead'],
  'POST /cards/1/delivery-address': ['support', 'support-lead'],
  'POST /cards/1/convert': ['support', 'support-lead'],
  'POST /cards/1/replace': ['support', 'support-lead'],
  'POST /cards/1/cardholder': ['support', 'support-lead'],
  'GET /audit/logs': ['support-lead', 'security-officer', 'auditor'],
  'POST /keys': ['key-officer', 'security-officer'],
  'POST /clients': ['security-officer'],
  'POST /products': ['security-officer'],
  'POST /network/authorizations': [],
  'POST /bureau/batches': [],
  'GET /bureau/batches': [],
  'GET /bureau/batches/1': [],
}

test('who changes cards changes no key, who changes keys sees no card, and who audits changes nothing', async () => {
  for (const [name, expected] of Object.entries(allowed)) {
    const [method = '', url = ''] = name.split(' ')
    const answers = await Promise.all(
      roles.map(async (role) => {
        const { status } = await call({ method, url }, await issuer.tokenFor(role))
        return status === 403 ? [] : [role]
      }),
    )
    assert.deepEqual(answers.flat(), expected, name)
  }
})
