/** Signing in to a sandbox by the links that its start prints. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { roles } from '../../../src/domain/person.ts'
import { hiddenFields, openBrowser } from '../../support/browser.ts'
import { freePorts } from '../../support/free-ports.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

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

  test('what is no link signs nobody in', async () => {
    for (const as of ['', 'x', 'vera-viewer', 'A'.repeat(43)]) {
      const page = await openBrowser().visit(`${url}/console/sign-in?as=${as}`)
      assert.match(page.text, /Follow one of the links that the start printed/)
    }
    assert.match((await openBrowser().visit(`${url}/console`)).text, /Follow one of the links/)
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

  test('a name that leads to this machine and is not its own is answered nothing', async () => {
    const answer = await service.privateServer.inject({
      ...{ method: 'GET', url: '/console' },
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
