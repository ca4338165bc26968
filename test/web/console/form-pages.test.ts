/** Where a form leads that was refused: back to the page that it stands on, which answers a GET. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { acts, listScreens } from '../../../src/console/screens.ts'
import { type Browser, hiddenFields, openBrowser } from '../../support/browser.ts'
import { personNamed, setRequester } from '../../support/builders.ts'
import { sql } from '../../support/service.ts'
import { type Console, linkOf, openConsole } from '../support/console.ts'
import { askForAdministrator } from '../support/console-world.ts'

let service: Console
let url: string

before(async () => {
  service = await openConsole({ APPROVALS: 'administrator' })
  url = service.url('')
})

const signIn = async (who: string): Promise<Browser> => {
  const browser = openBrowser()
  assert.equal((await browser.visit(linkOf(service, who))).status, 200)
  return browser
}

/** Makes the last sign-in of everybody too old to approve anything. */
const ageSignIns = () =>
  sql(
    service.database,
    `update console_session set authenticated_at = clock_timestamp() - interval '6 minutes'
     returning session_id`,
  )

/** Follows the link of a page that asks for a fresh sign-in, and signs in again. */
const signInAgain = async (browser: Browser, text: string) => {
  const [, href = ''] = /href="([^"]*sign-in\?again=yes[^"]*)"/.exec(text) ?? []
  assert.notEqual(href, '', 'No link leads to a sign-in.')
  const asked = await browser.visit(`${url}${href.replaceAll('&amp;', '&')}`)
  return browser.send(asked.url, {})
}

test('an approver whose sign-in is too old signs in again, returns to the approval and approves it', async () => {
  const { approvalId } = await askForAdministrator(service, 'admin-read-slowly')
  const address = `${url}/console/approvals/${approvalId}`
  const approver = await signIn('Sol Security')
  const page = await approver.visit(`${address}?list=mine`)
  const [, hash = ''] = /name="hash" value="([^"]+)"/.exec(page.text) ?? []
  await ageSignIns()
  const form = { ...hiddenFields(page), hash }
  const refused = await approver.send(`${address}/approve`, form, { referer: page.url })
  assert.equal(refused.status, 401, refused.text)
  const back = await signInAgain(approver, refused.text)
  assert.equal(back.status, 200, back.text)
  assert.equal(back.url, page.url)
  assert.match(back.text, /<button>Approve<\/button>/)
  const approved = await approver.send(`${address}/approve`, { ...hiddenFields(back), hash })
  assert.equal(approved.status, 200, approved.text)
  assert.equal(approved.url, address)
})

test('a person who breaks the glass after an old sign-in returns to the approval', async () => {
  const requester = await signIn('Sol Security')
  const { approvalId } = await askForAdministrator(service, 'admin-urgent')
  await setRequester(
    service.database,
    approvalId,
    await personNamed(service.database, 'Sol Security'),
  )
  const address = `${url}/console/approvals/${approvalId}`
  const page = await requester.visit(address)
  await ageSignIns()
  const form = { ...hiddenFields(page), reason: 'The second officer cannot be reached' }
  const refused = await requester.send(`${address}/break-glass`, form)
  assert.equal(refused.status, 401, refused.text)
  const back = await signInAgain(requester, refused.text)
  assert.equal(back.status, 200, back.text)
  assert.equal(back.url, address)
  assert.match(back.text, /Break the glass/)
  assert.match(back.text, /<details open>.*value="The second officer cannot be reached"/s)
})

test('a form whose session is over leads, by way of a sign-in, to the page that it stands on', async () => {
  const { publicToken } = await service.createCard()
  for (const [path, page] of [
    [`/cards/${publicToken}/pin/unblock`, `/cards/${publicToken}`],
    ['/keys/cvk/rotate', '/keys'],
    ['/unblock', '/unblock'],
  ]) {
    const answer = await openBrowser().send(`${url}/console${path}`, {})
    assert.equal(answer.status, 401, answer.text)
    assert.ok(answer.text.includes(`to=${encodeURIComponent(`/console${page}`)}"`), answer.text)
  }
})

