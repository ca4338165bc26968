/** Filters of lists in the console that cannot be searched. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type Browser, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService } from '../support/service.ts'

let url: string
let auditor: Browser

before(async () => {
  const [, port] = await freePorts()
  const service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  auditor = openBrowser()
  const people = service.sandbox?.people ?? []
  await auditor.visit(people.find(({ role }) => role === 'auditor')?.signInUrl ?? '')
})

test('a filter that cannot be searched is said above its form, which keeps what was typed', async () => {
  for (const [path, name, typed, fault] of [
    ['/authorizations', 'clientId', 'Acme Bank', /The id of a client must be 1 to 64 visible/],
    ['/webhooks', 'client', 'Acme Bank', /The id of a client must be 1 to 64 visible/],
    ['/disclosures', 'of', 'Acme Bank', /The id of a client must be 1 to 64 visible/],
    ['/audit-log', 'act', 'é', /act must be printable/],
  ] as const) {
    const address = `${url}/console${path}?${new URLSearchParams({ [name]: typed })}`
    const { status, text } = await auditor.visit(address)
    assert.equal(status, 422, path)
    assert.match(text, fault)
    assert.match(text, /<p class="notice bad" role="alert">/)
    assert.ok(text.includes(`value="${typed}"`), text)
    assert.doesNotMatch(text, /No change was made/)
  }
})

test('a filter ignores spaces at the ends of what was typed', async () => {
  for (const [path, name] of [
    ['/authorizations', 'clientId'],
    ['/webhooks', 'client'],
    ['/disclosures', 'of'],
    ['/audit-log', 'person'],
  ] as const) {
    const { status, text } = await auditor.visit(`${url}/console${path}?${name}=%20demo-client+`)
    assert.equal(status, 200, path)
    assert.match(text, /"demo-client"/)
  }
})

test('the address of a page of a list that is not valid says so, with the form of the list', async () => {
  for (const path of ['/authorizations', '/webhooks', '/disclosures', '/audit-log']) {
    const { status, text } = await auditor.visit(`${url}/console${path}?cursor=other`)
    assert.equal(status, 422, path)
    assert.match(text, /The address of this page of the list is not valid\./)
    assert.match(text, /<form method="get"|<form class="filters narrow" method="get"/)
  }
})
