import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { scopesByRole } from '../../../src/domain/person.ts'
import { enterAll } from '../../support/audit.ts'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { type CallOptions, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
let card: IssuedCard

before(async () => {
  service = await openTestService({ env: { PAN_SEARCHES_PER_PERSON_HOUR: '3' } })
  card = await issueCard(service)
})

const unknownPan = '4000001234567899'

const search = (body: object, options: CallOptions = {}) =>
  service.call('POST', '//cards/search', { body, as: 'admin', listener: 'private', ...options })

interface Entry {
  readonly act: string
  readonly client: string
  readonly request: string
  readonly card?: string
  readonly subject?: string
  readonly details: Readonly<Record<string, unknown>>
}

const searchesOnRecord = async (): Promise<Entry[]> => {
  await enterAll(service.database)
  const rows = await sql<{ text: string }>(
    service.database,
    `select text from audit_entry where act = 'pan.searched' order by log, entry_index`,
  )
  return rows.map(({ text }) => JSON.parse(text))
}

const refusals = async () =>
  await sql<{ client: string; reason: string; count: number }>(
    service.database,
    `select client_id as client, reason, sum(count)::integer as count from refused_disclosure
     where act = 'pan.searched' group by 1, 2 order by 1, 2`,
  )

test('who may look at cards does not search by card number: that is another scope, and not a viewer’s', async () => {
  const token = await service.token('support.read', 'admin')
  const refused = await search({ pan: card.pan }, { token })
  assert.equal(refused.status, 403, refused.text)
  assert.equal(refused.json.code, 'insufficient_scope')
  assert.match(refused.json.detail, /support\.pan/)
  assert.equal((await search({ publicToken: card.publicToken }, { token })).status, 200)
  // A person of a role that looks and does not serve cardholders.
  assert.equal((await search({ pan: card.pan }, { as: 'approver' })).status, 403)
  const having = Object.entries(scopesByRole).filter(([, scopes]) => scopes.includes('support.pan'))
  assert.deepEqual(
    having.map(([role]) => role),
    ['support', 'support-lead'],
  )
  assert.deepEqual(await searchesOnRecord(), [])
})

test('each search by card number is on record, found or not, with a keyed hash and never the number', async () => {
  const found = await search({ pan: card.pan })
  assert.equal(found.json[0].publicToken, card.publicToken)
  assert.deepEqual((await search({ pan: unknownPan })).json, [])
  const [hit, miss, ...more] = await searchesOnRecord()
  assert.deepEqual(more, [])
  assert.ok(hit && miss)
  assert.deepEqual(
    [hit.client, hit.card, hit.details.found, hit.details.cardClient],
    ['demo-admin', card.publicToken, true, 'demo-client'],
  )
  assert.deepEqual([miss.client, miss.card, miss.details.found], ['demo-admin', undefined, false])
  assert.equal(miss.subject, miss.details.panFingerprint)
  const hash = /^[A-Za-z0-9_-]{43}$/
  assert.match(String(hit.details.panFingerprint), hash)
  assert.notEqual(hit.details.panFingerprint, miss.details.panFingerprint)
  const said = JSON.stringify([hit, miss])
  assert.ok(!said.includes(card.pan) && !said.includes(unknownPan))
  const timeline = await service.call('GET', `//cards/${card.publicToken}/timeline`, {
    as: 'admin',
    listener: 'private',
  })
  assert.ok(
    timeline.json.some(({ act }: { act?: { type: string } }) => act?.type === 'pan.searched'),
  )
})

test('one person has so many searches by card number an hour; refused ones are counted and on record', async () => {
  assert.equal((await search({ pan: unknownPan })).status, 200)
  const refused = await search({ pan: card.pan })
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 3_500)
  assert.ok(!refused.text.includes(card.publicToken))
  // What is searched by something else is searched on.
  assert.equal((await search({ publicToken: card.publicToken })).status, 200)
  assert.equal((await searchesOnRecord()).length, 3)
  assert.deepEqual(
    (await refusals()).map(({ reason, count }) => [reason, count]),
    [
      ['insufficient_scope', 1],
      ['rate_limited', 1],
      ['insufficient_scope', 1],
    ],
  )
  const metrics = await service.call('GET', '//metrics', { token: null, listener: 'private' })
  for (const [result, count] of [
    ['hit', 1],
    ['miss', 2],
    ['refused', 3],
  ]) {
    assert.ok(metrics.text.includes(`pinfold_pan_searches_total{result="${result}"} ${count}`))
  }
})

test('a search by card number that cannot be put on record has no result', async () => {
  const other = await openTestService()
  const { pan } = await issueCard(other)
  await sql(
    other.database,
    `alter table audit_act add constraint away check (act <> 'pan.searched') not valid`,
  )
  const failed = await other.call('POST', '//cards/search', {
    body: { pan },
    as: 'admin',
    listener: 'private',
  })
  assert.equal(failed.status, 500)
  assert.ok(!failed.text.includes('publicToken'))
})
