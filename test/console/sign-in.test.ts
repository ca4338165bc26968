/**
 * Signing in to the console, in a browser, by an issuer of identities over the wire (OpenID Connect
 * Core 1.0, RFC 7636).
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, beforeEach, suite, test } from 'node:test'
import { derivePersonId } from '../../src/domain/person.ts'
import { type Browser, hiddenFields, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { type IdentityIssuer, openIdentityIssuer } from '../support/identity-issuer.ts'
import { makeFolder } from '../support/process.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

let service: TestService
let issuer: IdentityIssuer
let url: string
const logged: string[] = []

before(async () => {
  const [, port] = await freePorts()
  url = `http://127.0.0.1:${port}`
  issuer = await openIdentityIssuer(`${url}/console/sign-in/callback`)
  const secretFile = join(await makeFolder(), 'secret')
  await writeFile(secretFile, `${issuer.clientSecret}\n`, { mode: 0o600 })
  service = await openTestService({
    onLogLine: (line) => logged.push(line),
    env: {
      PRIVATE_PORT: String(port),
      CONSOLE_ISSUER: issuer.issuer,
      CONSOLE_CLIENT_ID: issuer.clientId,
      CONSOLE_CLIENT_SECRET_FILE: secretFile,
      CONSOLE_GROUPS_CLAIM: 'teams',
      CONSOLE_ROLES: 'support=desk; viewer=desk,CN%3Dguests%2CDC%3Dbank; key-officer=vault',
      CONSOLE_AUDIENCE: 'people',
    },
  })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
})

beforeEach(() => {
  issuer.people.clear()
  issuer.people.set('ana', { name: 'Ana Lim', teams: ['desk'] })
  issuer.people.set('kim', { name: 'Kim Keys', teams: ['vault', 'canteen'] })
  issuer.next = 'ana'
})

const signIn = async (subject = 'ana', path = '/console'): Promise<Browser> => {
  issuer.next = subject
  const browser = openBrowser()
  const page = await browser.visit(`${url}${path}`)
  assert.equal(page.status, 200, page.text)
  return browser
}

/** The cookie of the session, by its name and host. */
const sessionCookie = () => `127.0.0.1 pinfold-${new URL(url).port}`
/** The cookies of sign-ins that have begun. */
const listSignInCookies = (browser: Browser): string[] =>
  [...browser.cookies.keys()].filter((name) => name.startsWith('127.0.0.1 pinfold-sign-in-'))

const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.ask(`${url}/console`)).status === 200

/** Takes a browser to where the issuer sends it back, and no further. */
const beforeCallback = async (browser: Browser): Promise<string> => {
  let at = `${url}/console/sign-in`
  while (!at.startsWith(`${url}/console/sign-in/callback`)) {
    const answer = await browser.ask(at)
    at = new URL(answer.headers.get('location') ?? 'about:blank', at).href
    assert.notEqual(at, 'about:blank', answer.text)
  }
  return at
}

