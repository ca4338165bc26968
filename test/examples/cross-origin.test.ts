import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { createDemo } from '../../src/service/demo.ts'
import { openTestService } from '../support/service.ts'
import { openChromium } from '../web/support/chromium.ts'
import { issueCard, openDemo, type Sandbox, startSandbox } from '../web/support/demo.ts'

const host = '127.0.0.1:8080'
const own = { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }

test('a call to the demo that does not come from its own pages is refused', async () => {
  const service = await openTestService()
  const ask = async (method: 'GET' | 'POST', path: string, headers: Record<string, string>) =>
    (await service.publicServer.inject({ method, url: path, headers: { host, ...headers } }))
      .statusCode
  const relay = '/demo/relay/cards'
  const refused: [Record<string, string>, ...('GET' | 'POST')[]][] = [
    [{ origin: 'https://evil.example' }, 'GET', 'POST'],
    [{ origin: 'null' }, 'GET', 'POST'],
    [{ origin: 'http://127.0.0.1:8081' }, 'GET', 'POST'],
    [{ origin: 'http://localhost:8080' }, 'GET', 'POST'],
    [{ 'sec-fetch-site': 'cross-site' }, 'GET', 'POST'],
    [{ 'sec-fetch-site': 'same-site' }, 'GET', 'POST'],
    [{ ...own, 'sec-fetch-site': 'cross-site' }, 'GET', 'POST'],
    [
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      'GET',
    ],
    [
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
      'GET',
    ],
    // A form elsewhere that is sent here opens a page, but is a POST.
    [
      {
        origin: 'https://evil.example',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      },
      'POST',
    ],
    [{}, 'POST'],
  ]
  for (const [headers, ...methods] of refused) {
    for (const method of methods) {
      for (const path of method === 'GET'
        ? ['/demo', '/demo/relay/journal']
        : [relay, '/demo/shop/purchases']) {
        assert.equal(
          await ask(method, path, headers),
          403,
          `${method} ${path} ${JSON.stringify(headers)}`,
        )
      }
    }
  }
  const opened = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  }
  for (const headers of [opened, { 'sec-fetch-site': 'none' }, own, {}]) {
    assert.equal(await ask('GET', '/demo', headers), 200)
  }
  assert.equal(await ask('POST', relay, own), 401)
  assert.equal(await ask('GET', '/demo', { ...own, host: 'rebound.example' }), 421)
})

test('there is no demo in production, nor where tokens come from elsewhere', () => {
  assert.equal(createDemo(readConfig({}), null), null)
  const outside = readConfig({
    SANDBOX: 'true',
    AUTH_ISSUER: 'https://issuer.example',
    AUTH_AUDIENCE: 'a',
  })
  const credentials = { baseUrl: '', processorPath: 'processor', clientId: '', clientSecret: '' }
  assert.equal(createDemo(outside, credentials as SandboxFile), null)
})

test('nothing is served but the page, its style and its modules', async () => {
  const { publicServer } = await openTestService()
  const get = (url: string) => publicServer.inject({ url, headers: { host } })
  const page = await get('/demo')
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  assert.match(String(page.headers['set-cookie']), /; Path=\/demo; HttpOnly; SameSite=Strict$/)
  assert.doesNotMatch(page.payload, /<script(?![^>]* src=)|\sstyle=|\son\w+=/)
  const paths = [...page.payload.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(
    ([, path]) => path ?? '',
  )
  assert.ok(paths.length > 30)
  for (const path of paths) {
    const { headers, payload, statusCode } = await get(path)
    assert.equal(statusCode, 200, path)
    assert.match(String(headers['content-type']), /^text\/(javascript|css); charset=utf-8$/, path)
    assert.doesNotMatch(payload, /from 'jose'/)
  }
  const assets = '/demo/assets'
  const others = [
    'examples/demo/relay/relay.ts',
    'src/main.ts',
    '../package.json',
    '..%2f..%2fpackage.json',
    'web/site/',
    '',
  ]
  for (const path of others) {
    assert.ok([404, 421].includes((await get(`${assets}/${path}`)).statusCode), path)
  }
})

const chromium = await openChromium()

suite('a page elsewhere', { skip: chromium.leftOut }, () => {
  let sandbox: Sandbox
  const elsewhere = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<title>elsewhere</title>')
  })
  before(async () => {
    sandbox = await startSandbox()
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening')
  })
  after(() => elsewhere.close())

  test('it can neither call the demo in its visitor’s name, nor read or frame it', async () => {
    const { page } = await chromium.visit()
    await openDemo(page, sandbox.baseUrl)
    await issueCard(page)
    const before = await callsOf(page)
    const address = elsewhere.address()
    const port = typeof address === 'object' ? address?.port : 0
    const attack = await page.context().newPage()
    await attack.goto(`http://127.0.0.1:${port}/`)
    const outcomes = await attack.evaluate(async (demo) => {
      const simple = {
        method: 'POST',
        body: '{"cardProduct":1001}',
        credentials: 'include',
      } as const
      const tries = [
        fetch(`${demo}/relay/cards`, { ...simple, mode: 'no-cors' }),
        fetch(`${demo}/relay/journal`, { credentials: 'include', mode: 'no-cors' }),
        fetch(`${demo}/relay/journal`, { credentials: 'include' }),
        fetch(`${demo}/relay/cards`, {
          ...simple,
          headers: { 'content-type': 'application/json' },
        }),
      ]
      const results = await Promise.allSettled(tries)
      const framed = new Promise<boolean>((resolve) => {
        const frame = document.createElement('iframe')
        frame.onload = () => resolve(frame.contentDocument !== null)
        frame.src = demo
        document.body.append(frame)
      })
      return [
        ...results.map((result) => result.status === 'fulfilled' && result.value.type),
        await framed,
      ]
    }, `${sandbox.baseUrl}/demo`)
    assert.deepEqual(outcomes, [false, false, false, false, false])
    assert.equal(await callsOf(page), before)
  })
})

const callsOf = (page: import('playwright-core').Page): Promise<number> =>
  page.evaluate(async () => (await (await fetch('/demo/relay/journal')).json())[0].number)
