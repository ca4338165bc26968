import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { strongPins } from '../support/service.ts'
import {
  artifacts,
  openChromium,
  readAround,
  readCard,
  readCardAttributes,
  untilState,
  type Visit,
  visitInstead,
} from '../web/support/chromium.ts'
import {
  choosePin,
  issueCard,
  openDemo,
  payWithCvv,
  payWithPin,
  reveal,
  type Sandbox,
  startSandbox,
  textOf,
  untilSaid,
} from '../web/support/demo.ts'

const chromium = await openChromium()
const phone = { width: 360, height: 740 }

suite('the demo', { skip: chromium.leftOut }, () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = await startSandbox()
    visit = await chromium.visit()
  })

  let visit: Visit
  const visitAs = async (viewport: typeof phone): Promise<Visit> => {
    await visitInstead(visit, viewport)
    return visit
  }

  test('a card is issued, shown, given a PIN, blocked by wrong ones, and unblocked', async () => {
    const { complaints, devtools, page, requested } = await visitAs(phone)
    await openDemo(page, sandbox.baseUrl)
    await issueCard(page)
    const masked = await readCard(devtools)
    assert.match(masked.pan, /^•••• •••• •••• ([0-9]{4})ends in \1$/)
    const [pin] = strongPins({ maskedPan: masked.pan })
    assert.equal(await choosePin(page, '1234'), weakPin)
    assert.equal(await choosePin(page, pin), 'Your new PIN is set.')
    await page.check('#with-pin')
    await reveal(page)
    await page.screenshot({ path: join(artifacts, 'demo-phone.png'), fullPage: true })
    const shown = await readCard(devtools)
    assert.match(shown.pan, /^400000[0-9]{10}$/)
    assert.equal(shown.pan.slice(-4), masked.pan.slice(-4))
    assert.deepEqual([shown.pin, shown.expiry.length, shown.cvv.length], [pin, 5, 3])

    const wrongPin = pin === '7193' ? '7194' : '7193'
    assert.equal(await payWithPin(page, wrongPin), 'Refused (55): wrong PIN. 2 tries left.')
    assert.match(await textOf(page, '#pin-tries'), /2 of 3 tries left/)
    assert.equal(await payWithPin(page, pin), 'Approved (00).')
    assert.match(await textOf(page, '#pin-tries'), /3 of 3 tries left/)
    for (const _ of [1, 2]) await payWithPin(page, wrongPin)
    assert.match(await payWithPin(page, wrongPin), /last try/)
    assert.match(await textOf(page, '#pin-tries'), /Blocked/)
    assert.match(await payWithPin(page, pin), /\(75\): the PIN is blocked/)
    const unblocked = () => page.click('#pin-tries button')
    assert.match(await untilSaid(page, '#tries-said', unblocked), /tries of the .* are restored/)
    assert.match(await textOf(page, '#pin-tries'), /3 of 3 tries left/)
    assert.equal(await payWithPin(page, pin), 'Approved (00).')
    assert.match(await textOf(page, '#attempts li:first-child'), /PIN right 3 left$/)

    assert.equal(await payWithCvv(page, shown.cvv), 'Approved (00).')
    const wrongCvv = shown.cvv === '111' ? '222' : '111'
    for (const _ of [1, 2, 3]) await payWithCvv(page, wrongCvv)
    assert.match(await textOf(page, '#cvv-tries'), /Blocked/)
    await untilSaid(page, '#tries-said', () => page.click('#cvv-tries button'))
    assert.match(await textOf(page, '#cvv-tries'), /3 of 3 tries left/)

    assert.deepEqual(complaints, expectedComplaints)
    for (const url of requested) assert.ok(url.startsWith(sandbox.baseUrl) || url === 'data:,', url)
    const relaySaw = await textOf(page, '.relay')
    for (const secret of [shown.pan, groups(shown.pan)]) assert.ok(!relaySaw.includes(secret))
    assert.match(relaySaw, /eyJhbGciOiJFQ0RILUVT/)
  })

  test('what a card shows is on it alone: in no attribute, storage, message or other text', async () => {
    const { complaints, devtools, page } = await visitAs(desktop)
    await openDemo(page, sandbox.baseUrl)
    await issueCard(page, '1003')
    const [chosen] = strongPins({ maskedPan: (await readCard(devtools)).pan }, 6)
    assert.equal(await choosePin(page, chosen), 'Your new PIN is set.')
    await page.check('#with-pin')
    await reveal(page)
    await page.evaluate(() => window.scrollTo(0, 0))
    await page.screenshot({ path: join(artifacts, 'demo-desktop.png') })
    const { cvv, pan, pin } = await readCard(devtools)
    assert.equal(pin, chosen)
    const around = [
      await readAround(devtools),
      await readCardAttributes(devtools),
      await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])),
      await page.evaluate(() => document.cookie + location.href + JSON.stringify(history.state)),
      complaints.join('\n'),
    ].join('\n')
    for (const secret of [pan, groups(pan), pin, `"${cvv}"`, `>${cvv}<`]) {
      assert.ok(!around.includes(secret), secret)
    }
    assert.equal(await page.evaluate(async () => (await indexedDB.databases()).length), 0)
    const isOpen = await page.evaluate(() => document.querySelector('pinfold-card')?.shadowRoot)
    assert.equal(isOpen, null)
    await untilState(page, 'masked', () => page.keyboard.press('Escape'))
    assert.doesNotMatch((await readCard(devtools)).pan, /[0-9]{6}/)
  })

  test('another visitor gets neither the card nor what the relay saw of it', async () => {
    const [owner, other] = [await visitAs(phone), await chromium.visit({ viewport: phone })]
    await openDemo(owner.page, sandbox.baseUrl)
    await issueCard(owner.page)
    const token = await owner.page.getAttribute('pinfold-card', 'public-token')
    await openDemo(other.page, sandbox.baseUrl)
    const answers = await other.page.evaluate(
      (publicToken) =>
        Promise.all(
          ['pin-status', 'encrypted', 'pin', 'unblock-pin'].map(async (call, index) => {
            const method = index === 0 ? 'GET' : 'POST'
            const body = index === 0 ? {} : { body: '{}' }
            const url = `/demo/relay/cards/${publicToken}/${call}`
            return (await fetch(url, { method, ...body })).status
          }),
        ),
      token,
    )
    assert.deepEqual(answers, [404, 404, 404, 404])
    assert.ok(!(await textOf(other.page, '.relay')).includes(token ?? 'none'))
  })

  test('a PIN in clear does not go through the relay', async () => {
    const { page } = await visitAs(phone)
    await openDemo(page, sandbox.baseUrl)
    await issueCard(page)
    const token = await page.getAttribute('pinfold-card', 'public-token')
    const send = (body: string) =>
      page.evaluate(
        async ([url, sent]) => (await fetch(url, { method: 'POST', body: sent })).status,
        [`/demo/relay/cards/${token}/pin`, body] as const,
      )
    for (const body of ['{"pin":"6284"}', '{"encryptedPin":"a.b.c","pin":"6284"}', '6284', '']) {
      assert.equal(await send(body), 422, body)
    }
    await page.reload()
    await page.waitForSelector('#attempts li')
    assert.ok(!(await textOf(page, '.relay')).includes('6284'))
  })
})

const desktop = { width: 1280, height: 860 }
const weakPin =
  'That PIN is too easy to guess. Avoid series, repeats, years and parts of the card number.'
/** The browser itself tells of an answer that is a failure: the weak PIN's. */
const expectedComplaints = [
  'error: Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)',
]
const groups = (pan: string): string => pan.replaceAll(/(.{4})(?=.)/g, '$1 ')
