/** What the page of a card says of its plastics and of the cards that replaced each other. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

let service: TestService
let url: string
let support: Browser

before(async () => {
  const [, port] = await freePorts()
  service = await openTestService({
    env: {
      PRIVATE_PORT: String(port),
      RATE_LIMIT: 'off',
      SANDBOX_CLOCK: '2031-03-15T10:00:00Z',
    },
  })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  support = openBrowser()
  const link = service.sandbox?.people.find(({ role }) => role === 'support')?.signInUrl
  await support.visit(link ?? '')
})

const physicalCard = async (members: object = {}): Promise<string> =>
  (await service.createCard({ cardType: 'Physical', activateNow: true, ...members })).publicToken

const act = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body: object = {}) => {
  const answer = await service.call(method, path, method === 'DELETE' ? {} : { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.json
}

const replace = async (publicToken: string, body: object = {}): Promise<string> =>
  (await act('POST', `/cards/${publicToken}/replace`, body)).publicToken

/** The text of a page without its tags, and its markup. */
const read = async (publicToken: string) => {
  const { status, text } = await support.visit(`${url}/console/cards/${publicToken}`)
  assert.equal(status, 200, text)
  const words = text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  return { text, words }
}

const readHistory = async (publicToken: string, query = '') =>
  service.call('GET', `//cards/${publicToken}/history${query}`, {
    as: 'admin',
    listener: 'private',
  })

test('the page of a card shows the delivery of each plastic as steps, and which step is present', async () => {
  const card = await physicalCard()
  await act('POST', `/sandbox/plastics/${card}/0/ship`)
  await act('POST', `/cards/${card}/renew`, { renewStep: 'RenewWithSameExpiry' })
  const { text, words } = await read(card)
  const steps = 'Ordered Produced Shipped Delivered'
  for (const [plastic, present] of [
    ['01 Waiting Reprint', 'Ordered'],
    ['00 Current Issue', 'Shipped'],
  ]) {
    const told = `${plastic} until 2035-03-31 ${steps} ${present} [\\w ,:]+ UTC`
    assert.match(words, new RegExp(told))
  }
  const present = [...text.matchAll(/aria-current="step">\s*(\w+)/g)].map(([, step]) => step)
  assert.deepEqual(present, ['Ordered', 'Shipped'])
  await act('DELETE', `/cards/${card}/renewal`)
  await act('POST', `/sandbox/plastics/${card}/0/return`)
  const { words: ended } = await read(card)
  assert.match(ended, /01 Cancelled/)
  assert.match(ended, /Ordered Returned Returned [\w ,:]+ UTC/)
})

test('the page of a card tells that a virtual card has no delivery', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  assert.match(
    (await read(publicToken)).words,
    /00 Current Issue until \S+ Virtual, without a delivery/,
  )
})

test('the cards of a line lead to each other, and a retired card offers no act', async () => {
  const first = await physicalCard()
  const alone = await read(first)
  assert.doesNotMatch(alone.text, /id="line"/)
  const second = await replace(first, { reason: 'Upgrade' })
  const waiting = await read(second)
  assert.match(waiting.words, /\(this card\)/)
  assert.match(waiting.words, /Upgrade · created [\w ,:]+ UTC · not activated yet/)
  assert.ok(waiting.text.includes(`<dt>Replaces</dt><dd><a href="/console/cards/${first}">`))
  await act('PUT', `/cards/${second}/status`, { cardStatusCode: '00' })
  const { text, words } = await read(first)
  assert.ok(text.includes(`<a href="/console/cards/${second}">Card ${second}</a>`))
  assert.match(words, /Restricted Retired/)
  assert.match(words, /The card is retired and cannot be changed\./)
  assert.doesNotMatch(text, /\/unfreeze"|\/pin\/unblock"/)
  assert.doesNotMatch(words, /To do|The card is frozen/)
  assert.match(words, /Retired by its successor .* Replaced by card/)
  assert.match((await read(second)).words, /Card created Replaces card/)
})

test('a person is told that a card does not exist, not that a client has none', async () => {
  const { status, text } = await support.visit(`${url}/console/cards/0000000000`)
  assert.equal(status, 404)
  assert.match(text, /There is no card with this token\./)
  assert.doesNotMatch(text, /Your client/)
})