suite('a sign-in', () => {
  test('leads back to the very page that was asked for, with the name that the issuer says', async () => {
    const browser = openBrowser()
    const page = await browser.visit(`${url}/console?a=b%26c`)
    assert.equal(page.url, `${url}/console?a=b%26c`)
    assert.equal(page.status, 200)
    assert.match(page.text, /Ana Lim/)
  })

  test('gives the browser one cookie that no script reads, and nothing of a token', async () => {
    const browser = openBrowser()
    const callback = await beforeCallback(browser)
    const answer = await browser.ask(callback)
    const [set = ''] = answer.headers
      .getSetCookie()
      .filter((line) => !/Expires=Thu, 01 Jan 1970/.test(line))
    assert.match(set, /^pinfold-\d+=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    assert.deepEqual(listSignInCookies(browser), [])
    const secret = browser.cookies.get(sessionCookie())?.value ?? ''
    // The database has a hash alone, and no row holds a token: those are three parts with points
    // between.
    const rows = JSON.stringify([
      await sql(
        service.database,
        'select encode(secret_hash, $1) as hash, * from console_session',
        ['hex'],
      ),
      await sql(service.database, 'select * from person'),
    ])
    assert.ok(!rows.includes(secret))
    assert.ok(
      !/eyJ[\w-]+\.[\w-]+\./.test(rows + answer.text + String(answer.headers.get('location'))),
    )
    assert.ok(!logged.some((line) => line.includes(secret) || /eyJ[\w-]+\.[\w-]+\./.test(line)))
  })

  test('leads nowhere but to a page of this console, whatever was asked for', async () => {
    for (const to of [
      'https://evil.test/console',
      '//evil.test/console',
      '/\\evil.test/console',
      'javascript:alert(1)',
      '/console/../livez',
      '/console/sign-in',
      '/consoles',
      '/console@evil.test',
      'http:console',
      '\t//evil.test',
    ]) {
      const browser = openBrowser()
      const page = await browser.visit(`${url}/console/sign-in?to=${encodeURIComponent(to)}`)
      assert.equal(page.url, `${url}/console`, to)
    }
  })

  test('leads each of several tabs that begin at once to its own page', async () => {
    const browser = openBrowser()
    const paths = ['/console/products', '/console/webhooks?client=one', '/console/limits']
    const begun = await Promise.all(
      paths.map((path) => browser.ask(`${url}/console/sign-in?to=${encodeURIComponent(path)}`)),
    )
    for (const [at, { headers }] of begun.entries()) {
      const page = await browser.visit(headers.get('location') ?? '')
      assert.equal(page.url, `${url}${paths[at]}`)
      assert.equal(page.status, 200)
    }
    assert.deepEqual(listSignInCookies(browser), [])
  })

  test('that comes back again leads a browser that is signed in to its page', async () => {
    const browser = openBrowser()
    const callback = await beforeCallback(browser)
    await browser.visit(callback)
    const session = browser.cookies.get(sessionCookie())
    const page = await browser.visit(callback)
    assert.equal(page.url, `${url}/console`)
    assert.deepEqual(browser.cookies.get(sessionCookie()), session)
  })

  test('leaves a browser that begins many of them with few cookies, the newest ones', async () => {
    const browser = openBrowser()
    const begin = (to: string) => browser.ask(`${url}/console/sign-in?to=${encodeURIComponent(to)}`)
    for (let at = 0; at < 30; at += 1) await begin(`/console?a=${'a'.repeat(400)}`)
    assert.equal(listSignInCookies(browser).length, 12)
    // A page with a longer address is shown without its query.
    const last = await begin(`/console/limits?a=${'a'.repeat(500)}`)
    const page = await browser.visit(last.headers.get('location') ?? '')
    assert.equal(page.url, `${url}/console/limits`)
  })

  test('makes a session once, however often the browser comes back with it', async () => {
    const browser = openBrowser()
    const callback = await beforeCallback(browser)
    const kept = new Map(browser.cookies)
    assert.equal((await browser.visit(callback)).status, 200)
    const again = openBrowser()
    for (const [name, cookie] of kept) again.cookies.set(name, cookie)
    const answer = await again.visit(callback)
    assert.equal(answer.status, 403)
    assert.match(answer.text, /The sign-in failed/)
    assert.ok(!(await isSignedIn(again)))
    assert.ok(await isSignedIn(browser))
  })

  test('is the browser’s that began it: neither its state nor its code is good in another', async () => {
    const victim = openBrowser()
    const victims = await beforeCallback(victim)
    const attacker = openBrowser()
    const attackers = await beforeCallback(attacker)
    // The whole of another's, as a link that somebody is made to follow.
    assert.equal((await openBrowser().visit(attackers)).status, 403)
    const other = openBrowser()
    await beforeCallback(other)
    assert.equal((await other.visit(attackers)).status, 403)
    // Another's code in one's own sign-in.
    const mixed = new URL(attackers)
    mixed.searchParams.set('code', new URL(victims).searchParams.get('code') ?? '')
    assert.equal((await attacker.visit(mixed.href)).status, 403)
    assert.ok(!(await isSignedIn(attacker)))
  })

  test('gives a new secret, and ends the session that was open there', async () => {
    const browser = await signIn()
    const first = browser.cookies.get(sessionCookie())
    await browser.visit(`${url}/console/sign-in?again=yes`)
    const second = browser.cookies.get(sessionCookie())
    assert.notEqual(first?.value, second?.value)
    const former = openBrowser()
    former.cookies.set(sessionCookie(), first ?? { value: '', path: '/' })
    assert.ok(!(await isSignedIn(former)))
    // A cookie that somebody else has put there is not the one that is signed in.
    const planted = openBrowser()
    planted.cookies.set(sessionCookie(), { value: 'A'.repeat(43), path: '/' })
    await planted.visit(`${url}/console`)
    assert.notEqual(planted.cookies.get(sessionCookie())?.value, 'A'.repeat(43))
  })

  test('of a person without a role is refused, and recorded with the name of the person', async () => {
    issuer.people.set('eve', { name: 'Eve', teams: ['canteen'] })
    issuer.next = 'eve'
    const browser = openBrowser()
    const page = await browser.visit(`${url}/console`)
    assert.equal(page.status, 403)
    assert.match(page.text, /Eve has no role here/)
    assert.ok(!(await isSignedIn(browser)))
    const personId = derivePersonId({ issuer: issuer.issuer, subject: 'eve' })
    const acts = await sql<{ act: string; details: string }>(
      service.database,
      'select act, details from audit_act where subject = $1 and client_id = $1',
      [personId],
    )
    assert.deepEqual(
      acts.map(({ act }) => act),
      ['sign_in_failed'],
    )
    assert.match(acts[0]?.details ?? '', /"reason":"no_role".*"subject":"eve"/)
  })

  test('that the issuer refuses starts no session, and shows none of the issuer’s text as markup', async () => {
    issuer.next = null
    const page = await openBrowser().visit(`${url}/console`)
    assert.equal(page.status, 403)
    assert.ok(!page.text.includes('<b>'))
  })

  test('shows a hostile name as text, on one line, and no longer than a name', async () => {
    const name = `</title><script>alert(1)</script>"'\u202e\n\u0000${'x'.repeat(500)}`
    issuer.people.set('mal', { name, teams: ['desk', '<img src=x>', 7, null] })
    issuer.next = 'mal'
    const browser = openBrowser()
    const page = await browser.visit(`${url}/console`)
    assert.equal(page.status, 200)
    assert.ok(!page.text.includes('<script>'))
    assert.match(page.text, /&lt;\/title&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39;/)
    for (const each of ['\u202e', '\u0000', 'x'.repeat(100)]) assert.ok(!page.text.includes(each))
  })

  test('answers that the issuer is away while it is, and works again after', async () => {
    await issuer.stop()
    const page = await openBrowser().visit(`${url}/console/sign-in/callback?code=a&state=b`)
    assert.equal(page.status, 403)
    const browser = openBrowser()
    const callback = await (async () => {
      await issuer.start()
      const at = await beforeCallback(browser)
      await issuer.stop()
      return at
    })()
    const away = await browser.ask(callback)
    assert.equal(away.status, 503)
    assert.match(away.text, /identity provider does not answer/)
    await issuer.start()
    await signIn()
  })
})

suite('a session', () => {
  const age = (browser: Browser, column: 'seen_at' | 'started_at', interval: string) =>
    sql(
      service.database,
      `update console_session set ${column} = ${column} - interval '${interval}'
       where secret_hash = sha256(convert_to($1, 'UTF8'))`,
      [browser.cookies.get(sessionCookie())?.value ?? ''],
    )

  test('ends 15 minutes after the last visit, and 8 hours after its beginning', async () => {
    const idle = await signIn()
    await age(idle, 'seen_at', '14 minutes 50 seconds')
    assert.ok(await isSignedIn(idle))
    // That was a visit.
    await age(idle, 'seen_at', '14 minutes 50 seconds')
    assert.ok(await isSignedIn(idle))
    await age(idle, 'seen_at', '15 minutes 1 second')
    assert.ok(!(await isSignedIn(idle)))
    const old = await signIn()
    await age(old, 'started_at', '7 hours 59 minutes')
    assert.ok(await isSignedIn(old))
    await age(old, 'started_at', '1 minute')
    assert.ok(!(await isSignedIn(old)))
  })

  test('is kept open by people, and not by a page that asks by itself', async () => {
    const browser = await signIn()
    const byScript = { headers: { 'sec-fetch-dest': 'empty' } }
    await age(browser, 'seen_at', '10 minutes')
    assert.equal((await browser.ask(`${url}/console`, byScript)).status, 200)
    await age(browser, 'seen_at', '5 minutes 1 second')
    const answer = await browser.ask(`${url}/console`, byScript)
    assert.equal(answer.status, 401)
  })

  test('ends at once by signing out, which leaves those of others open', async () => {
    const [ana, kim] = [await signIn('ana'), await signIn('kim')]
    const copy = openBrowser()
    for (const [name, cookie] of ana.cookies) copy.cookies.set(name, cookie)
    const page = await ana.ask(`${url}/console`)
    const out = await ana.send(`${url}/console/sign-out`, hiddenFields(page))
    assert.match(out.text, /signed out/)
    assert.ok(!ana.cookies.has(sessionCookie()))
    assert.ok(!(await isSignedIn(copy)))
    assert.ok(await isSignedIn(kim))
  })

  test('is ended by an administrator, in whatever browser it is open', async () => {
    const browsers = [await signIn('kim'), await signIn('kim')]
    const other = await signIn('ana')
    const personId = derivePersonId({ issuer: issuer.issuer, subject: 'kim' })
    const admin = {
      as: 'admin',
      listener: 'private',
      headers: { host: new URL(url).host },
    } as const
    const person = await service.call('GET', `//people/${personId}`, admin)
    assert.equal(person.status, 200, person.text)
    assert.equal(person.json.openSessions, person.json.sessions.length)
    assert.ok(person.json.sessions.length >= 2)
    assert.deepEqual(person.json.roles, ['key-officer'])
    assert.ok(!person.text.includes(browsers[0]?.cookies.get(sessionCookie())?.value ?? 'none'))
    const listed = await service.call('GET', '//people', admin)
    assert.ok(listed.json.some((each: { personId: string }) => each.personId === personId))
    const ended = await service.call('POST', `//people/${personId}/sign-out`, admin)
    assert.deepEqual(ended.json, { sessionsEnded: person.json.sessions.length })
    for (const browser of browsers) assert.ok(!(await isSignedIn(browser)))
    assert.ok(await isSignedIn(other))
    const nobody = `person-${'0'.repeat(40)}`
    assert.equal((await service.call('POST', `//people/${nobody}/sign-out`, admin)).status, 404)
    assert.equal((await service.call('GET', '//people/somebody', admin)).status, 404)
  })

  test('is on record from sign-in to sign-out, under the person that issuer and subject are', async () => {
    issuer.people.set('rec', { name: 'Rec Orded', teams: ['desk'] })
    const browser = await signIn('rec')
    const page = await browser.ask(`${url}/console`)
    await browser.send(`${url}/console/sign-out`, hiddenFields(page))
    const personId = derivePersonId({ issuer: issuer.issuer, subject: 'rec' })
    const acts = await sql<{ act: string }>(
      service.database,
      `select act from audit_act where subject_kind = 'person' and subject = $1 and client_id = $1 order by number`,
      [personId],
    )
    assert.deepEqual(
      acts.map(({ act }) => act),
      ['signed_in', 'signed_out'],
    )
  })
})

suite('a form', () => {
  test('is refused unless it has the token of this very session', async () => {
    const [ana, kim] = [await signIn('ana'), await signIn('kim')]
    const kims = hiddenFields(await kim.ask(`${url}/console`))
    for (const fields of [
      {},
      { 'form-token': '' },
      kims,
      { ...kims, 'form-token': 'x'.repeat(43) },
    ]) {
      const answer = await ana.send(`${url}/console/sign-out`, fields)
      assert.equal(answer.status, 400)
      assert.match(answer.text, /No change was made/)
    }
    assert.ok(await isSignedIn(ana))
  })

  test('is refused where the browser says that another site sent it, or says nothing', async () => {
    const browser = await signIn()
    const fields = hiddenFields(await browser.ask(`${url}/console`))
    const foreign: readonly Readonly<Record<string, string>>[] = [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: url.replace('http:', 'https:') },
      { origin: `${url}0` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ]
    for (const headers of foreign) {
      const answer = await browser.send(`${url}/console/sign-out`, fields, headers)
      assert.equal(answer.status, 400, JSON.stringify(headers))
    }
    assert.ok(await isSignedIn(browser))
  })

  test('is read as a form alone, of no more than any body, and leaves the rest of the listener JSON only', async () => {
    const browser = await signIn()
    const post = (headers: Readonly<Record<string, string>>, body: string) =>
      browser.ask(`${url}/console/sign-out`, { method: 'POST', headers, body })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
      assert.equal((await post({ 'content-type': type }, '{}')).status, 415, type)
    }
    assert.equal((await post(form, `a=${'x'.repeat(70_000)}`)).status, 413)
    const answer = await browser.ask(`${url}/keys`, { method: 'POST', headers: form, body: 'a=b' })
    assert.equal(answer.status, 401)
    const token = await service.token(undefined, 'admin')
    const asked = await browser.ask(`${url}/links`, {
      method: 'POST',
      headers: { ...form, authorization: `Bearer ${token}` },
      body: 'a=b',
    })
    assert.equal(asked.status, 415)
    assert.match(asked.headers.get('content-type') ?? '', /^application\/problem\+json/)
  })
})

