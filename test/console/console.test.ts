/**
 * What the console does for every screen and act, whichever they are: roles, forms, failures,
 * reading only.
 */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import Type from 'typebox'
import { type ConsoleOptions, mountConsole, type PersonCall } from '../../src/console/console.ts'
import { createRelyingParty } from '../../src/console/relying-party.ts'
import { type Act, formFields, path, type Screen } from '../../src/console/screen.ts'
import { derivePersonId, type Person, type Role } from '../../src/domain/person.ts'
import { Problem } from '../../src/domain/problem.ts'
import { callerAddresses } from '../../src/listeners/http/caller-address.ts'
import { html } from '../../src/listeners/http/html.ts'
import { createMetrics } from '../../src/listeners/http/metrics.ts'
import { createServer, type Server } from '../../src/listeners/http/server.ts'
import { beginSession } from '../../src/operations/people/people.ts'
import { createListenerConnections } from '../../src/service/limits.ts'
import { createLog } from '../../src/service/log.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { withoutIds } from '../support/identifiers.ts'
import { openTestDatabase } from '../support/service.ts'

const plainUrl = 'http://127.0.0.1:8081'
const issuer = 'http://127.0.0.1:9'
const page = (title: string) => ({ title, body: html`<p>${title}</p>` })

const screens: readonly Screen[] = [
  { path: '/console', access: 'anyone', navigation: 'Home', show: async () => page('Home') },
  {
    path: '/console/keys',
    access: ['admin', 'keys.read'],
    navigation: 'Keys',
    show: async (visit) => {
      const listed = await visit.read('/keys', Type.Array(Type.Any()))
      return { title: 'Keys', body: html`${formFields(visit)}<p>${listed.length} keys</p>` }
    },
  },
  {
    path: '/console/cards/:publicToken',
    access: 'support.read',
    navigation: null,
    show: async ({ call, params, query }) => {
      await call('GET', path`/cards/${params.publicToken ?? ''}/${query.part ?? ''}`)
      return page('Card')
    },
  },
  {
    path: '/console/broken',
    access: 'anyone',
    navigation: null,
    show: async () => {
      throw new Error('a secret of the inside')
    },
  },
]

const acts: readonly Act[] = [
  {
    path: '/console/keys',
    access: 'keys.write',
    perform: async ({ call }, { again, key = '' }) => {
      await call('POST', '/keys', { key })
      if (again) await call('POST', '/keys', { key: `${key}-2` })
      return { to: '/console/keys' }
    },
  },
  {
    path: '/console/search',
    access: 'support.read',
    readsOnly: true,
    perform: async ({ call }, { reference }) => {
      const { status } = await call('POST', '/cards/search', { reference })
      return page(`Found ${status}`)
    },
  },
  {
    path: '/console/back',
    access: 'anyone',
    perform: async (_, { to = '' }) => ({ to }),
  },
  {
    path: '/console/unavailable',
    access: 'anyone',
    perform: async () => {
      throw new Problem('unavailable')
    },
  },
  {
    path: '/console/refused',
    access: 'anyone',
    perform: async () => {
      const errors = [{ pointer: '/<b>', detail: 'must be <i>' }]
      throw new Problem('validation_failed', { detail: 'No <script>.', errors })
    },
  },
]

type Call = PersonCall & { person: Person; scopes: readonly string[] }

/** What the pages load, once it can be read. */
let readAssets = (): Readonly<Record<string, { mediaType: string; text: string }>> => ({})