/** The hidden fields of one form of a page. */
const fieldsOf = (text: string, name: string): Record<string, string> => {
  const [, form = ''] = new RegExp(`/${name}">([\\s\\S]*?)</form>`).exec(text) ?? []
  const hidden = form.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...hidden].map(([, key = '', value = '']) => [key, value]))
}

/** The token of forms in a page. */
const hiddenToken = (text: string): Record<string, string> => {
  const [, token] = /name="form-token" value="([^"]+)"/.exec(text) ?? []
  return token === undefined ? {} : { 'form-token': token }
}

/** Sends the form of an act from the page of a card, and returns where it leads. */
const submit = async (publicToken: string, name: string, fields: Record<string, string> = {}) => {
  const { text } = await read(publicToken)
  const form = { ...fieldsOf(text, name), reason: 'The holder rang', ...fields }
  const answer = await support.send(`${url}/console/cards/${publicToken}/${name}`, form)
  return { ...answer, words: answer.text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ') }
}

/** The names of the acts that a page offers. */
const listActs = (text: string): readonly string[] =>
  [...text.matchAll(/id="act-([a-z-]+)"/g)].map(([, name = '']) => name)

test('the page of a card says what a replacement will do before it is done, and what it did', async () => {
  const card = await physicalCard()
  const { text, words } = await read(card)
  assert.deepEqual(
    listActs(text).filter((name) => !/block|freeze/.test(name)),
    ['reprint', 'delivery-address', 'replace'],
  )
  for (const told of [
    'goes to the address of the cardholder on record, and is inactive until it is activated',
    'Lost This card declines at once, for good. The new one has the same PIN.',
    'Stolen This card declines at once, for good. The new one has a new PIN.',
    'Damaged This card works as before until the new one is activated.',
    'Compromised This card declines at once, for good. The new one has a new PIN.',
  ]) {
    assert.ok(words.includes(told), told)
  }
  const done = await submit(card, 'replace', { 'replacement-reason': 'Stolen' })
  assert.equal(done.status, 200, done.text)
  assert.match(done.words, /The card is replaced by card \d{10}\. It is inactive until it is/)
  assert.match(done.words, /activated, and has a new PIN\./)
  const [, successor = ''] = /replaced by card (\d{10})/.exec(done.words) ?? []
  assert.ok(done.text.includes(`href="/console/cards/${successor}"`))
  const activation = await read(successor)
  assert.match(activation.words, /Activate The card can be used at once\./)
  const activated = await submit(successor, 'activate')
  assert.match(activated.words, /The card is active\./)
})

test('the activation of a card says which card it retires', async () => {
  const card = await physicalCard()
  const successor = await replace(card, { reason: 'Damaged' })
  const { words } = await read(successor)
  assert.ok(words.includes(`Card ${card}, which it replaces, is retired and works no longer.`))
  await submit(successor, 'activate')
  assert.match((await read(card)).words, /Restricted Retired/)
})

test('the page recommends to replace a lost card, as lost alone, until it has a successor', async () => {
  const card = await physicalCard()
  await act('PUT', `/cards/${card}/status`, { cardStatusCode: '41' })
  const { text, words } = await read(card)
  assert.match(words, /To do The card is lost, and no other card has taken its place\./)
  assert.match(text, /class="act primary" id="act-replace"/)
  assert.match(text, /value="Lost"\s+required checked/)
  assert.doesNotMatch(text, /value="Stolen"/)
  assert.match(words, /This card stays lost\. The new one has the same PIN\./)
  await submit(card, 'replace', { 'replacement-reason': 'Lost' })
  const after = await read(card)
  assert.deepEqual(listActs(after.text), [])
  assert.doesNotMatch(after.words, /no other card has taken its place/)
})

test('the page recommends to renew a card within 60 days of its expiry, until a plastic waits', async () => {
  const card = await physicalCard({ expiryDate: '2031-04' })
  const { text, words } = await read(card)
  assert.match(words, /The card expires on 2031-04-30, and no new plastic is ordered\./)
  assert.match(text, /class="act primary" id="act-renew"/)
  assert.match(words, /valid until 2035-04-30, with the same number and PIN\. It goes to/)
  const renewed = await submit(card, 'renew')
  assert.match(renewed.words, /The card is renewed\. .* 01 Waiting Renewal/)
  assert.doesNotMatch(renewed.words, /no new plastic is ordered/)
  assert.ok(listActs(renewed.text).includes('cancel-renewal'))
  const cancelled = await submit(card, 'cancel-renewal')
  assert.match(cancelled.words, /The plastic that was ordered is cancelled\./)
  await submit(card, 'reprint')
  const migrated = await submit(card, 'migrate')
  assert.match(migrated.words, /The plastic is activated\. .* 01 Current Reprint/)
})

test('the next plastic goes where the page sends it, and what was refused stays typed', async () => {
  const card = await physicalCard()
  const typed = {
    'fulfilment/addressLine1': 'Gran Via 2',
    'fulfilment/city': 'Madrid',
    'fulfilment/country': 'ESP',
  }
  const refused = await submit(card, 'delivery-address', typed)
  assert.equal(refused.status, 422)
  const [, id] =
    /<a href="#([^"]+)">fulfilment\/postCode<\/a> must not be empty/.exec(refused.text) ?? []
  assert.match(refused.text, new RegExp(`<p class="fault" id="${id}-fault">Must not be empty`))
  assert.match(refused.text, /name="fulfilment\/addressLine1"[^>]*value="Gran Via 2"/)
  const done = await submit(card, 'delivery-address', {
    ...typed,
    'fulfilment/postCode': '28013',
  })
  assert.match(done.words, /The delivery address is changed\./)
  assert.match(done.words, /Reprint .* It goes to the delivery address on record\./)
  const reset = await submit(card, 'delivery-address')
  assert.match(reset.words, /Reprint .* It goes to the address of the cardholder on record\./)
  const { publicToken: virtual } = await service.createCard({ cardType: 'Virtual' })
  assert.ok(!listActs((await read(virtual)).text).includes('delivery-address'))
})

