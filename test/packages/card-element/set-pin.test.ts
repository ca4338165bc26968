import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { strongPins } from '../../support/service.ts'
import {
  openChromium,
  readAround,
  readCard,
  untilState,
  type Visit,
} from '../../web/support/chromium.ts'
import { payWithPin, startSandbox } from '../../web/support/demo.ts'
import { openCard, setAttributes, statusOf, tokenOf } from './support/open-card.ts'

const chromium = await openChromium()

suite('the PIN that a cardholder chooses in the element', { skip: chromium.leftOut }, () => {
  let visit: Visit
  let pins: readonly [string, string, string]
  const sent: { url: string; body: string; headers: Record<string, string> }[] = []
  before(async () => {
    const { baseUrl } = await startSandbox()
    visit = await chromium.visit({ viewport: { width: 390, height: 900 } })
    visit.page.on('request', (request) => {
      sent.push({
        url: request.url(),
        body: request.postData() ?? '',
        headers: request.headers(),
      })
    })
    await openCard(visit, baseUrl)
    pins = strongPins({ maskedPan: (await readCard(visit.devtools)).pan })
  })

  const save = async (first: string, second = first): Promise<void> => {
    const { page } = visit
    if (await page.locator('pinfold-card #new-pin').isHidden()) {
      await page.getByRole('button', { name: 'Set PIN', exact: true }).click()
    }
    // The form has the focus, so that a keyboard is enough.
    await page.keyboard.type(first)
    await page.keyboard.press('Tab')
    await page.keyboard.type(second)
    await page.keyboard.press('Enter')
  }

  /** Sends a PIN whose request waits. @returns a function that lets the request fail. */
  const holdPin = async (pin: string): Promise<() => Promise<void>> => {
    const { page } = visit
    const held = Promise.withResolvers<() => Promise<void>>()
    await page.route('**/pin', (route) => held.resolve(() => route.abort()), { times: 1 })
    await untilState(page, 'setting-pin', () => save(pin))
    return held.promise
  }

  test('it is sealed on the device: the relay receives ciphertext only, and the PIN is right at a terminal', async () => {
    const { devtools, page } = visit
    await untilState(page, 'pin-set', () => save(pins[0]))
    assert.equal(await statusOf(page), 'Your new PIN is set.')
    const bodies = sent.filter(({ url }) => url.endsWith('/pin')).map(({ body }) => body)
    assert.equal(bodies.length, 1)
    const body = JSON.parse(bodies[0] ?? '')
    assert.deepEqual(Object.keys(body), ['encryptedPin'])
    const [header = ''] = body.encryptedPin.split('.')
    const { alg, enc, typ } = JSON.parse(Buffer.from(header, 'base64url').toString())
    assert.deepEqual([alg, enc, typ], ['ECDH-ES', 'A256GCM', 'set-pin+jwe'])
    for (const { body, headers, url } of sent) {
      assert.doesNotMatch(url + body + JSON.stringify(headers), alone(pins[0]))
    }
    assert.doesNotMatch(await readAround(devtools), alone(pins[0]))
    assert.match(await payWithPin(page, pins[0]), /Approved/)
  })

  test('two PINs that differ, too few digits, or a weak PIN are refused, and nothing typed stays', async () => {
    const { page } = visit
    const before = sent.length
    await save(pins[0], pins[1])
    assert.match(await statusOf(page), /differ/)
    await save('719')
    assert.equal(await statusOf(page), 'A PIN of this card has 4 digits.')
    await save('71x3')
    assert.equal(await statusOf(page), 'A PIN of this card has 4 digits.')
    assert.equal(sent.length, before)
    await untilState(page, 'pin-failed', () => save('1234'))
    assert.match(await statusOf(page), /too easy to guess/)
    assert.deepEqual(await typed(), ['', ''])
    assert.equal(await page.locator('pinfold-card #new-pin:focus').count(), 1)
    await page.keyboard.press('Escape')
    assert.ok(await page.locator('pinfold-card form').isHidden())
  })

  test('what was typed is gone when the page is hidden, the card changes or it is cancelled', async () => {
    const { page } = visit
    const leave = [
      () => page.evaluate(() => window.dispatchEvent(new Event('pagehide'))),
      () => setAttributes(page, { 'pin-length': '6' }),
      () => page.getByRole('button', { name: 'Cancel' }).click(),
      () => page.keyboard.press('Escape'),
    ]
    for (const act of leave) {
      await page.getByRole('button', { name: 'Set PIN', exact: true }).click()
      await page.keyboard.type('8406')
      assert.deepEqual(await typed(), ['8406', ''])
      await act()
      assert.deepEqual(await typed(), ['', ''])
      assert.ok(await page.locator('pinfold-card form').isHidden())
    }
    await setAttributes(page, { 'pin-length': null })
  })

  test('an answer about a PIN is not told of another card', async () => {
    const { page } = visit
    const release = await holdPin(pins[1])
    const token = await tokenOf(page)
    await setAttributes(page, { 'public-token': '1234567890' })
    await release()
    assert.doesNotMatch(await statusOf(page), /PIN is set|no connection/)
    await setAttributes(page, { 'public-token': token })
    await untilState(page, 'pin-set', () => save(pins[1]))
  })

  test('an element that is moved while a PIN is on its way sends the next PIN', async () => {
    const { page } = visit
    const release = await holdPin(pins[0])
    await page.evaluate(() => {
      const card = document.querySelector('pinfold-card')
      card?.parentElement?.append(card)
    })
    await release()
    assert.equal(await statusOf(page), '')
    await untilState(page, 'pin-set', () => save(pins[1]))
  })

  test('without an address for it there is no such button', async () => {
    const { page } = visit
    await setAttributes(page, { 'set-pin-url': null })
    assert.equal(await page.getByRole('button', { name: 'Set PIN', exact: true }).count(), 0)
  })

  const typed = (): Promise<string[]> =>
    visit.page
      .locator('pinfold-card input')
      .evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value))
})

/** Digits that are no part of other digits, an id or a ciphertext. */
const alone = (digits: string): RegExp => new RegExp(`(?<![\\w-])${digits}(?![\\w-])`)
