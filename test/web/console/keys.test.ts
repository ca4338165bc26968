/**
 * What the console's scripts add: keys, the reader's own time, and parts that follow what happens.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { freePorts } from '../../support/free-ports.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { openChromium, type Visit } from '../support/chromium.ts'

const chromium = await openChromium()
let service: TestService
let url: string
let visit: Visit

before(async () => {
  if (chromium.leftOut) return
  const [, port] = await freePorts()
  service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  visit = await chromium.visit({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' })
  const people = service.sandbox?.people ?? []
  await visit.page.goto(people.find(({ role }) => role === 'security-officer')?.signInUrl ?? '')
})

test('keys go to the search and to screens, and say so, but not while somebody types', {
  skip: chromium.leftOut,
}, async () => {
  const { page } = visit
  await page.goto(`${url}/console/products`)
  await page.keyboard.press('/')
  const box = page.locator('.find [type=search]')
  assert.ok(await box.evaluate((element) => element === document.activeElement))
  await page.keyboard.type('g?/')
  assert.equal(await box.inputValue(), 'g?/')
  await box.blur()
  await page.keyboard.press('?')
  const dialog = page.locator('dialog#keys')
  assert.ok(await dialog.isVisible())
  const shown = (await dialog.locator('dt').allInnerTexts()).map((text) => text.trim())
  assert.ok(shown.includes('/') && shown.includes('g k'))
  assert.equal(new Set(shown).size, shown.length)
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await Promise.all([page.waitForURL(`${url}/console/keys`), page.keyboard.press('k')])
})

test('each instant stands in the reader’s own time, with UTC under the pointer', {
  skip: chromium.leftOut,
}, async () => {
  const { page } = visit
  await page.goto(`${url}/console/people`)
  const time = page.locator('time[datetime*="T"]').first()
  const at = (await time.getAttribute('datetime')) ?? ''
  const [local, utc] = ['Asia/Tokyo', 'UTC'].map((timeZone) =>
    new Date(at).toLocaleString('en-GB', {
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZone,
    }),
  )
  assert.equal(await time.innerText(), local)
  assert.equal(await time.getAttribute('title'), `${utc} UTC`)
})

test('a reader chooses UTC once, for every page', { skip: chromium.leftOut }, async () => {
  const { page } = visit
  await page.goto(`${url}/console/people`)
  const clock = page.getByRole('group', { name: 'Times' })
  await clock.getByRole('button', { name: 'UTC' }).click()
  const time = page.locator('main time[datetime*="T"]').first()
  assert.match(await time.innerText(), / UTC$/)
  await page.goto(`${url}/console/people`)
  assert.match(await time.innerText(), / UTC$/)
  assert.match((await time.getAttribute('title')) ?? '', /Asia\/Tokyo/)
  const pressed = clock.locator('[aria-pressed=true]')
  assert.equal(await pressed.innerText(), 'UTC')
  await clock.getByRole('button', { name: 'Local' }).click()
  assert.doesNotMatch(await time.innerText(), /UTC/)
})

test('a row of today shows only the time, and the whole instant under the pointer', {
  skip: chromium.leftOut,
}, async () => {
  const { page } = visit
  const shown = await page.evaluate(async () => {
    const modules = '/console/assets/web/console/local-time.ts'
    const { showLocalTimes } = await import(modules)
    const today = new Date().toISOString()
    const main = document.createElement('main')
    for (const at of [today, '2026-01-05T10:20:30Z']) {
      const time = document.createElement('time')
      time.dateTime = at
      time.dataset.inRow = ''
      main.append(time)
    }
    showLocalTimes(main)
    return [...main.querySelectorAll('time')].map((each) => [each.textContent, each.title])
  })
  const [today = [], earlier = []] = shown
  assert.match(today[0] ?? '', /^\d\d:\d\d:\d\d$/)
  assert.match(today[1] ?? '', /^\d+ \w+.*, \d\d:\d\d:\d\d UTC$/)
  assert.match(earlier[0] ?? '', /^5 Jan.*, 19:20:30$/)
})

test('a live part follows what happens without a reload, and leaves alone who reads in it', {
  skip: chromium.leftOut,
}, async () => {
  const { page } = visit
  await page.goto(`${url}/console`)
  await page.evaluate(() => {
    const region = document.querySelector('live-region')
    region?.setAttribute('every', '0.2')
    // As a page that was read before something changed.
    document.body.dataset.version = 'earlier'
    // Connected anew, it takes its interval anew.
    region?.replaceWith(region)
    const said = document.createElement('p')
    said.textContent = 'of before'
    region?.append(said)
  })
  await page.mouse.move(0, 0)
  await page.locator('live-region').getByText('of before').waitFor({ state: 'detached' })
  assert.ok(await page.locator('live-region .state').isVisible())
  assert.deepEqual(visit.complaints, [])
})
