/**
 * What the forms of the console do, by the links of a sandbox: done once, on record, and shown
 * where they lead.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { enterAll } from '../support/audit.ts'
import { type Browser, hiddenFields, openBrowser } from '../support/browser.ts'
import { chippedCard } from '../support/chip.ts'
import { freePorts } from '../support/free-ports.ts'
import { withoutIds } from '../support/identifiers.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

let service: TestService
let url: string
let officer: Browser
let formToken: string

before(async () => {
  const [, port] = await freePorts()
  service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  officer = openBrowser()
  const people = service.sandbox?.people ?? []
  const link = people.find(({ role }) => role === 'security-officer')?.signInUrl ?? ''
  const { text } = await officer.visit(link)
  formToken = /name="form-token" value="([^"]+)"/.exec(text)?.[1] ?? ''
})

/** Sends a form, and follows where it leads. */
const send = async (
  path: string,
  fields: Readonly<Record<string, string>> = {},
  key: string = randomUUID(),
) => {
  const form = { 'form-token': formToken, 'form-key': key, ...fields }
  const answer = await officer.send(`${url}/console${path}`, form)
  return { status: answer.status, to: answer.url.replace(url, ''), text: answer.text }
}

const ask = async (path: string) =>
  (await service.call('GET', `//${path}`, { as: 'admin', listener: 'private' })).json

const signedIn = async (as: string): Promise<Browser> => {
  const browser = openBrowser()
  await browser.visit(service.sandbox?.people.find(({ role }) => role === as)?.signInUrl ?? '')
  return browser
}

const postOf = (fields: Readonly<Record<string, string>>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url },
})

/** The screen that it leads to, which says so once. */
const done = (to: string) => ({ status: 200, to: `/console${to}`, isSaid: true })
const led = ({ status, text, to }: Awaited<ReturnType<typeof send>>) => ({
  status,
  to,
  isSaid: /class="notice good" role="status"><p>[^<]+<\/p>/.test(text),
})

test('a product is retired and issued again', async () => {
  for (const [active, isActive] of [
    ['no', false],
    ['yes', true],
  ] as const) {
    assert.deepEqual(led(await send('/products/1001', { active })), done('/products'))
    assert.equal((await ask('products/1001')).active, isActive)
  }
})

test('a client is granted a product, which is taken away again, and is disabled and let in again', async () => {
  const client = async () => ask('clients/demo-other-client')
  const at = '/clients/demo-other-client'
  assert.ok(!(await client()).productIds.includes(1002))
  const grant = { productId: '1002', act: 'grant' }
  assert.deepEqual(led(await send(`${at}/grants`, grant)), done(at))
  assert.ok((await client()).productIds.includes(1002))
  assert.deepEqual(led(await send(`${at}/grants`, { ...grant, act: 'revoke' })), done(at))
  assert.ok(!(await client()).productIds.includes(1002))
  const unknown = await send(`${at}/grants`, { ...grant, productId: '9999' })
  assert.equal(unknown.status, 404)
  assert.match(unknown.text, /<b>What was entered does not exist\.<\/b> No change was made\./)
  for (const active of ['no', 'yes']) {
    assert.deepEqual(led(await send(at, { active })), done(at))
    assert.equal((await client()).active, active === 'yes')
  }
})

test('a link is switched off and on', async () => {
  const body = {
    linkName: 'console',
    networkId: 'demo-network',
    direction: 'dial',
    host: '127.0.0.1',
    port: 9,
    profile: 'sandbox',
  }
  const made = await service.call('POST', '//links', { as: 'admin', listener: 'private', body })
  assert.equal(made.status, 201, made.text)
  const at = '/networks/links/console'
  for (const active of ['no', 'yes']) {
    assert.deepEqual(led(await send(at, { active })), done(at))
    assert.equal((await ask('links/console')).active, active === 'yes')
  }
})

test('a form rotates a key once, and a version in use cannot be retired', async () => {
  const versions = async (): Promise<number> => {
    const keys: { key: string }[] = await ask('keys')
    return keys.filter(({ key }) => key === 'cvk').length
  }
  const before = await versions()
  const key = randomUUID()
  for (let time = 0; time < 2; time += 1) {
    assert.deepEqual(led(await send('/keys/cvk/rotate', {}, key)), done('/keys'))
  }
  assert.equal(await versions(), before + 1)
  const refused = await send('/keys/cvk/versions/1/retire')
  assert.equal(refused.status, 409, refused.text)
  assert.match(refused.text, /No change was made/)
})

