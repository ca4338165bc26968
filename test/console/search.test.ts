/** A search has an address that can be sent and gone back to, unless it may be a card number. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, hiddenFields, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
let url: string
let support: Browser

before(async () => {
  const [, port] = await freePorts()
  service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  support = openBrowser()
  const people = service.sandbox?.people ?? []
  await support.visit(people.find(({ role }) => role === 'support')?.signInUrl ?? '')
})

const address = () => `${url}/console/search`

const search = async (text: string) => {
  const fields = hiddenFields(await support.visit(`${url}/console/search`))
  return support.send(address(), { ...fields, text })
}

test('a search leads to an address, which shows the same results when it is opened again', async () => {
  const { publicToken } = await service.createCard({ customerReference: 'C & D/1' })
  const found = await search('C & D/1')
  assert.equal(found.url, `${address()}?text=C%20%26%20D%2F1`)
  assert.ok(found.text.includes(`/console/cards/${publicToken}`))
  const again = await support.visit(found.url)
  assert.ok(again.text.includes(`/console/cards/${publicToken}`))
  assert.match(again.text, /<input id="find"[^>]* value="C &amp; D\/1"/)
})

test('an authorization reference of twelve digits that is no card number has an address', async () => {
  const found = await search('512345678901')
  assert.equal(found.url, `${address()}?text=512345678901`)
  assert.match(found.text, /No card has this authorization reference/)
})

test('no card number becomes an address, in any script, with a wrong digit or in other words', async () => {
  for (const text of [
    '4000001234567899',
    '4000 0012 3456 7890',
    '4000-0012-3456-7899',
    'card 4000001234567899',
    '٤٠٠٠٠٠١٢٣٤٥٦٧٨٩٩',
  ]) {
    const found = await search(text)
    assert.equal(found.url, address(), text)
    assert.match(found.text, /No card has this|The text is not a token/, text)
    const opened = await support.visit(`${address()}?text=${encodeURIComponent(text)}`)
    assert.deepEqual([opened.status, /No search was made/.test(opened.text)], [422, true])
    assert.ok(!opened.text.includes('4567899'))
  }
})

test('a search for a card number with a wrong digit says so', async () => {
  const wrong = /As a card number, it has a wrong digit/
  for (const text of ['4000001234567890', '4000 0012 3456 7890', '400000123456789']) {
    assert.match((await search(text)).text, wrong, text)
  }
  for (const text of ['4000001234567899', '512345678901', 'C-4000001234567890', '1234567890']) {
    assert.doesNotMatch((await search(text)).text, wrong, text)
  }
})

test('a token leads to its card, and a reference of many cards to pages with addresses', async () => {
  const { publicToken } = await service.createCard()
  assert.equal((await search(publicToken)).url, `${url}/console/cards/${publicToken}`)
  for (let number = 0; number < 101; number += 1) {
    await service.createCard({ customerReference: 'FLEET' })
  }
  const first = await search('FLEET')
  const [, next = ''] = /href="([^"]+)"\s+rel="next"/.exec(first.text) ?? []
  const second = await support.visit(`${url}${next.replaceAll('&amp;', '&')}`)
  assert.equal(second.text.match(/<tr>/g)?.length, 2)
  assert.match(second.text, /Demo client system/)
})
