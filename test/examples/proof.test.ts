import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { findSecrets, type Secret } from '../../examples/demo/proof/secrets.ts'
import { strongPins } from '../support/service.ts'
import { faults } from '../web/support/axe.ts'
import {
  artifacts,
  openChromium,
  readCard,
  untilState,
  type Visit,
} from '../web/support/chromium.ts'
import { startSandbox, textOf } from '../web/support/demo.ts'

const chromium = await openChromium()

const secrets: Secret[] = [
  { name: 'card number', digits: '4000001234567899' },
  { name: 'CVV', digits: '621' },
  { name: 'PIN', digits: '7193' },
]

test('the search finds a secret in clear, in groups, reversed, as hexadecimal digits and as base64', () => {
  const wrapped = (text: string) => Buffer.from(text).toString('base64url')
  for (const text of [
    '{"pan":"4000001234567899"}',
    '4000 0012 3456 7899',
    '9987654321000004',
    Buffer.from('4000001234567899').toString('hex'),
    wrapped('{"pan":"4000001234567899"}'),
  ]) {
    assert.deepEqual(findSecrets(text, secrets), ['card number'], text)
  }
  for (const text of ['{"pin":"7193"}', '/cards?pin=7193', wrapped('{"pin":"7193"}')]) {
    assert.deepEqual(findSecrets(text, secrets), ['PIN'], text)
  }
  assert.deepEqual(findSecrets('{"cvv":"621","publicToken":"3619507193"}', secrets), ['CVV'])
  assert.deepEqual(findSecrets('{"jwe":"eyJ621abc7193"}', secrets), [])
})

suite('the page that shows an auditor what left the device', { skip: chromium.leftOut }, () => {
  let visit: Visit
  before(async () => {
    const { baseUrl } = await startSandbox()
    visit = await chromium.visit({ viewport: { width: 1280, height: 900 } })
    await visit.page.goto(`${baseUrl}/demo/proof`)
    await visit.page.waitForSelector('html[data-ready=true] pinfold-card')
  })

  test('each request body is listed by its members, and none contains the number, the CVV or the PIN', async () => {
    const { complaints, devtools, page } = visit
    await untilState(page, 'shown', () => page.getByRole('button', { name: 'Show' }).click())
    const [pin] = strongPins({ maskedPan: (await readCard(devtools)).pan })
    await untilState(page, 'masked', () => page.keyboard.press('Escape'))
    await page.getByRole('button', { name: 'Set PIN', exact: true }).click()
    await page.keyboard.type(pin)
    await page.keyboard.press('Tab')
    await page.keyboard.type(pin)
    await untilState(page, 'pin-set', () => page.keyboard.press('Enter'))
    assert.match(await textOf(page, '#verdict'), /left this page: none contains/)
    assert.match(await textOf(page, '#checks'), /finds them in a test text yes/)
    const requests = await textOf(page, '#requests')
    assert.match(requests, /POST \/demo\/relay\/cards\/\d{10}\/pin no card number, CVV or PIN/)
    assert.match(requests, /encrypted by ECDH-ES and A256GCM to the key \S+, of the service/)
    assert.match(requests, /deviceKey\.x: its point, public/)
    assert.match(requests, /private part of a key \(d\) absent/)
    assert.doesNotMatch(requests, /not expected|PRESENT|UNKNOWN/)
    assert.deepEqual(complaints, [])
  })

  test('the browser counted as many requests as the page recorded', async () => {
    const { page } = visit
    const [, recorded, counted] =
      /recorded here (\d+) requests that the browser counted (\d+)/.exec(
        await textOf(page, '#checks'),
      ) ?? []
    assert.ok(Number(recorded) >= 4)
    assert.equal(counted, recorded)
  })

  test('it is readable for everybody, wide and narrow, light and dark', async () => {
    const { page } = visit
    await page.emulateMedia({ reducedMotion: 'reduce' })
    for (const width of [390, 1280]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await faults(page), [])
        const file = join(artifacts, `proof-${width}-${colorScheme}.png`)
        await page.screenshot({ path: file, fullPage: true })
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.equal(wider, 0)
      }
    }
  })

  test('a request that does contain the number is named', async () => {
    const { page } = visit
    await untilState(page, 'shown', () => page.getByRole('button', { name: 'Show' }).click())
    await page.evaluate(async () => {
      const card = document.querySelector('pinfold-card')
      const number = card?.shadowRoot?.querySelector('.pan .value')?.textContent
      await fetch('/demo/relay/leak', { method: 'POST', body: JSON.stringify({ number }) })
    })
    assert.match(await textOf(page, '#verdict'), /^1 requests contain card data/)
  })
})