test('a successor of the audit log is refused while the log goes on, and begins where it cannot', async () => {
  const reason = 'A standby that lagged behind took over'
  await enterAll(service.database)
  assert.equal((await send('/audit-log/successor', { reason })).status, 409)
  const logs: { log: number }[] = await ask('audit/logs')
  assert.equal(logs.length, 1)
  await sql(service.database, `update audit_log set refusal = 'It lags behind' returning log`)
  assert.deepEqual(led(await send('/audit-log/successor', { reason })), done('/audit-log'))
  assert.equal((await ask('audit/logs')).length, logs.length + 1)
})

test('the sessions of a person are ended, in whatever browser they are', async () => {
  const viewer = openBrowser()
  const people = service.sandbox?.people ?? []
  await viewer.visit(people.find(({ role }) => role === 'viewer')?.signInUrl ?? '')
  assert.equal((await viewer.ask(`${url}/console`)).status, 200)
  const known: { name: string; personId: string }[] = await ask('people')
  const personId = known.find(({ name }) => name === 'Vera Viewer')?.personId ?? ''
  const at = `/people/${personId}`
  assert.deepEqual(led(await send(`${at}/sign-out`)), done(at))
  assert.equal((await viewer.ask(`${url}/console`)).status, 303)
})

test('a terminal authorizes for any card in its currency, and no page repeats what was typed', async () => {
  const { publicToken } = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  // A PIN that is never drawn.
  const fields = { publicToken, pin: '8888', entryMode: 'chip', cvv: '' }
  const tried = /(?<![\w*-])8888(?![\w-])/
  const declined = await send('/sandbox/authorizations', fields)
  assert.equal(declined.status, 200, declined.text)
  assert.match(declined.text, /Declined: [A-Z][^<]+ \(\d\d\)/)
  assert.doesNotMatch(withoutIds(declined.text), tried)
  const [authorization] = await ask(`cards/${publicToken}/authorizations`)
  assert.equal(authorization.entryMode, 'chip')
  const priced = await send('/sandbox/authorizations', { ...fields, amount: '12.34' })
  assert.equal(priced.status, 200, priced.text)
  const [{ amount, currency }] = await ask(`cards/${publicToken}/authorizations`)
  assert.deepEqual([amount, currency], [1234, 'EUR'])
  const { publicToken: abroad } = await service.createCard({ cardProduct: 1003 })
  await send('/sandbox/authorizations', { publicToken: abroad, entryMode: 'moto', amount: '5' })
  const [dollars] = await ask(`cards/${abroad}/authorizations`)
  assert.deepEqual([dollars.amount, dollars.currency], [500, 'USD'])
  const strange = await send('/sandbox/authorizations', { ...fields, amount: '12,3x' })
  assert.equal(strange.status, 422)
  const missing = await send('/sandbox/authorizations', { ...fields, publicToken: '9999999999' })
  assert.equal(missing.status, 404)
  assert.doesNotMatch(withoutIds(missing.text), tried)
})

test('the clock moves forward and never back', async () => {
  const now = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16)
  assert.deepEqual(led(await send('/sandbox/clock', { now })), done('/sandbox'))
  assert.ok((await ask('sandbox/clock')).now >= `${now}:00`)
  assert.equal((await send('/sandbox/clock', { now: '2020-01-01T00:00' })).status, 422)
})

test('a role that does not search by card number is told so on the screen, and the number is in no page', async () => {
  const answered = await send('/search', { text: '4000 0012 3456 7899' })
  assert.equal(answered.status, 200)
  assert.match(answered.text, /Your role cannot search by card number/)
  assert.ok(!answered.text.includes('4567899'))
})

test('a customer reference of any length is found, a card number only as such', async () => {
  for (const customerReference of [
    'ABCDEFGHIJKL',
    'C-2026-11-25',
    'Ref 12 chars',
    '202611250018',
    '20261125-001',
    '2026112500018',
    '2026-11-25 000017',
    '12345',
  ]) {
    const { publicToken } = await service.createCard({ customerReference })
    const found = await send('/search', { text: customerReference })
    assert.equal(found.status, 200, found.text)
    assert.match(found.text, /By customer reference/, customerReference)
    assert.ok(found.text.includes(`/console/cards/${publicToken}`), customerReference)
  }
  for (const text of ['4111 1111 1111 1111', '4111-1111-1111-1111', 'Card 4111111111111111']) {
    const found = await send('/search', { text })
    assert.doesNotMatch(found.text, /(customer|authorization) reference( or|\.)/)
    assert.ok(!withoutIds(found.text).includes('1111'))
  }
})