test('the page of a virtual card says where its plastic will go, and converts it once', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  const { text, words } = await read(publicToken)
  assert.ok(listActs(text).includes('convert'))
  assert.match(words, /It goes to the address of the cardholder on record\. Chip, stripe and cash/)
  const done = await submit(publicToken, 'convert')
  assert.match(done.words, /The plastic is ordered, .* 01 Current Not activated Conversion/)
  assert.match(done.words, /Activate The plastic can be used at once\./)
  assert.ok(!listActs(done.text).includes('convert'))
  const activated = await submit(publicToken, 'activate')
  assert.match(activated.words, /The card is active\./)
})

test('a plastic that was made is cancelled from the page as one that did not reach the holder', async () => {
  const card = await physicalCard()
  await submit(card, 'reprint')
  await act('POST', `/sandbox/plastics/${card}/1/ship`)
  assert.match((await read(card)).words, /The plastic was made, and did not reach the cardholder/)
  const refused = await submit(card, 'cancel-renewal')
  assert.equal(refused.status, 409)
  assert.ok(refused.text.includes('value="The holder rang"'), 'what was typed is kept')
  const done = await submit(card, 'cancel-renewal', { 'not-received': 'yes' })
  assert.match(done.words, /The plastic that was ordered is cancelled\./)
})

test('a replacement that is refused shows what was chosen, and another one makes no second card', async () => {
  const card = await physicalCard()
  const { text } = await read(card)
  const form = { ...fieldsOf(text, 'replace'), 'replacement-reason': 'Damaged' }
  const address = `${url}/console/cards/${card}/replace`
  const refused = await support.send(address, { ...form, reason: '' })
  assert.equal(refused.status, 422)
  assert.match(refused.text, /value="Damaged"\s+required checked/)
  const other = { ...fieldsOf(text, 'replace'), 'replacement-reason': 'Lost', reason: 'Lost' }
  const first = await support.send(address, { ...other, 'form-key': crypto.randomUUID() })
  assert.equal(first.status, 200)
  const second = await support.send(address, { ...other, 'form-key': crypto.randomUUID() })
  assert.equal(second.status, 409)
  const { json } = await readHistory(card)
  assert.equal(json.length, 2)
})

