import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { faults } from './support/axe.ts'
import {
  artifacts,
  openChromium,
  readCard,
  untilState,
  type Visit,
  visitInstead,
} from './support/chromium.ts'
import {
  choosePin,
  issueCard,
  openDemo,
  payWithPin,
  reveal,
  type Sandbox,
  startSandbox,
} from './support/demo.ts'

const chromium = await openChromium()

suite('the demo', { skip: chromium.leftOut }, () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = await startSandbox()
    visit = await chromium.visit()
  })

  let visit: Visit
  const desk = { width: 800, height: 900 }

  test('every step of the journey can be taken with the keyboard alone', async () => {
    await visitInstead(visit, desk)
    const { devtools, page } = visit
    const { keyboard } = page
    const tabTo = async (name: RegExp) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await keyboard.press('Tab')
        if (name.test(await focused(devtools))) return
      }
      assert.fail(`The focus never comes to ${name}.`)
    }
    await openDemo(page, sandbox.baseUrl)
    await tabTo(/^button Issue my card/)
    await keyboard.press('Enter')
    await page.waitForSelector('#attempts li')
    await tabTo(/^checkbox Show the PIN, too/)
    await keyboard.press('Space')
    await tabTo(/^textbox New PIN/)
    await keyboard.type('6284')
    await tabTo(/^textbox Once more/)
    await keyboard.type('6284')
    await keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelector('#pin-said')?.textContent !== '')
    await tabTo(/^textbox PIN at the terminal/)
    await keyboard.type('7193')
    await keyboard.press('Enter')
    await page.waitForSelector('#pin-tries button')
    await tabTo(/^button Unblock PIN/)
    await keyboard.press('Enter')
    await page.waitForFunction(() => !document.querySelector('#pin-tries button'))
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'pin-tries')
    await tabTo(/^button Show details/)
    await untilState(page, 'shown', () => keyboard.press('Enter'))
    const { pan } = await readCard(devtools)
    await keyboard.press('Shift+Tab')
    await untilFocused(devtools, /^textbox PIN/)
    for (let fields = 0; fields < 3; fields += 1) await keyboard.press('Shift+Tab')
    await untilFocused(devtools, /^textbox Card number/)
    await untilState(page, 'masked', () => keyboard.press('Escape'))
    await untilFocused(devtools, /^button Show details/)
    assert.ok(pan.length === 16)
  })

  test('no digits are announced: live regions only say that the details are shown', async () => {
    await visitInstead(visit, desk)
    const { devtools, page } = visit
    await openDemo(page, sandbox.baseUrl)
    await issueCard(page)
    await reveal(page)
    const { nodes } = await devtools.send('Accessibility.getFullAXTree')
    const live = nodes.filter(({ properties = [] }) =>
      properties.some(({ name }) => name === 'live'),
    )
    assert.ok(live.length > 0)
    const { cvv, pan, status } = await readCard(devtools)
    assert.equal(status, 'Details are shown for 15 seconds.')
    for (const { name } of live) assert.ok(!String(name?.value).includes(cvv))
    const card = nodes.find(({ name }) => name?.value === 'Payment card')
    assert.equal(card?.role?.value, 'group')
    const number = nodes.find(
      ({ name, role }) => role?.value === 'textbox' && name?.value === 'Card number',
    )
    assert.equal(String(number?.value?.value ?? '').replaceAll(/\s/g, ''), pan)
  })

  test('the page has no accessibility fault and fits its window, small or wide, light or dark', async () => {
    const { page } = await chromium.visit({ viewport: { width: 360, height: 860 } })
    // Opened for the checker alone, which cannot see into a closed tree.
    await page.addInitScript(() => {
      const attach = Element.prototype.attachShadow
      Element.prototype.attachShadow = function attachOpen(options) {
        return attach.call(this, { ...options, mode: 'open' })
      }
    })
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await openDemo(page, sandbox.baseUrl)
    assert.deepEqual(await faults(page), [])
    await issueCard(page)
    await page.evaluate(() =>
      document.querySelector('pinfold-card')?.setAttribute('reveal-seconds', '60'),
    )
    await choosePin(page, '1234')
    await payWithPin(page, '7193')
    await reveal(page)
    for (const width of [360, 1280]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 860 })
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await faults(page), [], `${width} ${colorScheme}`)
        const file = join(artifacts, `demo-${width}-${colorScheme}.png`)
        await page.screenshot({ path: file, fullPage: true })
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - innerWidth,
        )
        assert.equal(overflow, 0, `${width} ${colorScheme}`)
      }
    }
    assert.ok(await page.locator('pinfold-card .field.pin').isHidden())
    assert.match(await readShownPan(page), /^400000[0-9]{10}$/)
  })
})

/** Through the tree that was opened for the checker: what it looked at was a card in the clear. */
const readShownPan = async (page: Page): Promise<string> =>
  (await page.locator('pinfold-card .pan .value').textContent()) ?? ''

/** A busy browser takes a moment to say what has the focus. */
const untilFocused = async (
  devtools: Parameters<typeof readCard>[0],
  name: RegExp,
): Promise<void> => {
  await until(async () => name.test(await focused(devtools)))
}

/** Role and name of what has the focus, as a screen reader tells them. */
const focused = async (devtools: Parameters<typeof readCard>[0]): Promise<string> => {
  const { nodes } = await devtools.send('Accessibility.getFullAXTree')
  const found = nodes.filter(({ properties = [] }) =>
    properties.some(({ name, value }) => name === 'focused' && value.value === true),
  )
  const { name, role } = found.at(-1) ?? {}
  return `${role?.value} ${name?.value}`
}
