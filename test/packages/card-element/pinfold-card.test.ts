import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { openChromium, readCard, untilState, type Visit } from '../../web/support/chromium.ts'
import { issueCard, openDemo, reveal, startSandbox } from '../../web/support/demo.ts'

const chromium = await openChromium()

suite('the card element', { skip: chromium.leftOut }, () => {
  let visit: Visit
  before(async () => {
    const { baseUrl } = await startSandbox()
    visit = await chromium.visit({ viewport: { width: 400, height: 800 } })
    await openDemo(visit.page, baseUrl)
    await issueCard(visit.page)
  })

  /** The same page with an element that nobody used before. */
  const visitWithCard = async (seconds = '60'): Promise<Visit> => {
    await visit.page.evaluate(renewCard, seconds)
    return visit
  }

  test('it masks itself when its seconds are over, and tells a screen reader no digits', async () => {
    const { devtools, page } = await visitWithCard('1')
    await untilState(page, 'masked', async () => {
      await reveal(page)
      const shown = await readCard(devtools)
      assert.match(shown.pan, /^400000[0-9]{10}$/)
      assert.equal(shown.status, 'Details are shown for a second.')
    })
    const { cvv, expiry, pan, pin, status } = await readCard(devtools)
    assert.match(pan, /^•••• •••• •••• ([0-9]{4})ends in \1$/)
    assert.deepEqual(
      [cvv, expiry, pin, status],
      ['•••hidden', '••/••hidden', '', 'Details hidden.'],
    )
  })

  test('it is masked by being removed, and comes back masked', async () => {
    const { devtools, page } = await visitWithCard()
    await reveal(page)
    await untilState(page, 'masked', () =>
      page.evaluate(() => {
        const card = document.querySelector('pinfold-card')
        const slot = card?.parentElement
        // What it tells outside of the page nobody hears but who listens on it.
        card?.addEventListener('pinfold-state', () =>
          document.dispatchEvent(new CustomEvent('pinfold-state', { detail: { state: 'masked' } })),
        )
        card?.remove()
        if (card) slot?.append(card)
      }),
    )
    assert.match((await readCard(devtools)).pan, /^•••• /)
  })

  test('it is masked at once when the page is hidden, frozen or left', async () => {
    const { devtools, page } = await visitWithCard()
    const leave = ['visibilitychange', 'pagehide', 'freeze']
    for (const name of leave) {
      await reveal(page)
      await untilState(page, 'masked', () => hide(page, name))
      assert.match((await readCard(devtools)).pan, /^•••• /, name)
      await show(page)
    }
  })

  test('it is masked when it is given another card, issuer or keys', async () => {
    const { devtools, page } = await visitWithCard()
    const changes = [
      () => setAttribute(page, 'issuer', 'https://cards.example'),
      () => setKeys(page),
      () => setAttribute(page, 'public-token', '1234567890'),
    ]
    for (const change of changes) {
      await reveal(page)
      await untilState(page, 'masked', change)
      assert.match((await readCard(devtools)).pan, /^•••• /)
    }
  })

  test('it asks for nothing while it is in no page or in a hidden one', async () => {
    const { page } = await visitWithCard()
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/encrypted')) asked.push(request.url())
    })
    await page.evaluate(async () => {
      ;(window as unknown as { states: string[] }).states.splice(0)
      const card = document.querySelector('pinfold-card') as HTMLElement & {
        reveal: () => Promise<void>
      }
      const slot = card.parentElement
      card.remove()
      await card.reveal()
      slot?.append(card)
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
      await card.reveal()
    })
    await show(page)
    assert.deepEqual(asked, [])
    assert.ok(!(await statesOf(page)).includes('asking'))
    await reveal(page)
    assert.equal(asked.length, 1)
  })

  test('an answer that comes while the page is hidden is not shown, even if nothing told so', async () => {
    const { devtools, page } = await visitWithCard()
    const held = Promise.withResolvers<Route>()
    await page.route('**/encrypted', (route) => held.resolve(route), { times: 1 })
    await untilState(page, 'asking', () => pressButton(page))
    await page.evaluate(() =>
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }),
    )
    await untilState(page, 'masked', async () => (await held.promise).continue())
    assert.deepEqual(await statesOf(page), ['masked'])
    assert.match((await readCard(devtools)).pan, /^•••• /)
    await show(page)
  })

  test('keys that were set before the element was defined are the ones that count', async () => {
    const { page } = await visitWithCard()
    await page.evaluate(() => {
      const card = document.querySelector('pinfold-card') as HTMLElement & { service: unknown }
      const { service: value } = card
      card.service = null
      Object.defineProperty(card, 'service', { value, configurable: true, writable: true })
      card.parentElement?.append(card)
    })
    await reveal(page)
  })

  test('an answer that comes after the page was hidden is never shown', async () => {
    const { devtools, page } = await visitWithCard()
    const held = Promise.withResolvers<Route>()
    await page.route('**/encrypted', (route) => held.resolve(route), { times: 1 })
    await untilState(page, 'asking', () => pressButton(page))
    await untilState(page, 'masked', () => hide(page, 'pagehide'))
    await (await held.promise).continue().catch(() => undefined)
    // One that is asked for later is answered later: by then, the first would have been shown.
    await reveal(page)
    assert.deepEqual(await statesOf(page), ['asking', 'shown'])
    assert.match((await readCard(devtools)).pan, /^400000/)
  })

  test('each reveal is under a key of its own', async () => {
    const { page } = await visitWithCard()
    const bodies: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/encrypted')) bodies.push(request.postData() ?? '')
    })
    await reveal(page)
    await untilState(page, 'masked', () => pressButton(page))
    await reveal(page)
    const [first, second] = bodies.map((body) => JSON.parse(body))
    assert.notEqual(first.deviceKey.x, second.deviceKey.x)
    assert.notEqual(first.nonce, second.nonce)
    assert.deepEqual(Object.keys(first.deviceKey).sort(), ['crv', 'kty', 'x', 'y'])
  })

  test('an answer that a relay changed, withheld or swapped is not shown, with a message', async () => {
    const { devtools, page } = await visitWithCard()
    const first = await answerOf(page, () => reveal(page))
    const words = async (answer: {
      status?: number
      body: string
      headers?: Record<string, string>
    }) => {
      await page.route('**/encrypted', (route) => route.fulfill({ ...json, ...answer }), {
        times: 1,
      })
      await untilState(page, 'failed', () => pressButton(page))
      const { pan, status } = await readCard(devtools)
      assert.match(pan, /^•••• /)
      return status
    }
    await untilState(page, 'masked', () => pressButton(page))
    const { jwe } = JSON.parse(first)
    assert.match(await words({ body: first }), /was changed on its way from your card’s issuer/)
    const changed = `${jwe.slice(0, -1)}${jwe.endsWith('A') ? 'B' : 'A'}`
    assert.match(await words({ body: JSON.stringify({ jwe: changed }) }), /shows none of it/)
    assert.match(await words({ body: '<html>' }), /was changed on its way/)
    const limited = {
      status: 429,
      body: '{"code":"rate_limited"}',
      headers: { 'retry-after': '1500' },
    }
    assert.match(await words(limited), /limited.*Try again in 25 minutes/)
    assert.match(await words({ status: 503, body: '{"code":"unavailable"}' }), /is starting/)
    assert.match(await words({ status: 500, body: '{"code":"another"}' }), /did not work/)
    for (const body of ['<html>', '', '{}', 'null']) {
      assert.match(await words({ status: 502, body }), /service does not answer/)
    }
    await page.route('**/encrypted', (route) => route.abort(), { times: 1 })
    await untilState(page, 'failed', () => pressButton(page))
    assert.match((await readCard(devtools)).status, /no connection/)
  })

  test('the number is copied on request, and the clipboard cleared half a minute later', async () => {
    const { devtools, page } = await visitWithCard()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.clock.install()
    await reveal(page)
    const { pan } = await readCard(devtools)
    await page.keyboard.press('Tab')
    while ((await focusedName(devtools)) !== 'Copy number') await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== '')
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), pan)
    assert.match((await readCard(devtools)).status, /cleared in 30 seconds/)
    await page.clock.runFor(30_000)
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === '')
    assert.equal((await readCard(devtools)).status, 'The clipboard was cleared.')
  })
})

