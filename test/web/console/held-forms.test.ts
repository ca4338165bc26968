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

  test('that was refused leaves a page that Back and Reload visit, without sending it again', async () => {
    const { publicToken } = await service.createCard()
    const { page } = await signIn(service, chromium, 'support')
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.url())
    })
    await page.goto(service.url(`/console/cards/${publicToken}`))
    await page.getByText('Freeze', { exact: true }).first().click()
    const form = page.locator('#act-freeze')
    await form.getByLabel('Reason').fill(' ')
    await form.getByRole('button').click()
    await page.getByRole('alert').getByText('No change was made.').waitFor()
    await page.goto(service.url('/console'))
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: /^Card / }).waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: /^Card / }).waitFor()
    assert.equal(sent.length, 1)
  })
})
