/** Signing in to a sandbox by the links that its start prints. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { createOperatorIssuer } from '../../src/console/people-issuer.ts'
import { roles } from '../../src/domain/person.ts'
import { hiddenFields, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

const serve = async (env: Readonly<Record<string, string>> = {}) => {
  const [, port] = await freePorts()
  const service = await openTestService({ env: { PRIVATE_PORT: String(port), ...env } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  return { service, url: `http://127.0.0.1:${port}` }
}

suite('in a sandbox', () => {
  let service: TestService
  let url: string
  before(async () => {
    ;({ service, url } = await serve())
  })

  const people = () => service.sandbox?.people ?? []

  test('each role has a link, and those whose acts another approves have two people', async () => {
    const count = (role: string) => people().filter((each) => each.role === role).length
    assert.deepEqual(
      roles.filter((role) => count(role) === 0),
      [],
    )
    for (const role of ['key-officer', 'security-officer', 'support-lead'])
      assert.equal(count(role), 2)
    assert.equal(new Set(people().map(({ signInUrl }) => signInUrl)).size, people().length)
  })

  test('a link signs in as its person, with its role alone, whoever was signed in before', async () => {
    const browser = openBrowser()
    for (const { name, role, signInUrl } of people()) {
      const page = await browser.visit(signInUrl)
      assert.equal(page.url, `${url}/console`)
      assert.ok(page.text.includes(name))
      const [session] = await sql<{ roles: string[] }>(
        service.database,
        'select roles from console_session order by started_at desc limit 1',
      )
      assert.deepEqual(session?.roles, [role])
    }
  })

  test('a text that is no link starts no session', async () => {
    for (const as of ['x', 'vera-viewer', 'A'.repeat(43)]) {
      const page = await openBrowser().visit(`${url}/console/sign-in?as=${as}`)
      assert.match(page.text, /Follow one of the links that the start printed/)
    }
  })

  test('a visitor without a link chooses a person, and gets to the requested page', async () => {
    const browser = openBrowser()
    const page = await browser.visit(`${url}/console/search?text=1`)
    assert.match(page.text, /<link rel="stylesheet" href="\/console\/assets\/console.css">/)
    const found = [...page.text.matchAll(/href="(\/console\/sign-in\?[^"]+)"/g)]
    assert.equal(found.length, people().length)
    const link = found[0]?.[1]?.replaceAll('&amp;', '&') ?? ''
    assert.equal((await browser.visit(`${url}${link}`)).url, `${url}/console/search?text=1`)
  })

  test('the address of the listener leads to the console, and so does that with a slash', async () => {
    for (const [path, expected] of [
      ['/', 302],
      ['/console/', 308],
    ] as const) {
      const { headers, status } = await fetch(`${url}${path}`, { redirect: 'manual' })
      assert.deepEqual([status, headers.get('location')], [expected, '/console'])
    }
  })

  test('an address without a screen says so, with the navigation for who is signed in', async () => {
    const browser = openBrowser()
    assert.equal((await browser.visit(`${url}/console/nothing`)).status, 404)
    await browser.visit(people()[0]?.signInUrl ?? '')
    const page = await browser.visit(`${url}/console/nothing`)
    assert.equal(page.status, 404)
    assert.match(page.text, /aria-label="Screens"/)
  })

  test('an old sign-in at the issuer is answered by a page that begins it again', async () => {
    const page = await openBrowser().visit(`${url}/console/issuer/interaction/expired`)
    assert.equal(page.status, 400)
    assert.match(page.text, /Begin it again/)
    assert.match(page.text, /href="\/console\/sign-in"/)
  })

  test('a person who is to sign in again says so, and the time of that is the session’s', async () => {
    const browser = openBrowser()
    await browser.visit(people()[0]?.signInUrl ?? '')
    const asked = await browser.visit(`${url}/console/sign-in?again=yes&to=/console?back=1`)
    assert.match(asked.text, /Sign in again as Vera Viewer/)
    const answer = await browser.send(asked.url, {})
    assert.equal(answer.url, `${url}/console?back=1`)
    const [row] = await sql<{ isFresh: boolean }>(
      service.database,
      `select authenticated_at > clock_timestamp() - interval '10 seconds' as "isFresh"
       from console_session order by started_at desc limit 1`,
    )
    assert.deepEqual(row, { isFresh: true })
  })

  /** What a page on another port of this machine sends a browser to. */
  const askForCode = (callback: string, more: Readonly<Record<string, string>> = {}) =>
    `${url}/console/issuer/auth?${new URLSearchParams({
      client_id: 'pinfold-cli',
      response_type: 'code',
      redirect_uri: callback,
      scope: 'openid profile groups',
      state: 's',
      nonce: 'n',
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
      ...more,
    })}`

  test('another program gets no code of who is signed in, before that person allows it', async () => {
    const callback = 'http://127.0.0.1:9/callback'
    const browser = openBrowser()
    await browser.visit(people()[0]?.signInUrl ?? '')
    const asked = await browser.visit(askForCode(callback))
    assert.equal(new URL(asked.url).origin, url)
    assert.match(
      asked.text,
      /pinfold-cli at http:\/\/127\.0\.0\.1:9\/callback asks to act as Vera Viewer/,
    )
    assert.match(
      asked.headers.get('content-security-policy') ?? '',
      /form-action 'self' http:\/\/127\.0\.0\.1:9;/,
    )
    assert.match(asked.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    // It asks each time: what was allowed once may be another program the next time.
    for (const [path, member] of [
      ['', 'code'],
      ['', 'code'],
      ['/refuse', 'error'],
    ] as const) {
      const { url: page } = await browser.visit(askForCode(callback))
      const answered = await browser.ask(`${page}${path}`, { method: 'POST' })
      const resumed = await browser.ask(answered.headers.get('location') ?? '')
      const to = new URL(resumed.headers.get('location') ?? '')
      assert.equal(`${to.origin}${to.pathname}`, callback)
      assert.ok(to.searchParams.has(member), to.search)
    }
    // Without a question nothing but the refusal goes there.
    const silent = await browser.ask(askForCode(callback, { prompt: 'none' }))
    const { searchParams } = new URL(silent.headers.get('location') ?? '')
    assert.deepEqual(
      [searchParams.get('code'), searchParams.get('error')],
      [null, 'interaction_required'],
    )
    // The console itself is asked nothing.
    assert.equal((await browser.visit(people()[0]?.signInUrl ?? '')).url, `${url}/console`)
  })

  test('however many strangers ask, who is signed in stays signed in', async () => {
    const issuer = createOperatorIssuer({
      issuer: `${url}/console/issuer`,
      clientId: 'console',
      audience: url,
      redirectUri: `${url}/console/sign-in/callback`,
      keptMost: { signedIn: 100, anonymous: 100 },
      people: [{ subject: 'one', name: 'One', groups: ['viewer'], link: 'the-link' }],
    })
    const cookies = new Map<string, string>()
    const keep = (line: string) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const ask = async (path: string, isSigned: boolean) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers: Readonly<Record<string, string>> = isSigned ? { cookie } : {}
      const answer = await issuer.answer({ method: 'GET', path, headers, body: '' })
      if (isSigned) for (const line of [answer.headers['set-cookie'] ?? []].flat()) keep(line)
      return answer
    }
    const auth = (more: Readonly<Record<string, string>>) => {
      const { search } = new URL(askForCode(`${url}/console/sign-in/callback`, more))
      return `/console/issuer/auth${search}`
    }
    const own = { client_id: 'console' }
    let answer = await ask(auth({ ...own, login_hint: 'the-link' }), true)
    for (let hops = 0; hops < 5 && !String(answer.headers.location).includes('code='); hops += 1) {
      const { pathname, search } = new URL(String(answer.headers.location), url)
      answer = await ask(`${pathname}${search}`, true)
    }
    assert.match(String(answer.headers.location), /code=/)
    const path = auth(own)
    for (let calls = 0; calls < 500; calls += 50) {
      await Promise.all(Array.from({ length: 50 }, () => ask(path, false)))
    }
    const again = await ask(auth({ ...own, prompt: 'none' }), true)
    assert.match(String(again.headers.location), /code=/)
  })

  test('a name that leads to this machine and is not its own is answered nothing', async () => {
    const answer = await service.privateServer.inject({
      method: 'GET',
      url: '/console',
      headers: { host: 'rebound.evil.test:8081' },
    })
    assert.equal(answer.statusCode, 421)
  })

  test('a sign-out leaves the cookie without use', async () => {
    const browser = openBrowser()
    const page = await browser.visit(people()[0]?.signInUrl ?? '')
    const kept = [...browser.cookies]
    await browser.send(`${url}/console/sign-out`, hiddenFields(page))
    const copy = openBrowser()
    for (const [name, cookie] of kept)
      if (name.includes(' pinfold-')) copy.cookies.set(name, cookie)
    const answer = await copy.ask(`${url}/console`)
    assert.equal(answer.status, 303)
  })
})

test('links are another sandbox’s in another sandbox', async () => {
  const [one, other] = [await serve(), await serve()]
  const link = new URL(one.service.sandbox?.people[0]?.signInUrl ?? '').search
  const page = await openBrowser().visit(`${other.url}/console/sign-in${link}`)
  assert.match(page.text, /Follow one of the links/)
})

test('a sandbox that other machines can reach does not list its people', async () => {
  const { url } = await serve({ PRIVATE_BASE_URL: 'http://ops.pinfold.test' })
  const page = await openBrowser().ask(`${url}/console/sign-in`)
  assert.equal(page.status, 303)
})

test('with an issuer elsewhere a sandbox has no people and no issuer of its own', async () => {
  const { service, url } = await serve({
    CONSOLE_ISSUER: 'http://127.0.0.1:9',
    CONSOLE_CLIENT_ID: 'console',
    CONSOLE_CLIENT_SECRET_FILE: new URL(import.meta.url).pathname,
    CONSOLE_ROLES: 'viewer=all',
  })
  assert.deepEqual(service.sandbox?.people, [])
  const answer = await openBrowser().ask(`${url}/console/issuer/.well-known/openid-configuration`)
  assert.equal(answer.status, 404)
})
