/** The lists of approvals in the console show what belongs in them, however much else there is. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, openBrowser } from '../../support/browser.ts'
import { sql } from '../../support/service.ts'
import { type Console, linkOf, openConsole } from '../support/console.ts'
import { askForAdministrator } from '../support/console-world.ts'

let service: Console
let browser: Browser
before(async () => {
  service = await openConsole({ APPROVALS: 'administrator' })
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
     select gen_random_uuid(), kind, method, path, access, payload, payload_hash, subject,
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