/** Lets the open sign-ins of everybody run out of time. */
const endSignIns = () =>
  sql(
    service.database,
    `update console_session set seen_at = clock_timestamp() - interval '16 minutes'
     where ended_at is null returning session_id`,
  )

test('what was typed before a sign-in ran out of time is in the form after the next one', async () => {
  const { publicToken } = await service.createCard()
  const support = await signIn('Sam Support')
  const card = `${url}/console/cards/${publicToken}`
  const forms = [
    { page: card, action: `${card}/freeze`, typed: { reason: 'The holder calls back' } },
    {
      page: `${url}/console/unblock`,
      action: `${url}/console/unblock`,
      typed: { publicTokens: publicToken, kind: 'cvv', reason: 'An outage at the acquirer' },
    },
  ]
  for (const { action, page, typed } of forms) {
    const form = { ...hiddenFields(await support.visit(page)), ...typed }
    await endSignIns()
    const ended = await support.send(action, form, { referer: page })
    assert.equal(ended.status, 401, ended.text)
    assert.match(ended.text, /No change was made\. What you typed is kept/)
    const to = encodeURIComponent(new URL(page).pathname)
    const back = await support.visit(`${linkOf(service, 'Sam Support')}&to=${to}`)
    assert.equal(back.url, page)
    assert.match(
      back.text,
      /role="alert">\s*<p><b>You were signed out when you sent this form\.<\/b>/,
    )
    assert.ok(back.text.includes(`value="${typed.reason}"`), back.text)
    const done = await support.send(action, { ...hiddenFields(back), ...typed })
    assert.equal(done.status, 200, done.text)
    assert.doesNotMatch((await support.visit(page)).text, /You were signed out/)
  }
})

test('the typed text of one person is not shown to the next one in the browser, nor after a sign-out', async () => {
  const { publicToken } = await service.createCard()
  const card = `${url}/console/cards/${publicToken}`
  const reason = 'Only for the eyes of who typed it'
  const browser = await signIn('Sam Support')
  const form = { ...hiddenFields(await browser.visit(card)), reason }
  await endSignIns()
  // Neither another site nor a guessed token stores anything.
  const foreign = await browser.send(`${card}/freeze`, form, { origin: 'https://evil.test' })
  const guessed = await browser.send(`${card}/freeze`, { ...form, 'form-token': 'x'.repeat(43) })
  for (const { text } of [foreign, guessed]) assert.doesNotMatch(text, /is kept/)
  assert.match((await browser.send(`${card}/freeze`, form)).text, /is kept/)
  await browser.visit(linkOf(service, 'Lea Lead'))
  assert.ok(!(await browser.visit(card)).text.includes(reason))
  const other = await signIn('Sam Support')
  const cookies = new Map(other.cookies)
  const page = await other.visit(card)
  await other.send(`${url}/console/sign-out`, hiddenFields(page))
  for (const [name, cookie] of cookies) other.cookies.set(name, cookie)
  const late = await other.send(`${card}/freeze`, { ...hiddenFields(page), reason })
  assert.equal(late.status, 401)
  await other.visit(linkOf(service, 'Sam Support'))
  assert.ok(!(await other.visit(card)).text.includes(reason))
})

