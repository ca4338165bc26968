/** Fields that want an id offer the ids that there are, with their names. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

let service: TestService
let url: string

before(async () => {
  const [, port] = await freePorts()
  service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}/console`
})

const signIn = async (wanted: string) => {
  const browser = openBrowser()
  const people = service.sandbox?.people ?? []
  await browser.visit(people.find(({ role }) => role === wanted)?.signInUrl ?? '')
  return browser
}

test('the filters by client offer the clients by id and name', async () => {
  const auditor = await signIn('auditor')
  for (const path of ['/authorizations', '/webhooks', '/disclosures']) {
    const { text } = await auditor.visit(`${url}${path}`)
    assert.match(text, /list="known-clients"/, path)
    assert.match(text, /<option value="demo-client">Demo client system<\/option>/, path)
  }
})

test('a client and a network have their names on Home, in the authorizations and at a link', async () => {
  const { publicToken } = await service.createCard()
  const call = { as: 'admin', listener: 'private' } as const
  const body = { publicToken, entryMode: 'moto', amount: 500, currency: 'EUR' }
  await service.call('POST', '//sandbox/authorizations', { ...call, body })
  const link = {
    linkName: 'named',
    networkId: 'demo-network',
    direction: 'dial',
    host: '127.0.0.1',
    port: 1,
    profile: 'sandbox',
  }
  await service.call('POST', '//links', { ...call, body: link })
  const viewer = await signIn('viewer')
  for (const [path, id, name] of [
    ['', 'demo-client', 'Demo client system'],
    ['/authorizations', 'demo-client', 'Demo client system'],
    ['/networks/links/named', 'demo-network', 'Demo card network'],
  ] as const) {
    const { text } = await viewer.visit(`${url}${path}`)
    assert.match(text, new RegExp(`title="${id}"><bdi>${name}</bdi>`), path)
  }
})

test('a client is offered the products that it has not been granted', async () => {
  const officer = await signIn('security-officer')
  const [granted] = await sql<{ product_id: number }>(
    service.database,
    `select product_id from client_product where product_id <> 1002 limit 1`,
  )
  await sql(service.database, 'delete from client_product where product_id = 1002')
  const { text } = await officer.visit(`${url}/clients/demo-client`)
  assert.match(text, /<datalist id="known-products"><option value="1002">/)
  assert.ok(!text.includes(`<option value="${granted?.product_id}">`))
})