test('of the roles that read a card, only those of support are offered acts and may do them', async () => {
  const card = await physicalCard()
  const { text: page } = await read(card)
  for (const { role, signInUrl } of service.sandbox?.people ?? []) {
    const browser = openBrowser()
    await browser.visit(signInUrl)
    const { status, text } = await browser.visit(`${url}/console/cards/${card}`)
    const isSupport = role === 'support' || role === 'support-lead'
    if (status === 200) assert.equal(listActs(text).includes('replace'), isSupport, role)
    if (isSupport) continue
    for (const name of [
      'activate',
      'migrate',
      'renew',
      'reprint',
      'convert',
      'cancel-renewal',
      'delivery-address',
      'replace',
    ]) {
      const form = { ...fieldsOf(page, 'replace'), ...hiddenToken(text), reason: 'Why not' }
      const answer = await browser.send(`${url}/console/cards/${card}/${name}`, form)
      assert.equal(answer.status, 403, `${role} ${name}`)
    }
  }
  assert.equal((await readHistory(card)).json.length, 1)
})

test('notices of a renewal are shown with the plastic that expires, and none that is not needed', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  const replaced = await physicalCard()
  await replace(replaced, { reason: 'Damaged' })
  const closed = await physicalCard()
  await act('PUT', `/cards/${closed}/status`, { cardStatusCode: '83' })
  const now = { now: '2035-03-02T00:00:00Z' }
  const moved = await service.call('POST', '//sandbox/clock', {
    as: 'admin',
    listener: 'private',
    body: now,
  })
  assert.equal(moved.status, 200)
  const { words } = await read(publicToken)
  assert.match(words, /00 Current Issue until 2035-03-31 .* Renewal notices at 60 and 30 days/)
  assert.match(words, /Renewal due 30 days left/)
  for (const unneeded of [replaced, closed]) {
    const { words: told } = await read(unneeded)
    assert.doesNotMatch(told, /Renewal notice/)
  }
})

test('the page of a virtual card is shown without its personal data', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  await sql(
    service.database,
    String.raw`update card set personal_data = '\x00' where public_token = $1 returning 1`,
    [publicToken],
  )
  assert.match((await read(publicToken)).words, /Virtual, without a delivery/)
})

test('amounts in the timeline have their thousands apart', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  await act('POST', '/simulator/authorizations', { publicToken, amount: 123_456, currency: 'EUR' })
  const { words } = await read(publicToken)
  assert.match(words, /Approved 1,234\.56 EUR/)
  assert.doesNotMatch(words, /1234\.56/)
})

test('the newest twenty authorizations of a card are on the first page of its timeline', async () => {
  const { publicToken } = await service.createCard({ cardType: 'Virtual' })
  for (let amount = 1; amount <= 21; amount += 1) {
    await act('POST', '/simulator/authorizations', { publicToken, amount, currency: 'EUR' })
  }
  const { text } = await read(publicToken)
  const [timeline = ''] = /<ol class="timeline">.*?<\/ol>/s.exec(text) ?? []
  assert.ok((timeline.match(/>Approved</g)?.length ?? 0) >= 20, timeline)
})

test('operators page through the line of a card of any client', async () => {
  const members = { cardProduct: 2001, cardType: 'Virtual' }
  const first = await service.createCard(members, { as: 'otherClient' })
  const replaced = await service.call('POST', `/cards/${first.publicToken}/replace`, {
    as: 'otherClient',
    body: {},
  })
  assert.equal(replaced.status, 200, replaced.text)
  const second = replaced.json.publicToken
  const whole = await readHistory(first.publicToken)
  const listed = whole.json.map(
    ({ publicToken, retired }: { publicToken: string; retired: boolean }) => [publicToken, retired],
  )
  assert.deepEqual(listed, [
    [second, false],
    [first.publicToken, true],
  ])
  const page = await readHistory(first.publicToken, '?limit=1')
  assert.deepEqual(page.json, whole.json.slice(0, 1))
  const [, next = ''] = /history(\?[^>]+)>; rel="next"/.exec(String(page.headers.link)) ?? []
  assert.deepEqual((await readHistory(first.publicToken, next)).json, whole.json.slice(1))
  assert.equal((await readHistory('9999999999')).status, 404)
})