test('a form of a page from before the last sign-in does nothing, and is shown with what was typed', async () => {
  const { publicToken } = await service.createCard()
  const card = `${url}/console/cards/${publicToken}`
  const browser = await signIn('Sam Support')
  const form = { ...hiddenFields(await browser.visit(card)), reason: 'Typed in the first tab' }
  await browser.visit(linkOf(service, 'Sam Support'))
  const again = await browser.send(`${card}/freeze`, form)
  assert.equal(again.status, 409, again.text)
  assert.match(again.text, /You have signed in again since this page was loaded\.<\/b> No change/)
  assert.match(again.text, /<details class="act[^>]*open>.*value="Typed in the first tab"/s)
  const sent = await browser.send(`${card}/freeze`, { ...hiddenFields(again), reason: 'Again' })
  assert.match(sent.text, /The card is frozen/)
})

test('the form of a product that was refused is shown open in the list of products', async () => {
  const products = `${url}/console/products`
  const browser = await signIn('Sol Security')
  const form = hiddenFields(await browser.visit(products))
  await browser.visit(linkOf(service, 'Sol Security'))
  const again = await browser.send(`${products}/1001`, form)
  assert.equal(again.status, 409, again.text)
  assert.match(again.text, /<details open>\s*<summary>Retire/)
})

test('a form that was changed and sent again says so, and acts once more if it is sent then', async () => {
  const { publicToken } = await service.createCard()
  const card = `${url}/console/cards/${publicToken}`
  const browser = await signIn('Sam Support')
  const form = { ...hiddenFields(await browser.visit(card)), reason: 'First' }
  assert.match((await browser.send(`${card}/freeze`, form)).text, /The card is frozen/)
  const changed = await browser.send(`${card}/freeze`, { ...form, reason: 'Second' })
  assert.equal(changed.status, 422, changed.text)
  assert.match(changed.text, /This form was sent before, with another content\./)
  assert.doesNotMatch(changed.text, /Idempotency-Key/)
})

test('a card number in a reason is refused, and no page shows its digits', async () => {
  const { publicToken } = await service.createCard()
  const card = `${url}/console/cards/${publicToken}`
  const browser = await signIn('Sam Support')
  for (const typed of [
    'Card 4111 1111 1111 1111 is lost',
    'Lost: ４１１１１１１１１１１１１１１１',
  ]) {
    const form = { ...hiddenFields(await browser.visit(card)), reason: typed }
    const { status, text } = await browser.send(`${card}/freeze`, form)
    assert.equal(status, 422)
    assert.match(text, /must not contain [^<]*a card number/)
    assert.ok(text.includes(`value="${typed.replaceAll(/\p{Nd}/gu, '•')}"`), text)
    assert.doesNotMatch(text, /4111 1111|４１１１/)
  }
})

test('a card number in another field than a search is shown again without its digits', async () => {
  const pan = '4111111111111111'
  const tokens = '1234567890\n2345678901'
  for (const [who, path, fields] of [
    ['support', '/unblock', { publicTokens: `${tokens}\n${pan}`, kind: 'pin', reason: 'Asked' }],
    ['security-officer', '/sandbox/authorizations', { publicToken: pan, amount: '10' }],
  ] as const) {
    const browser = await signIn(who)
    const { text: page } = await browser.visit(`${url}/console/${path.split('/')[1]}`)
    const token = /name="form-token" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const form = { 'form-token': token, ...fields }
    const { status, text } = await browser.send(`${url}/console${path}`, form)
    assert.ok(status >= 400 && status < 500, text)
    assert.ok(text.includes('•'.repeat(pan.length)), text)
    assert.ok(!text.includes(pan))
    if (who === 'support') assert.ok(text.includes(tokens))
  }
})

test('each act has a screen other than Home that its path begins with', () => {
  const paths = listScreens(true).map(({ path }) => path)
  const isOn = (act: string) => (screen: string) =>
    screen !== '/console' && (act === screen || act.startsWith(`${screen}/`))
  assert.deepEqual(
    acts.map(({ path }) => path).filter((act) => !paths.some(isOn(act))),
    [],
  )
})

test('a refused token of many is named at its field, and refused cards stand before the others', async () => {
  const support = await signIn('support')
  const address = `${url}/console/unblock`
  const send = async (publicTokens: string) => {
    const form = { ...hiddenFields(await support.visit(address)), publicTokens, kind: 'pin' }
    return support.send(address, { ...form, reason: 'An outage' }, { referer: address })
  }
  const refused = await send('4820117360\n48x')
  assert.match(refused.text, /aria-invalid="true" aria-describedby="unblock-publicTokens-fault"/)
  assert.match(refused.text, /<p class="fault" id="unblock-publicTokens-fault">“48x” must /)
  assert.match(refused.text, /href="#unblock-publicTokens"/)
  assert.match(refused.text, />4820117360\n48x<\/textarea>/)
  const { publicToken } = await service.createCard()
  const { text } = await send(`${publicToken} 1000000001`)
  assert.match(text, /1 of 2 cards are unblocked\.<\/b> 1 refused/)
  assert.ok(text.indexOf('/cards/1000000001"') < text.indexOf(`/cards/${publicToken}"`), text)
})
