/** The documents in a browser: what anybody can read of them, and what the script adds. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { freePorts } from '../support/free-ports.ts'
import { openTestService } from '../support/service.ts'
import { faults } from './support/axe.ts'
import { artifacts, openChromium, type Visit } from './support/chromium.ts'

const chromium = await openChromium()

suite('the documents', { skip: chromium.leftOut }, () => {
  let url: string
  let visit: Visit
  before(async () => {
    const [port = 0] = await freePorts()
    const service = await openTestService({
      env: { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, RATE_LIMIT: 'off' },
    })
    await service.publicServer.listen({ port, host: '127.0.0.1' })
    url = `http://127.0.0.1:${port}`
    visit = await chromium.visit({ permissions: ['clipboard-read', 'clipboard-write'] })
  })

  /** Pages with all that there is on any of them. */
  const addresses = [
    '/docs',
    '/docs/tutorials/first-card',
    '/docs/reference/configuration',
    '/docs/reference/errors',
    '/docs/reference/console',
    '/docs/ARCHITECTURE',
    '/docs/api/public',
    '/docs/api/public/cards',
    '/docs/api/private/zones',
    '/docs/api/events',
    '/docs/search?text=token',
    '/problems/weak_pin',
  ]

  test('have no accessibility fault and fit their window, small or wide, light or dark', async () => {
    const { complaints, page } = visit
    for (const address of addresses) {
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(`${url}${address}`)
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true
      })
      for (const [width, colorScheme] of [
        [360, 'light'],
        [1280, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        const name = `documents${address.replaceAll(/\W+/g, '-')}-${width}-${colorScheme}`
        await page.screenshot({ path: join(artifacts, `${name}.png`) })
        assert.deepEqual(await faults(page), [], name)
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - innerWidth,
        )
        assert.ok(overflow <= 0, `${name}: ${overflow} too wide`)
      }
    }
    assert.deepEqual(complaints, [])
  })

  test('can be read, followed and searched without script', async () => {
    const { page } = await chromium.visit({ javaScriptEnabled: false })
    await page.goto(`${url}/docs`)
    await page.click('main a[href="/docs/reference/errors"]')
    await page.click('main a[href="#weak_pin"]')
    assert.ok(await page.locator('#weak_pin').isVisible())
    await page.fill('[type=search]', 'create card')
    await page.press('[type=search]', 'Enter')
    await page.click('.results a >> nth=0')
    assert.equal(page.url(), `${url}/docs/api/public/cards#createCard`)
    assert.ok(await page.locator('#createCard .code').first().isVisible())
    assert.equal(await page.locator('.copy').count(), 0)
  })

  test('a key goes to the search, and a button copies a block of code', async () => {
    const { page } = visit
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(`${url}/docs/api/public/products`)
    await page.keyboard.press('/')
    await page.keyboard.type('weak pin')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${url}/docs/search?text=weak+pin`)
    await page.goto(`${url}/docs/api/public/products`)
    const block = page.locator('#listProducts .code').first()
    await block.locator('button').click()
    await block.getByText('Copied').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, await block.locator('code').textContent())
  })

  test('everything comes from this listener', async () => {
    const { page, requested } = visit
    requested.length = 0
    await page.goto(`${url}/docs`)
    assert.ok(requested.length >= 5)
    for (const address of requested) assert.ok(address.startsWith(`${url}/`), address)
  })
})
