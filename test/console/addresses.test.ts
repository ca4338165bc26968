/** What may be in an address of the console, and what becomes of an address without a page. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService } from '../support/service.ts'

const pan = '4000001234567899'
/** Its last digit is wrong. */
const mistyped = '4000001234567890'

let url: string
let lead: Browser

before(async () => {
  const [, port] = await freePorts()
  const service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  lead = openBrowser()
  const people = service.sandbox?.people ?? []
  await lead.visit(people.find(({ role }) => role === 'support-lead')?.signInUrl ?? '')
})

test('no page reads or shows a card number of its address, not even a mistyped one', async () => {
  for (const address of [
    `/console/disclosures?of=${pan}`,
    '/console/disclosures?of=4000%200012%203456%207899',
    `/console/webhooks?client=${pan}`,
    `/console/authorizations?clientId=%20${pan}`,
    `/console/audit-log?person=${pan}`,
    `/console/audit-log?${pan}=`,
    `/console?client=${pan}`,
    `/console/cards/${pan}`,
    `/console/cards/card%20${pan}`,
    `/console/nothing/${pan}`,
    `/console/disclosures?of=${mistyped}`,
    '/console/webhooks?client=4000%200012%203456%207890',
    '/console/authorizations?clientId=%204000-0012-3456-7890',
    '/console?client=%D9%A4%D9%A0%D9%A0%D9%A0%D9%A0%D9%A0%D9%A1%D9%A2%D9%A3%D9%A4%D9%A5%D9%A6%D9%A7',
    `/console/cards/${mistyped}`,
  ]) {
    const { status, text } = await lead.visit(`${url}${address}`)
    assert.deepEqual([status, /456789|٤٥٦٧/.test(text)], [422, false], address)
    assert.match(text, /An address must not contain a card number\. No search was made\./)
  }
})

test('a person who is signed out is led to no address with a card number', async () => {
  const { url: asked, text } = await openBrowser().visit(`${url}/console/cards/${pan}`)
  assert.equal(asked, `${url}/console/sign-in?to=%2Fconsole`)
  assert.ok(!text.includes(pan))
  const forged = await openBrowser().visit(`${url}/console/sign-in?to=/console/cards/${pan}`)
  assert.ok(!forged.text.includes(pan))
})

test('digits of ids are no card number', async () => {
  // Both have digits that look like a card number by chance.
  for (const [address, expected] of [
    [`/console/audit-log?person=person-${pan}${'0'.repeat(24)}`, 200],
    ['/console/approvals/41111111-1111-4111-8111-111111111111', 404],
  ] as const) {
    const { status, text } = await lead.visit(`${url}${address}`)
    assert.equal(status, expected, text)
  }
})

test('no form that becomes an address sends as many digits as a card number has', async () => {
  for (const [path, name] of [
    ['/console/disclosures', 'of'],
    ['/console/webhooks', 'client'],
    ['/console/authorizations', 'clientId'],
  ] as const) {
    const { text } = await lead.visit(`${url}${path}`)
    const [, pattern = ''] =
      new RegExp(`<input name="${name}"[^>]*pattern="([^"]*)"`).exec(text) ?? []
    const rule = new RegExp(`^(?:${pattern})$`, 'v')
    const sent = ['', '1234567890', 'demo-client', `person-${'0'.repeat(40)}`]
    const kept = [pan, '4000 0012 3456 7899', '4000001234567890', '٤٠٠٠٠٠١٢٣٤٥٦٧٨٩٩']
    assert.deepEqual(
      [...sent, ...kept].filter((each) => rule.test(each)),
      sent,
      path,
    )
  }
})

test('an address that is not percent-encoded UTF-8 has a page of the console, like any other', async () => {
  for (const address of ['/console/%', '/console/cards/%', '/console/people/%E0%A4%A?x=1']) {
    const { headers, status, text } = await lead.visit(`${url}${address}`)
    assert.equal(status, 400)
    assert.match(text, /<h1>The request could not be read\.<\/h1>/, address)
    assert.match(text, /The URL is not percent-encoded UTF-8\./)
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
  }
  const elsewhere = await lead.visit(`${url}/cards/%`)
  assert.equal(elsewhere.headers.get('content-type'), 'application/problem+json; charset=utf-8')
})

test('the address of an act leads to the page of its form', async () => {
  for (const [act, page] of [
    ['/console/cards/1234567890/pin/unblock', '/console/cards/1234567890'],
    ['/console/audit-log/successor', '/console/audit-log'],
  ] as const) {
    const { headers, status } = await lead.ask(`${url}${act}`)
    assert.deepEqual([status, headers.get('location')], [303, page])
  }
})