/** A listener with these screens, and what its pages ask of the routes beside them. */
const openConsole = (database: Database, isReadOnly = false, url = plainUrl) => {
  const calls: Call[] = []
  const log = createLog('silent')
  const metrics = createMetrics()
  const callers = callerAddresses([])
  const app: Server = createServer({
    listener: 'private',
    log,
    metrics,
    callers,
    rate: null,
    openRate: null,
    admissions: {},
    gate: null,
    formats: {},
    hosts: null,
    tls: null,
    verifier: {
      verify: async () => {
        throw new Problem('unauthenticated')
      },
    },
    hashRequestId: async (requestId) => requestId,
    connections: createListenerConnections(
      { connectionsMax: 100, connectionsPerAddressMax: 100, keepAliveSeconds: 72 },
      callers,
      metrics.registry,
      log,
    ).private,
  })
  const options: ConsoleOptions = {
    people: { database },
    url,
    listedPeople: null,
    isSandbox: true,
    isReadOnly,
    screens,
    acts,
    readAssets: async () => readAssets(),
    callers,
    rate: null,
    peopleIssuer: null,
    // Nobody signs in by it here: sessions are begun by the operation.
    relyingParty: createRelyingParty({
      issuer,
      clientId: 'console',
      credentials: null,
      redirectUri: `${url}/console/sign-in/callback`,
      groupsClaim: 'groups',
      listRoles: () => [],
      fetch: async () => Response.json({ issuer, authorization_endpoint: `${issuer}/auth` }),
    }),
    async callAs(person, scopes, call) {
      // Every page counts the approvals that wait for an approver.
      if (call.path === '/approvals/waiting') {
        return { status: 200, headers: {}, body: { count: 0 } }
      }
      calls.push({ ...call, person, scopes: [...scopes] })
      return { status: 200, headers: {}, body: [1, 2] }
    },
  }
  mountConsole(app, options)
  return { app, calls }
}

let database: Database
before(async () => {
  database = await openTestDatabase()
})

const host = '127.0.0.1:8081'

const signInTo = async (own: Database, ...roles: Role[]) => {
  const identity = { issuer: 'https://issuer.test', subject: roles.join() }
  const secret = await beginSession(
    { database: own },
    {
      ...identity,
      personId: derivePersonId(identity),
      name: 'Somebody',
      roles,
      authenticatedAt: new Date(),
    },
    { signInSecret: crypto.randomUUID(), formerSecret: null, requestId: crypto.randomUUID() },
  )
  assert.ok(secret)
  return { host, cookie: `pinfold-8081=${secret}` }
}

const signIn = (...roles: Role[]) => signInTo(database, ...roles)

type Console = ReturnType<typeof openConsole>
type Headers = Awaited<ReturnType<typeof signIn>>

const show = async ({ app }: Console, headers: Readonly<Record<string, string>>, at: string) =>
  app.inject({ method: 'GET', url: at, headers })

const readToken = async (console: Console, headers: Headers): Promise<string> => {
  const { payload } = await show(console, headers, '/console')
  return /name="form-token" value="([^"]+)"/.exec(payload)?.[1] ?? ''
}

const post = async (
  { app }: Console,
  headers: Headers,
  at: string,
  { token, ...fields }: Readonly<Record<string, string>>,
) =>
  app.inject({
    method: 'POST',
    url: at,
    headers: {
      ...headers,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      origin: plainUrl,
    },
    payload: new URLSearchParams({ 'form-token': token ?? '', ...fields }).toString(),
  })

const send = async (
  console: Console,
  headers: Headers,
  at: string,
  fields: Readonly<Record<string, string>> | string,
) => {
  const { payload } = await show(console, headers, '/console')
  const token = /name="form-token" value="([^"]+)"/.exec(payload)?.[1] ?? ''
  const form = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString()
  return console.app.inject({
    method: 'POST',
    url: at,
    headers: {
      ...headers,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      origin: plainUrl,
    },
    payload: `form-token=${token}&${form}`,
  })
}

test('assets of pages need no sign-in, and are found again after they could not be read', async () => {
  const console = openConsole(database)
  const ask = (name: string) => show(console, { host }, `/console/assets/${name}`)
  readAssets = () => {
    throw new Error('too many open files')
  }
  assert.equal((await ask('console.css')).statusCode, 500)
  readAssets = () => ({ 'console.css': { mediaType: 'text/css; charset=utf-8', text: 'p {}' } })
  const { headers, payload, statusCode } = await ask('console.css')
  assert.deepEqual(
    [statusCode, headers['content-type'], payload],
    [200, 'text/css; charset=utf-8', 'p {}'],
  )
  const kept = { host, 'if-none-match': String(headers.etag) }
  assert.equal((await show(console, kept, '/console/assets/console.css')).statusCode, 304)
  for (const name of ['other.css', '', '../console', 'console.css/x']) {
    assert.notEqual((await ask(name)).statusCode, 200, name)
  }
})

