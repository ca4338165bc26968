/**
 * How an open page follows what happens: by small answers, ever more seldom, and with the forms of
 * the state that is.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { longerWait } from '../../../web/console/back-off.ts'
import { callAs, makePerson } from '../../operations/approvals/people.ts'
import { openBrowser } from '../../support/browser.ts'
import { personNamed, setRequester } from '../../support/builders.ts'
import { openChromium } from '../support/chromium.ts'
import { type Console, linkOf, openConsole, signIn } from '../support/console.ts'
import { askForAdministrator } from '../support/console-world.ts'

const chromium = await openChromium()
let service: Console

before(async () => {
  service = await openConsole({ APPROVALS: 'administrator' })
})

const refuse = async (approvalId: string): Promise<void> => {
  const person = makePerson('another officer', 'security-officer')
  const answer = await callAs(service, person, 'POST', `/approvals/${approvalId}/refuse`, {
    body: { reason: 'No need' },
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

const versionIn = (text: string): string => /data-version="([^"]+)"/.exec(text)?.[1] ?? ''

test('a page that asks whether there is anything new is answered by nothing until there is', async () => {
  const { approvalId } = await askForAdministrator(service, 'admin-watched')
  const browser = openBrowser()
  await browser.visit(linkOf(service, 'Sol Security'))
  const address = service.url(`/console/approvals/${approvalId}`)
  const version = versionIn((await browser.visit(address)).text)
  assert.notEqual(version, '')
  const ask = () =>
    browser.ask(address, {
      headers: { 'sec-fetch-dest': 'empty', 'if-none-match': `"${version}"` },
    })
  for (let time = 0; time < 2; time += 1) {
    const same = await ask()
    assert.deepEqual([same.status, same.text], [304, ''])
  }
  await refuse(approvalId)
  const changed = await ask()
  assert.equal(changed.status, 200)
  assert.match(changed.text, /It was refused, and is not executed/)
  assert.notEqual(versionIn(changed.text), version)
})

test('a page on which nothing happens asks at most 15 times in five minutes', () => {
  let requests = 0
  for (let [atMs, waitMs] = [2_000, 2_000]; atMs <= 300_000; atMs += waitMs) {
    requests += 1
    waitMs = longerWait(waitMs)
  }
  assert.ok(requests <= 15, `It asks ${requests} times.`)
})

test('an open approval that was refused offers no form any more, even to a person who points at it', {
  skip: chromium.leftOut,
}, async () => {
  const { approvalId } = await askForAdministrator(service, 'admin-refused')
  const visit = await signIn(service, chromium, 'Sol Security')
  const { page } = visit
  await setRequester(
    service.database,
    approvalId,
    await personNamed(service.database, 'Sol Security'),
  )
  await page.goto(service.url(`/console/approvals/${approvalId}`))
  const withdraw = page.getByRole('button', { name: 'Withdraw' })
  await withdraw.hover()
  await refuse(approvalId)
  await page.getByText('It was refused, and is not executed.').waitFor()
  assert.equal(await withdraw.count(), 0)
  assert.equal(await page.locator('live-region form').count(), 0)
  assert.deepEqual(visit.complaints, [])
})

test('a page asks for nothing while it is hidden, and at once follows what happened when it is shown', {
  skip: chromium.leftOut,
}, async () => {
  const visit = await signIn(service, chromium, 'Sol Security')
  const { page } = visit
  const showPage = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)
  await page.goto(service.url('/console/approvals'))
  await page.goto(service.url('/console/webhooks'))
  await showPage(true)
  const asked = visit.requested.length
  const { webhookId } = await service.createWebhook('http://127.0.0.1:9/hook', ['card.created'])
  await page.waitForTimeout(6_000)
  assert.equal(visit.requested.length, asked)
  await showPage(false)
  await page.locator(`a[href$="${webhookId}"]`).waitFor()
})

test('a live part goes on under a pointer that rests on it, and says when it was updated', {
  skip: chromium.leftOut,
}, async () => {
  const { page } = await signIn(service, chromium, 'Sol Security')
  await page.goto(service.url('/console/webhooks'))
  await page
    .locator('.live-state')
    .getByText(/^Updated \d/)
    .waitFor()
  await page.locator('live-region').hover()
  const { webhookId } = await service.createWebhook('http://127.0.0.1:9/rest', ['card.created'])
  await page.locator(`a[href$="${webhookId}"]`).waitFor()
})

test('a page says in words that the service is gone or the session has ended, and when it is back', {
  skip: chromium.leftOut,
}, async () => {
  const { page } = await signIn(service, chromium, 'Sol Security')
  await page.goto(service.url('/console/webhooks'))
  const look = async () => {
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  }
  const state = page.locator('.live-state [role=status]')
  await page.route('**/console/webhooks', (route) => route.abort())
  await look()
  await state.getByText('The service does not answer.').waitFor()
  await page.unroute('**/console/webhooks')
  await look()
  await page.locator('.live-state [role=status]:empty').waitFor({ state: 'attached' })
  await page.context().clearCookies()
  await look()
  await state.getByText('You are signed out.').waitFor()
})
