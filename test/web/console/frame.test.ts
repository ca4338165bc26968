/** How much room the frame of a page takes. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { openChromium } from '../support/chromium.ts'
import { type Console, openConsole, signIn } from '../support/console.ts'

const chromium = await openChromium()

suite('the frame of a page', { skip: chromium.leftOut }, () => {
  let service: Console
  before(async () => {
    service = await openConsole()
  })

  test('has two rows above the page of a telephone, also with the switch of the clock', async () => {
    const { page } = await signIn(service, chromium, 'support', {
      timezoneId: 'Europe/Madrid',
      viewport: { width: 360, height: 800 },
    })
    await page.getByRole('button', { name: 'UTC' }).waitFor()
    const tops = await page
      .locator('.top > :visible')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect()))
    const middles = tops.map(({ height, y }) => Math.round((y + height / 2) / 10))
    assert.equal(new Set(middles).size, 2, middles.join())
  })

  test('does not scroll if the content fits in the window', async () => {
    const { page } = await signIn(service, chromium, 'auditor', {
      viewport: { width: 1280, height: 900 },
    })
    await page.goto(service.url('/console/people'))
    const spare = await page.evaluate(
      () => document.documentElement.scrollHeight - document.documentElement.clientHeight,
    )
    assert.equal(spare, 0)
  })
})
