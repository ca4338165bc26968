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
