/** The audit log for people: found by person, act, card and time, by an address, and as a file. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { enterAll } from '../support/audit.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { freePorts } from '../support/free-ports.ts'
import { openTestService, sql, type TestService } from '../support/service.ts'

let service: TestService
let url: string
let auditor: Browser
let card: string

const visit = (query: string) => auditor.visit(`${url}/console/audit-log${query}`)
const countRows = (text: string): number => text.match(/<summary>Details<\/summary>/g)?.length ?? 0

const findToday = (): string => new Date().toISOString().slice(0, 10)
const firstDay = findToday()

before(async () => {
  const [, port] = await freePorts()
  service = await openTestService({ env: { PRIVATE_PORT: String(port), RATE_LIMIT: 'off' } })
  await service.privateServer.listen({ port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  auditor = openBrowser()
  const people = service.sandbox?.people ?? []
  await auditor.visit(people.find(({ role }) => role === 'auditor')?.signInUrl ?? '')
  const { publicToken } = await service.createCard()
  card = publicToken
  const body = { reason: 'The holder rang' }
  const as = { as: 'admin', listener: 'private', body } as const
  await service.call('POST', `//cards/${card}/freeze`, as)
  await sql(service.database, `update client set client_name = '=1+1,"x"' where kind = 'admin'`)
  await enterAll(service.database)
})

test('acts are found by person, act, card and day, each by an address', async () => {
  assert.equal(countRows((await visit('?act=card.status_changed')).text), 1)
  assert.equal(countRows((await visit(`?card=${card}`)).text), 1)
  assert.equal(countRows((await visit('?person=demo-admin&act=card.status_changed')).text), 1)
  assert.equal(countRows((await visit('?act=card.status_changed&to=2020-01-01')).text), 0)
  // The tests may have begun before midnight.
  const { text } = await visit(`?act=card.status_changed&from=${firstDay}&to=${findToday()}`)
  assert.equal(countRows(text), 1)
  assert.match(text, /<option value="card\.status_changed" selected>Status changed/)
})

test('an act on a key leads to the keys, for those who may open them', async () => {
  const as = { as: 'admin', listener: 'private' } as const
  const { status, text: answer } = await service.call('POST', '//keys/cvk/rotate', as)
  assert.ok(status < 300, answer)
  await enterAll(service.database)
  const lead = openBrowser()
  const { people = [] } = service.sandbox ?? {}
  await lead.visit(people.find(({ role }) => role === 'support-lead')?.signInUrl ?? '')
  for (const [browser, isLed] of [
    [auditor, true],
    [lead, false],
  ] as const) {
    const { text } = await browser.visit(`${url}/console/audit-log?act=key.generated`)
    assert.match(
      text,
      /<option value="key\.generated" selected>[\s\S]*<span class="cut" title="key\.generated">/,
    )
    assert.equal(/<a class="cut" href="\/console\/keys"/.test(text), isLed)
  }
})

test('a filter that cannot be searched says why, and keeps what was typed', async () => {
  for (const [query, words] of [
    ['?card=12', /ten digits/],
    [`?card=${card}&act=client.created`, /Search by a card alone/],
    ['?from=yesterday', /A day has the form/],
    ['?from=2026-02-30', /A day has the form/],
    ['?to=9999-12-31', /A day has the form/],
    ['?from=0000-01-01', /A day has the form/],
  ] as const) {
    const { status, text } = await visit(query)
    assert.equal(status, 422)
    assert.match(text, words)
  }
  assert.match((await visit('?card=12')).text, /name="card"[^>]* value="12"/)
})

test('a filter by an unknown act finds nothing, also by the name of a member of objects', async () => {
  for (const act of ['__proto__', 'constructor', 'toString', 'nobody.did_this']) {
    const { status, text } = await visit(`?act=${act}`)
    assert.equal(status, 200, text)
    assert.match(text, /No act matches\./)
    assert.ok(text.includes(`<option value="${act}" selected>`), text)
    assert.doesNotMatch(text, /native code/)
  }
})

test('what is shown is exported as CSV, with no cell that a spreadsheet calculates', async () => {
  const { headers, text } = await visit('?act=card.status_changed&as=csv')
  assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="audit-entries-/)
  const [head, row, ...others] = text.split('\r\n')
  assert.match(head ?? '', /^at,act,actInWords,outcome,reason,clientId,clientName,/)
  assert.ok(row?.includes(`,demo-admin,"'=1+1,""x""",${card},`), row)
  assert.deepEqual(others, [''])
})

test('the export follows all pages, and each line of JSON is an entry', async () => {
  await sql(
    service.database,
    `insert into audit_act (act, subject_kind, subject, details, client_id, request_id)
     select 'changed', 'client', 'demo-client', '{}', 'demo-admin', number::text
     from generate_series(1, 230) as number`,
  )
  await enterAll(service.database)
  const { headers, text } = await visit('?act=client.changed&as=jsonl')
  assert.match(headers.get('content-type') ?? '', /jsonl/)
  const lines = text.trimEnd().split('\n')
  assert.equal(lines.length, 230)
  const ids = new Set(lines.map((line) => JSON.parse(line).entry))
  assert.equal(ids.size, 230)
})

test('a link to a file leads a reader who is signed out to the sign-in, and saves no page', async () => {
  const { text } = await visit('')
  const [link = ''] = /<a href="[^"]*as=csv"[^>]*>/.exec(text) ?? []
  assert.match(link, /^<a href="[^"]*">$/)
  const signedOut = await openBrowser().ask(`${url}/console/audit-log?as=csv`)
  assert.equal(signedOut.status, 303)
  assert.match(signedOut.headers.get('location') ?? '', /^\/console\/sign-in\?to=/)
})
