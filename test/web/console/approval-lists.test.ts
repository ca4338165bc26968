/** The lists of approvals in the console show what belongs in them, however much else there is. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, hiddenFields, openBrowser } from '../../support/browser.ts'
import { sql } from '../../support/service.ts'
import { type Console, linkOf, openConsole } from '../support/console.ts'
import { askForAdministrator } from '../support/console-world.ts'

let service: Console
let browser: Browser
before(async () => {
  service = await openConsole({
    APPROVALS: 'administrator,unblock-cards',
    APPROVALS_UNBLOCK_CARDS: '1',
  })
  browser = openBrowser()
  assert.equal((await browser.visit(linkOf(service, 'Sol Security'))).status, 200)
  const { approvalId } = await askForAdministrator(service, 'admin-of-sol')
  await sql(
    service.database,
    `update approval set state = 'expired', ended_at = clock_timestamp(), payload = null,
       requester_id = (select person_id from person where display_name = $1)
     where approval_id = $2::uuid returning approval_id`,
    ['Sol Security', approvalId],
  )
  const later = await askForAdministrator(service, 'admin-of-others')
  await sql(
    service.database,
    `insert into approval (approval_id, kind, method, path, access, payload, payload_hash, subject,
       state_digest, requester_id, request_id, requester_parties, requested_at)
     select gen_random_uuid(), kind, method, path, access, null, payload_hash, subject,
       state_digest, 'another', request_id, requester_parties, requested_at
     from approval, generate_series(1, 100)
     where approval_id = $1::uuid returning approval_id`,
    [later.approvalId],
  )
})

test('the list of own requests has those that are older than a hundred of others', async () => {
  const page = await browser.visit(`${service.url('')}/console/approvals?list=mine`)
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /Expired/)
  assert.doesNotMatch(page.text, /You have no requests|Next page/)
})

test('the list of decisions does not say that there are none while there is a next page', async () => {
  const address = `${service.url('')}/console/approvals?list=decided`
  const page = await browser.visit(address)
  assert.match(page.text, /Nothing on this page\. See the next page\./)
  assert.doesNotMatch(page.text, /No decisions yet/)
  const [, query = ''] = /href="[^"?]*\?([^"]*)" rel="next"/.exec(page.text) ?? []
  const next = await browser.visit(
    `${service.url('')}/console/approvals?${query.replaceAll('&amp;', '&')}`,
  )
  assert.match(next.text, /Expired/)
})

test('an approver sees what a client loses and gets, as long as the request waits', async () => {
  const { json, status, text } = await service.call('PATCH', '//clients/demo-admin', {
    as: 'admin',
    listener: 'private',
    body: { clientName: 'Renamed', scopes: ['admin'] },
  })
  assert.equal(status, 202, text)
  const address = `${service.url('')}/console/approvals/${json.approvalId}`
  const page = await browser.visit(address)
  assert.match(page.text, /<del><bdi>[^<]+<\/bdi><\/del> → <ins><bdi>Renamed<\/bdi><\/ins>/)
  assert.match(page.text, /<del><code>− audit\.read<\/code><\/del>/)
  assert.match(page.text, /<\/del> <code>admin<\/code>/)
  await service.call('POST', `//approvals/${json.approvalId}/withdraw`, {
    as: 'admin',
    listener: 'private',
  })
  const over = await browser.visit(address)
  assert.doesNotMatch(over.text, /<ins>|<button>Approve/)
  assert.match(over.text, /Withdrawn.*Not executed.*It was withdrawn, and is not executed/s)
})

/** Enables or disables an administrator as a security officer does, by the form of its page. */
const switchAdministrator = async (active: 'yes' | 'no', reason: string) => {
  const officer = openBrowser()
  await officer.visit(linkOf(service, 'Sol Security'))
  const address = `${service.url('')}/console/clients/demo-admin`
  const form = await officer.visit(address)
  return officer.send(address, { ...hiddenFields(form), active, reason })
}

test('an administrator is enabled for a reason, which the approver reads', async () => {
  const asked = await switchAdministrator('yes', 'Ticket 4711: back from leave')
  assert.equal(asked.status, 200, asked.text)
  assert.ok(asked.text.includes('<bdi>Ticket 4711: back from leave</bdi>'), asked.text)
  const page = await browser.visit(`${service.url('')}/console/approvals`)
  assert.ok(page.text.includes('title="Ticket 4711: back from leave"'))
})

test('a request of the console without a reason says that it has none', async () => {
  const asked = await switchAdministrator('yes', ' ')
  assert.equal(asked.status, 200, asked.text)
  assert.match(asked.text, /The request has no reason\. Ask the requester\./)
})

test('a form with a card number in its reason is refused and shown open with its fault', async () => {
  const refused = await switchAdministrator('yes', 'For 4111111111111111')
  assert.equal(refused.status, 422, refused.text)
  assert.match(refused.text, /<details open>\s*<summary>Disable/)
  assert.match(refused.text, /<p class="fault"[^>]*>[^<]*card number/)
})

test('the list shows the reason of a request, and the whole reason stands first on its page', async () => {
  const reason = 'An outage of the network on Friday, "case 2210", counted <b>each</b> PIN twice'
  const support = openBrowser()
  await support.visit(linkOf(service, 'support'))
  const form = await support.visit(`${service.url('')}/console/unblock`)
  const asked = await support.send(`${service.url('')}/console/unblock`, {
    ...hiddenFields(form),
    kind: 'pin',
    publicTokens: '1000000001 1000000002',
    reason,
  })
  assert.equal(asked.status, 200, asked.text)
  const escaped = reason.replaceAll('"', '&quot;').replaceAll(/<(\/?b)>/g, '&lt;$1&gt;')
  assert.ok(asked.text.includes(`<blockquote class="asked"><bdi>${escaped}</bdi>`), asked.text)
  const page = await browser.visit(`${service.url('')}/console/approvals`)
  assert.ok(page.text.includes(`title="${escaped}"`))
})

test('a request that cannot be read is listed so, and its page offers no approval', async () => {
  const { approvalId } = await askForAdministrator(service, 'admin-of-a-lost-key')
  await sql(
    service.database,
    `update approval set payload = set_byte(payload, 1, 239), reason = set_byte(payload, 1, 239)
     where approval_id = $1::uuid returning approval_id`,
    [approvalId],
  )
  const list = await browser.visit(`${service.url('')}/console/approvals`)
  assert.equal(list.status, 200, list.text)
  assert.match(list.text, /Cannot be read/)
  const page = await browser.visit(`${service.url('')}/console/approvals/${approvalId}`)
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /The request cannot be read: its key is not in the HSM\./)
  assert.match(page.text, /This request cannot be read or approved/)
  assert.doesNotMatch(page.text, /<button>Approve/)
})