suite('a screen', () => {
  test('is shown to the roles that it is for, and tells the others whose it is', async () => {
    const console = openConsole(database)
    const allowed: readonly Role[] = ['key-officer', 'security-officer', 'auditor', 'developer']
    for (const role of allowed) {
      const answer = await show(console, await signIn(role), '/console/keys')
      assert.equal(answer.statusCode, 200, role)
      assert.match(answer.payload, /2 keys/)
    }
    const asked = console.calls.length
    for (const role of ['viewer', 'support', 'support-lead'] as const) {
      const answer = await show(console, await signIn(role), '/console/keys')
      assert.equal(answer.statusCode, 403, role)
      assert.match(answer.payload, /Key officer, Security officer, Auditor, Developer/)
      assert.ok(!answer.payload.includes('href="/console/keys"'))
    }
    assert.equal(console.calls.length, asked)
    const both = await show(console, await signIn('viewer', 'key-officer'), '/console/keys')
    assert.equal(both.statusCode, 200)
  })

  test('asks as the person, with the scopes of its roles and no others', async () => {
    const console = openConsole(database)
    await show(console, await signIn('key-officer'), '/console/keys')
    const [call] = console.calls
    assert.equal(
      call?.person.personId,
      derivePersonId({ issuer: 'https://issuer.test', subject: 'key-officer' }),
    )
    assert.deepEqual(call?.scopes.toSorted(), ['approve', 'keys.read', 'keys.write'])
    assert.equal(call?.idempotencyKey, null)
  })

  test('asks for one segment whatever a path or query holds', async () => {
    const console = openConsole(database)
    const headers = await signIn('viewer')
    for (const [hostile, asked] of [
      ['..%2Fclients', '/cards/..%2Fclients/a%3Fb%3D%2F%23'],
      ['%2e%2e', '/cards/%00/a%3Fb%3D%2F%23'],
      ['%3Fx', '/cards/%3Fx/a%3Fb%3D%2F%23'],
    ]) {
      console.calls.length = 0
      await show(console, headers, `/console/cards/${hostile}?part=x&part=a%3Fb%3D/%23`)
      for (const { path: called } of console.calls) assert.equal(called, asked)
    }
  })

  test('that fails says that it did, and nothing of the inside', async () => {
    const answer = await show(openConsole(database), await signIn('viewer'), '/console/broken')
    assert.equal(answer.statusCode, 500)
    assert.ok(!answer.payload.includes('secret of the inside'))
    assert.match(answer.payload, /Request <code>[0-9a-f-]{36}</)
  })

  test('that needs a sign-in leads there, and a page that asks by itself is told', async () => {
    const { app } = openConsole(database)
    const headers = { host: '127.0.0.1:8081' }
    const answer = await app.inject({ method: 'GET', url: '/console/keys?a=b', headers })
    assert.equal(answer.statusCode, 303)
    assert.equal(answer.headers.location, '/console/sign-in?to=%2Fconsole%2Fkeys%3Fa%3Db')
    const byScript = { ...headers, 'sec-fetch-dest': 'empty' }
    const told = await app.inject({ method: 'GET', url: '/console/keys', headers: byScript })
    assert.equal(told.statusCode, 401)
  })
})