test('no page may be framed, kept, or made to load or send anything elsewhere', async () => {
  const browser = await signIn()
  const pages = [
    await browser.ask(`${url}/console`),
    await browser.ask(`${url}/console/not-there`),
    await browser.send(`${url}/console/sign-out`, {}),
    await openBrowser().ask(`${url}/console/sign-in/callback`),
  ]
  assert.deepEqual(
    pages.map(({ status }) => status),
    [200, 404, 400, 403],
  )
  for (const { headers, text } of pages) {
    const policy = headers.get('content-security-policy') ?? ''
    for (const directive of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self'",
      "require-trusted-types-for 'script'",
    ]) {
      assert.ok(policy.split('; ').includes(directive), directive)
    }
    assert.ok(!policy.includes('unsafe') && !policy.includes('*') && !policy.includes('http'))
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'same-origin')
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.ok(headers.has('permissions-policy'))
    assert.match(headers.get('content-type') ?? '', /^text\/html/)
    assert.ok(
      !/ style=| on[a-z]+=|<style|<script(?!(?: type="module")? src="\/console\/assets\/)/.test(
        text,
      ),
    )
  }
})

suite('a token of a person', () => {
  const call = async (token: string, path = '//people') =>
    service.call('GET', path, { token, listener: 'private', headers: { host: new URL(url).host } })

  test('may do on the private listener what the roles of its groups may, and nothing on the public one', async () => {
    const [support, officer] = [await issuer.tokenFor('ana'), await issuer.tokenFor('kim')]
    assert.equal((await call(support, '//links')).status, 200)
    assert.equal((await call(support, '//keys')).status, 403)
    assert.equal((await call(officer, '//keys')).status, 200)
    assert.equal((await call(officer, '//people')).status, 403)
    assert.equal((await service.call('GET', '/cards', { token: officer })).status, 401)
  })

  test('is refused of another audience or key, out of date, or bound to a certificate that is not there', async () => {
    const other = await issuer.tokenFor('kim', { audience: 'programs' })
    assert.equal((await call(other, '//keys')).status, 401)
    const token = await issuer.tokenFor('kim')
    const [header, payload, signature = ''] = token.split('.')
    const forged = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    assert.equal((await call(forged, '//keys')).status, 401)
    issuer.people.set('bound', { teams: ['vault'], cnf: { 'x5t#S256': 'a'.repeat(43) } })
    assert.equal((await call(await issuer.tokenFor('bound'), '//keys')).status, 401)
  })
})

test('no outside caller uses the private listener as a person by the scheme of this process', async () => {
  for (const handle of ['', 'x', 'A'.repeat(43)]) {
    const answer = await fetch(`${url}/people`, { headers: { authorization: `Person ${handle}` } })
    assert.equal(answer.status, 401)
  }
})