test('amount and merchant of an authorization are on the card, its own page and in the search', async () => {
  const { publicToken } = await service.createCard()
  await service.call('POST', '//network/authorizations', {
    as: 'network',
    listener: 'private',
    body: {
      publicToken,
      entryMode: 'chip',
      reference: 'BAKERY-1',
      amount: 1234,
      currency: 'EUR',
      merchant: { name: 'Corner <Bakery>', categoryCode: '5462' },
    },
  })
  const line = '12.34 EUR at Corner &lt;Bakery&gt;, MCC 5462'
  const found = await send('/search', { text: 'BAKERY-1' })
  assert.ok(found.text.includes(line), found.text)
  const card = await officer.visit(`${url}/console/cards/${publicToken}`)
  assert.ok(card.text.includes(line))
  const [, address] = /href="([^"]+\/authorizations\/[^"]+)"/.exec(card.text) ?? []
  const { text } = await officer.visit(`${url}${address}`)
  for (const fact of ['12.34 EUR', 'Corner &lt;Bakery&gt;', '5462']) assert.ok(text.includes(fact))
})

test('what a form came to is said once, by the page that it leads to, and by no link', async () => {
  const { publicToken } = await service.createCard()
  const said = /The PIN is unblocked. All its tries are restored/
  const support = await signedIn('support')
  const address = `${url}/console/cards/${publicToken}`
  const reason = 'Cardholder identified'
  const page = await support.visit(address)
  const form = { ...hiddenFields(page), reason }
  const answer = await support.ask(`${address}/pin/unblock`, postOf(form))
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, address.replace(url, '')])
  // A page of another address, and one that a script reads, leave it to the page that it is of.
  assert.doesNotMatch((await support.visit(`${url}/console/search`)).text, said)
  const byScript = await support.visit(address, { headers: { 'sec-fetch-dest': 'empty' } })
  assert.doesNotMatch(byScript.text, said)
  const two = await Promise.all([support.visit(address), support.visit(address)])
  assert.equal(two.filter(({ text }) => said.test(text)).length, 1)
  assert.doesNotMatch((await support.visit(address)).text, said)
  for (const done of ['freeze', 'pin/unblock', 'yes', 'asked']) {
    const linked = await support.visit(`${address}?done=${encodeURIComponent(done)}`)
    assert.doesNotMatch(linked.text, /class="notice/)
  }
})