suite('an act', () => {
  test('is done by the roles that may, and by nobody else', async () => {
    const console = openConsole(database)
    for (const role of ['viewer', 'support-lead', 'security-officer', 'auditor'] as const) {
      const answer = await send(console, await signIn(role), '/console/keys', { key: 'pin' })
      assert.equal(answer.statusCode, 403, role)
      assert.match(answer.payload, /This page is for Key officer\./)
    }
    assert.equal(console.calls.length, 0)
    const answer = await send(console, await signIn('key-officer'), '/console/keys', { key: 'pin' })
    assert.deepEqual([answer.statusCode, answer.headers.location], [303, '/console/keys'])
    assert.deepEqual(console.calls[0]?.body, { key: 'pin' })
  })

  test('has the idempotency key of its form, each of several calls one of its own, and the same again', async () => {
    const console = openConsole(database)
    const headers = await signIn('key-officer')
    const fields = { key: 'pin', again: 'yes', 'form-key': 'form-1' }
    for (const _ of [1, 2]) await send(console, headers, '/console/keys', fields)
    assert.deepEqual(
      console.calls.map(({ idempotencyKey }) => idempotencyKey),
      ['form-1', 'form-1-2', 'form-1', 'form-1-2'],
    )
    console.calls.length = 0
    for (const key of ['', 'a b', 'é', 'x'.repeat(300)]) {
      await send(console, headers, '/console/keys', { key: 'pin', 'form-key': key })
    }
    assert.deepEqual(
      console.calls.map(({ idempotencyKey }) => idempotencyKey),
      [null, null, null, null],
    )
  })

  test('that is refused shows why, as text', async () => {
    const answer = await send(openConsole(database), await signIn('viewer'), '/console/refused', {})
    assert.equal(answer.statusCode, 422)
    assert.match(answer.payload, /No &lt;script&gt;\.[\s\S]*&lt;b&gt;<\/a> must be &lt;i&gt;/)
  })

  test('that the service cannot answer has what was typed on its page, to be sent again as it was', async () => {
    const closing = await openTestDatabase()
    const fields = { reason: 'The <b> of “Ana”', 'form-key': 'form-1' }
    for (const own of [database, closing]) {
      const console = openConsole(own)
      const headers = await signInTo(own, 'viewer')
      const token = await readToken(console, headers)
      if (own === closing) await closing.close()
      const answer = await post(console, headers, '/console/unavailable', { ...fields, token })
      assert.ok(answer.statusCode >= 500)
      assert.match(answer.payload, /<form method="post" action="\/console\/unavailable">/)
      assert.match(answer.payload, /Reason: <q>The &lt;b&gt; of “Ana”<\/q>/)
      for (const [name, value] of Object.entries({ 'form-token': token, 'form-key': 'form-1' })) {
        assert.ok(answer.payload.includes(`name="${name}" value="${value}"`), name)
      }
    }
  })

  test('that the service cannot answer is not sent again without its secrets', async () => {
    const console = openConsole(database)
    const headers = await signIn('viewer')
    const token = await readToken(console, headers)
    for (const fields of [
      { token, pin: '4821' },
      { token, text: '4000 0012 3456 7899' },
      { token, reason: 'card 4000001234567899' },
    ]) {
      const { payload } = await post(console, headers, '/console/unavailable', fields)
      assert.match(payload, /The service cannot answer right now/)
      assert.doesNotMatch(withoutIds(payload), /Send again|4821|7899/)
    }
  })

  test('leads to a page of this console and nowhere else, whatever a form says', async () => {
    const console = openConsole(database)
    const headers = await signIn('viewer')
    for (const to of ['/console', '/console/cards/1?a=%20#b', '/console?x=/y']) {
      const answer = await send(console, headers, '/console/back', { to })
      assert.deepEqual([answer.statusCode, answer.headers.location], [303, to])
    }
    for (const to of [
      ...['https://evil.test', '//evil.test', '/\\evil.test', '/consoles', '/console\\@evil.test'],
      ...['/livez', '', '/console/\r\nset-cookie: a=b', '/console/ü', 'javascript:alert(1)'],
    ]) {
      const answer = await send(console, headers, '/console/back', { to })
      assert.equal(answer.statusCode, 400, to)
    }
  })

  test('of a person that has signed out does nothing', async () => {
    const console = openConsole(database)
    const answer = await send(
      console,
      { ...(await signIn('key-officer')), cookie: `pinfold-8081=${'A'.repeat(43)}` },
      '/console/keys',
      { key: 'pin' },
    )
    assert.equal(answer.statusCode, 401)
    assert.equal(console.calls.length, 0)
  })

  test('takes each of several values of a field, and no field for another thing than text', async () => {
    const console = openConsole(database)
    const headers = await signIn('key-officer')
    await send(console, headers, '/console/keys', 'key=a&key=b&__proto__=c&constructor=d')
    assert.deepEqual(console.calls[0]?.body, { key: 'a\nb' })
  })
})