const renewCard = (seconds: string): void => {
  const card = document.querySelector('pinfold-card')
  const PinfoldCard = customElements.get('pinfold-card')
  if (!card || !PinfoldCard) throw new Error('There is no card in the page.')
  const renewed = new PinfoldCard() as HTMLElement & { service: unknown }
  for (const name of ['relay-url', 'masked-pan', 'emboss-name', 'scheme-name']) {
    renewed.setAttribute(name, card.getAttribute(name) ?? '')
  }
  // The token is in the address, whatever a test did to the attribute.
  renewed.setAttribute(
    'public-token',
    /[0-9]{10}/.exec(card.getAttribute('relay-url') ?? '')?.[0] ?? '',
  )
  renewed.setAttribute('reveal-seconds', seconds)
  renewed.service = (card as typeof renewed).service
  card.replaceWith(renewed)
}

const json = { contentType: 'application/json' }

const setAttribute = (page: Page, name: string, value: string): Promise<void> =>
  page.evaluate(
    ([attribute, text]) => document.querySelector('pinfold-card')?.setAttribute(attribute, text),
    [name, value] as const,
  )

const statesOf = (page: Page): Promise<string[]> =>
  page.evaluate(() => (window as unknown as { states: string[] }).states)

/** Keys like those that it has, for the page, but others to the element. */
const setKeys = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const card = document.querySelector('pinfold-card') as HTMLElement & { service: object }
    card.service = { ...card.service }
  })

const pressButton = async (page: Page): Promise<void> => {
  await page.focus('pinfold-card')
  await page.keyboard.press('Enter')
}

const answerOf = async (page: Page, act: () => Promise<void>): Promise<string> => {
  const answered = page.waitForResponse((response) => response.url().endsWith('/encrypted'))
  await act()
  return (await answered).text()
}

/** What the browser tells a page that is left. A headless one has no window to hide. */
const hide = (page: Page, name: string): Promise<boolean> =>
  page.evaluate((event) => {
    if (event !== 'visibilitychange') return window.dispatchEvent(new Event(event))
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    return document.dispatchEvent(new Event(event))
  }, name)

const show = (page: Page): Promise<boolean> =>
  page.evaluate(() => Reflect.deleteProperty(document, 'visibilityState'))

/** What a screen reader calls what has the focus, in whatever shadow tree it is. */
const focusedName = async (devtools: Visit['devtools']): Promise<string> => {
  const { nodes } = await devtools.send('Accessibility.getFullAXTree')
  const focused = nodes.filter(({ properties = [] }) =>
    properties.some(({ name, value }) => name === 'focused' && value.value === true),
  )
  return String(focused.at(-1)?.name?.value ?? '')
}