test('two clicks on the button of the name are one disclosure, a later form another', async () => {
  const { publicToken } = await service.createCard()
  const support = await signedIn('support')
  const address = `${url}/console/cards/${publicToken}`
  const form = hiddenFields(await support.visit(address))
  const answers = await Promise.all([
    support.ask(`${address}/cardholder`, postOf(form)),
    support.ask(`${address}/cardholder`, postOf(form)),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [303, 303],
  )
  const page = await support.visit(address)
  assert.match(page.text, /Ana Lim, on the card ANA LIM/)
  const countDisclosed = async (): Promise<number> =>
    (await ask(`cards/${publicToken}/timeline`)).filter(
      ({ kind }: { kind: string }) => kind === 'disclosure',
    ).length
  assert.equal(await countDisclosed(), 1)
  await support.ask(`${address}/cardholder`, postOf(hiddenFields(page)))
  assert.equal(await countDisclosed(), 2)
})

test('a reload discloses no name again, and the database cannot read the name', async () => {
  const { publicToken } = await service.createCard()
  const support = await signedIn('support')
  const address = `${url}/console/cards/${publicToken}`
  const form = hiddenFields(await support.visit(address))
  const answer = await support.ask(`${address}/cardholder`, postOf(form))
  assert.equal(answer.status, 303)
  assert.ok(!answer.text.includes('ANA LIM'))
  const [kept] = await sql<{ notice: Uint8Array }>(
    service.database,
    'select notice from console_session where notice is not null',
  )
  assert.ok(!Buffer.from(kept?.notice ?? []).includes('ANA LIM'))
  assert.match((await support.visit(address)).text, /Ana Lim, on the card ANA LIM/)
  for (let time = 0; time < 2; time += 1) {
    assert.doesNotMatch((await support.visit(address)).text, /ANA LIM/)
  }
  const disclosed = (await ask(`cards/${publicToken}/timeline`)).filter(
    ({ kind }: { kind: string }) => kind === 'disclosure',
  )
  assert.equal(disclosed.length, 1)
})

test('the page of a card with a chip shows what waits for it, and that of others no chip', async () => {
  const { publicToken } = await chippedCard(service)
  const page = (of: string) => officer.visit(`${url}/console/cards/${of}`)
  await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  const { text } = await page(publicToken)
  const waiting = 'It needs an online purchase.'
  for (const shown of ['The chip was not online yet', 'unblock pin', 'pending', waiting]) {
    assert.ok(text.includes(shown), shown)
  }
  const put = { command: 'put_data', tag: '9F58', value: '03', panSequenceNumber: '07' }
  await service.call('POST', `/cards/${publicToken}/chip/commands`, { body: put })
  assert.match((await page(publicToken)).text, /put data 9F58[^§]*?number \d+ · chip 07 · queued/)
  await send('/sandbox/authorizations', { publicToken, chip: 'yes', entryMode: 'chip' })
  const { text: online } = await page(publicToken)
  assert.match(online, /Chip 00: highest counter 1, keys of version 1\./)
  assert.match(online, /Its result is not known yet\./)
  const other = await service.createCard()
  assert.doesNotMatch((await page(other.publicToken)).text, /id="chip"/)
})

test('a refused form is shown again with its faults and what was typed, but never a PIN or a CVV', async () => {
  const { status, text } = await send('/sandbox/authorizations', {
    publicToken: '4820117360',
    amount: 'ten',
    pin: '9173',
    cvv: '917',
    entryMode: 'ecommerce',
  })
  assert.equal(status, 422)
  const said =
    /role="alert">\s*<p><b>Some of what was entered is not valid\.<\/b> No change was made\.</
  assert.match(text, said)
  const [amount = ''] = /<input id="[^"]*-amount"[^>]*>/.exec(text) ?? []
  assert.match(amount, /value="ten"[\s\S]*aria-invalid="true"/)
  const id = /aria-describedby="([^"]+)"/.exec(amount)?.[1]
  assert.ok(text.includes(`<p class="fault" id="${id}">Must be like 12.34.</p>`))
  assert.match(text, /value="4820117360"/)
  assert.match(text, /<option value="ecommerce" selected>/)
  assert.doesNotMatch(withoutIds(text), /\b917\b|9173/)
})

test('a refused form is shown with the filter of the page that it was sent from', async () => {
  const { publicToken } = await service.createCard()
  const support = await signedIn('support')
  const address = `${url}/console/cards/${publicToken}`
  const referer = `${address}?show=disclosure`
  const form = { ...hiddenFields(await support.visit(referer)), reason: '' }
  const { status, text } = await support.send(`${address}/freeze`, form, { referer })
  assert.equal(status, 422)
  assert.match(text, /show=disclosure#timeline" aria-current="true">Disclosures</)
})

test('a reason of nothing but spaces is refused at its field, and none has spaces at its ends', async () => {
  const { publicToken } = await service.createCard()
  const support = await signedIn('support')
  const address = `${url}/console/cards/${publicToken}`
  const form = hiddenFields(await support.visit(address))
  const { status, text } = await support.send(`${address}/freeze`, { ...form, reason: ' \t ' })
  assert.equal(status, 422)
  assert.match(text, /-reason-fault">Must not be blank\.</)
  assert.equal((await ask(`cards/${publicToken}`)).statusReason.reason, null)
  await support.send(`${address}/freeze`, {
    ...form,
    'form-key': randomUUID(),
    reason: ' Lost on a train ',
  })
  assert.equal((await ask(`cards/${publicToken}`)).statusReason.reason, 'Lost on a train')
})

test('a form for a host that the service does not have is refused, and is no failure', async () => {
  const answer = await service.privateServer.inject({
    method: 'POST',
    url: '/console/cards/1000000001/reprint',
    headers: { host: 'elsewhere.example' },
  })
  assert.equal(answer.statusCode, 421, answer.payload)
})