suite('a console that may only be read', () => {
  test('does no act but those that change nothing, and has no scope that changes anything', async () => {
    const console = openConsole(database, true)
    const every = ['support-lead', 'key-officer', 'security-officer', 'auditor'] as const
    const headers = await signIn(...every)
    const refused = await send(console, headers, '/console/keys', { key: 'pin' })
    assert.equal(refused.statusCode, 403)
    assert.match(refused.payload, /CONSOLE_READ_ONLY/)
    assert.equal(console.calls.length, 0)
    const found = await send(console, headers, '/console/search', { reference: 'r' })
    assert.match(found.payload, /Found 200/)
    const shown = await show(console, headers, '/console/keys')
    assert.equal(shown.statusCode, 200)
    for (const { scopes } of console.calls) {
      assert.deepEqual(scopes.toSorted(), [
        'audit.read',
        'keys.read',
        'support.pan',
        'support.read',
      ])
    }
  })

  test('still lets people sign out', async () => {
    const console = openConsole(database, true)
    const answer = await send(console, await signIn('viewer'), '/console/sign-out', {})
    assert.equal(answer.statusCode, 200)
  })
})

suite('behind TLS', () => {
  const url = 'https://ops.bank.test'
  const console = () => openConsole(database, false, url)

  test('a cookie is of this host alone, and never sent in clear', async () => {
    const answer = await console().app.inject({
      method: 'GET',
      url: '/console/sign-in?to=/console/keys',
      headers: { host: 'ops.bank.test' },
    })
    assert.equal(answer.statusCode, 303)
    assert.match(
      String(answer.headers['set-cookie']),
      /^__Host-pinfold-sign-in-[\w-]{16}=[\w-]{43}\.[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    const { searchParams: asked } = new URL(String(answer.headers.location))
    assert.equal(asked.get('redirect_uri'), `${url}/console/sign-in/callback`)
    assert.equal(asked.get('code_challenge_method'), 'S256')
    assert.deepEqual([asked.get('response_type'), asked.get('max_age')], ['code', '28800'])
    for (const name of ['state', 'nonce', 'code_challenge']) {
      assert.match(asked.get(name) ?? '', /^[\w-]{43}$/)
      // The browser has what they are drawn from, and nobody who sees the address.
      assert.ok(!String(answer.headers['set-cookie']).includes(asked.get(name) ?? ''))
    }
  })

  test('a session is found by that cookie, and a form taken from that origin, and by no other', async () => {
    const { cookie } = await signIn('viewer')
    const secret = cookie.split('=')[1] ?? ''
    const opened = console()
    const ask = (name: string) =>
      opened.app.inject({
        method: 'GET',
        url: '/console',
        headers: { host: 'ops.bank.test', cookie: `${name}=${secret}` },
      })
    assert.equal((await ask('pinfold-8081')).statusCode, 303)
    const page = await ask('__Host-pinfold')
    assert.equal(page.statusCode, 200)
    const token = /name="form-token" value="([^"]+)"/.exec(page.payload)?.[1] ?? ''
    const send = (origin: string) =>
      opened.app.inject({
        method: 'POST',
        url: '/console/search',
        payload: `form-token=${token}`,
        headers: {
          host: 'ops.bank.test',
          cookie: `__Host-pinfold=${secret}`,
          origin,
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
        },
      })
    for (const origin of [
      'http://ops.bank.test',
      'https://ops.bank.test:444',
      'https://bank.test',
    ]) {
      assert.equal((await send(origin)).statusCode, 400, origin)
    }
    assert.equal((await send(url)).statusCode, 200)
  })
})
