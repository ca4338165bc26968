/** What becomes of a form that cannot be sent. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { openChromium } from '../support/chromium.ts'
import { type Console, openConsole, signIn } from '../support/console.ts'

const chromium = await openChromium()

suite('a form', { skip: chromium.leftOut }, () => {
  let service: Console
  before(async () => {
    service = await openConsole()
  })

  test('is held back with what was typed while the service does not answer, and sent once it does', async () => {
    const { publicToken } = await service.createCard()
    const { page } = await signIn(service, chromium, 'support')
    await page.goto(service.url(`/console/cards/${publicToken}`))
    await page.getByText('Freeze', { exact: true }).first().click()
    const form = page.locator('#act-freeze')
    await form.getByLabel('Reason').fill('Reported lost by phone')
    await page.context().setOffline(true)
    await form.getByRole('button').click()
    await form.getByRole('alert').getByText('The service does not answer.').waitFor()
    assert.equal(await form.getByLabel('Reason').inputValue(), 'Reported lost by phone')
    await page.context().setOffline(false)
    await form.getByRole('button').click()
    await page.getByRole('status').getByText('The card is frozen').waitFor()
  })
})
