import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { expireCard } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService
before(async () => {
  service = await openTestService()
})

const pathOf = (publicToken: string) => `/cards/${publicToken}/controls`
const newCard = async () => (await service.createCard()).publicToken
const replace = (publicToken: string, body: unknown, headers = {}) =>
  service.call('PUT', pathOf(publicToken), { body, headers })
const read = async (publicToken: string) => (await service.call('GET', pathOf(publicToken))).json

const openList = { allowed: null, blocked: [] }
const open = {
  version: 0,
  merchants: openList,
  merchantCategories: openList,
  countries: openList,
  channels: openList,
  singleUse: false,
  merchantLock: false,
  limits: [],
  shadow: null,
}

test('a card without controls allows everything, in version 0', async () => {
  assert.deepEqual(await read(await newCard()), open)
})

test('controls are replaced whole, and read as they are in force', async () => {
  const card = await newCard()
  const first = await replace(card, { version: 0, countries: { blocked: ['FRA'] } })
  assert.deepEqual([first.status, first.json], [200, { version: 1 }])
  const limits = [{ period: 'day', maximumAmount: 5 }]
  await replace(card, { version: 1, limits, shadow: { singleUse: true } })
  const { version: _, shadow: __, ...openRules } = open
  assert.deepEqual(await read(card), {
    ...open,
    version: 2,
    limits: [{ period: 'day', channel: null, maximumAmount: 5, maximumCount: null }],
    shadow: { ...openRules, singleUse: true },
  })
  await replace(card, { version: 2 })
  assert.deepEqual(await read(card), { ...open, version: 3 })
  const rows = await sql<{ version: number }>(
    service.database,
    'select version from card_controls where public_token = $1 order by version',
    [card],
  )
  assert.deepEqual(
    rows.map(({ version }) => version),
    [1, 2, 3],
  )
})

test('each change is one event with the version, and nothing of the lists', async () => {
  const card = await newCard()
  await replace(card, { version: 0, merchants: { blocked: ['CASINO'] } })
  const events = await sql<{ details: string; sequence: number }>(
    service.database,
    "select details, sequence from event where public_token = $1 and type = 'card.controls_changed'",
    [card],
  )
  assert.deepEqual(events, [{ details: '{"version":1}', sequence: 2 }])
})

test('a change of another version is refused, and loses nothing', async () => {
  const card = await newCard()
  await replace(card, { version: 0, singleUse: true })
  const { json, status } = await replace(card, { version: 0 })
  assert.deepEqual([status, json.code], [409, 'controls_version_conflict'])
  assert.equal(json.detail, 'The present version is 1.')
  const race = await Promise.all(
    Array.from({ length: 5 }, () => replace(card, { version: 1, singleUse: false })),
  )
  assert.deepEqual(race.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
  assert.equal((await read(card)).version, 2)
})

test('a repeated change has one effect', async () => {
  const card = await newCard()
  const key = { 'idempotency-key': randomUUID() }
  const body = { version: 0, singleUse: true }
  const first = await replace(card, body, key)
  const repeat = await replace(card, body, key)
  assert.deepEqual(repeat.json, first.json)
  assert.equal(repeat.headers['idempotency-replayed'], 'true')
  assert.equal((await read(card)).version, 1)
  const other = await replace(card, { version: 1 }, key)
  assert.equal(other.json.code, 'idempotency_key_reused')
})

test('the card of another client, and a closed card, have no controls to change', async () => {
  const card = await newCard()
  const other = { as: 'otherClient' } as const
  assert.equal((await service.call('GET', pathOf(card), other)).json.code, 'card_not_found')
  const change = await service.call('PUT', pathOf(card), { ...other, body: { version: 0 } })
  assert.equal(change.json.code, 'card_not_found')
  const body = { entryMode: 'chip' }
  const explain = await service.call('POST', `${pathOf(card)}/explain`, { ...other, body })
  assert.equal(explain.json.code, 'card_not_found')
  await expireCard(service.database, card)
  assert.equal((await replace(card, { version: 0 })).json.code, 'card_closed')
  assert.equal((await read(card)).version, 0)
})

const texts = (length: number) => Array.from({ length }, (_, index) => `MERCHANT-${1e5 + index}`)
const lists = { allowed: texts(1_000), blocked: texts(1_000) }

/** Controls that are refused, with the place of the fault. */
const faulty: Readonly<Record<string, readonly [body: object, pointer: string]>> = {
  'without a version': [{}, '/version'],
  'with a version as a text': [{ version: '0' }, '/version'],
  'with a negative version': [{ version: -1 }, '/version'],
  'with 5,000 merchants': [
    { version: 0, merchants: { allowed: texts(5_000) } },
    '/merchants/allowed',
  ],
  'with 1,001 merchants': [
    { version: 0, merchants: { blocked: texts(1_001) } },
    '/merchants/blocked',
  ],
  'with a merchant twice': [
    { version: 0, merchants: { blocked: ['A', 'A'] } },
    '/merchants/blocked',
  ],
  'with an empty merchant': [{ version: 0, merchants: { blocked: [''] } }, '/merchants/blocked/0'],
  'with a long merchant': [
    { version: 0, merchants: { blocked: ['A'.repeat(16)] } },
    '/merchants/blocked/0',
  ],
  'with null for a blocked list': [
    { version: 0, merchants: { blocked: null } },
    '/merchants/blocked',
  ],
  'with a category as a number': [
    { version: 0, merchantCategories: { blocked: [742] } },
    '/merchantCategories/blocked/0',
  ],
  'with a category of three digits': [
    { version: 0, merchantCategories: { blocked: ['742'] } },
    '/merchantCategories/blocked/0',
  ],
  'with an unknown country': [
    { version: 0, countries: { allowed: ['ES'] } },
    '/countries/allowed/0',
  ],
  'with an unknown channel': [
    { version: 0, channels: { allowed: ['atm'] } },
    '/channels/allowed/0',
  ],
  'with an unknown period': [{ version: 0, limits: [{ period: 'year' }] }, '/limits/0/period'],
  'with a negative amount': [
    { version: 0, limits: [{ period: 'day', maximumAmount: -1 }] },
    '/limits/0/maximumAmount',
  ],
  'with a fraction': [
    { version: 0, limits: [{ period: 'day', maximumAmount: 1.5 }] },
    '/limits/0/maximumAmount',
  ],
  'with an amount as a text': [
    { version: 0, limits: [{ period: 'day', maximumAmount: '1' }] },
    '/limits/0/maximumAmount',
  ],
  'with a huge amount': [
    { version: 0, limits: [{ period: 'day', maximumAmount: 1e12 }] },
    '/limits/0/maximumAmount',
  ],
  'with a limit twice': [
    { version: 0, limits: [{ period: 'day' }, { period: 'day', channel: null }] },
    '/limits/1',
  ],
  'with a count of each transaction': [
    { version: 0, limits: [{ period: 'transaction', maximumCount: 1 }] },
    '/limits/0/maximumCount',
  ],
  'with a shadow of a shadow': [{ version: 0, shadow: { shadow: {} } }, '/shadow/shadow'],
  'with a faulty shadow': [
    { version: 0, shadow: { limits: [{ period: 'transaction', maximumCount: 1 }] } },
    '/shadow/limits/0/maximumCount',
  ],
  'with a time zone for a card': [{ version: 0, timeZone: 'UTC' }, '/timeZone'],
  'with a limit basis for a card': [{ version: 0, limitBasis: 'cleared' }, '/limitBasis'],
}

for (const [title, [body, pointer]] of Object.entries(faulty)) {
  test(`controls ${title} are refused with the place of the fault`, async () => {
    const card = await newCard()
    const { json, status } = await replace(card, body)
    assert.deepEqual([status, json.code], [422, 'validation_failed'])
    assert.ok(
      json.errors.some((error: { pointer: string }) => error.pointer === pointer),
      JSON.stringify(json.errors),
    )
    assert.equal((await read(card)).version, 0)
  })
}

test('full lists are accepted, and a body over its limit names the limit', async () => {
  const card = await newCard()
  const rules = { merchants: lists, merchantCategories: { blocked: ['7995'] } }
  assert.equal((await replace(card, { version: 0, ...rules, shadow: rules })).status, 200)
  const huge = await replace(card, { version: 1, merchants: { allowed: texts(30_000) } })
  assert.equal(huge.status, 413)
  assert.equal(huge.json.detail, 'The body exceeds the limit of 262144 bytes.')
})

test('a dry run returns every objection of both documents, and spends nothing', async () => {
  const card = await newCard()
  await replace(card, {
    version: 0,
    channels: { blocked: ['chip'] },
    limits: [{ period: 'day', maximumAmount: 10 }],
    shadow: { countries: { allowed: [] } },
  })
  const body = { entryMode: 'chip', amount: 11, currency: 'EUR' }
  const explain = async () => (await service.call('POST', `${pathOf(card)}/explain`, { body })).json
  const explanation = await explain()
  assert.deepEqual(explanation, {
    approved: false,
    productControlsVersion: 0,
    cardControlsVersion: 1,
    objections: [
      { declineReason: 'channel_not_allowed', owner: 'card', control: 'channels' },
      { declineReason: 'amount_over_limit', owner: 'card', control: 'limits.day' },
    ],
    shadowObjections: [
      { declineReason: 'country_not_allowed', owner: 'card', control: 'countries' },
    ],
  })
  assert.deepEqual(await explain(), explanation)
  const spent = await sql(service.database, 'select from card_spending where public_token = $1', [
    card,
  ])
  assert.equal(spent.length, 0)
})

test('an operator replaces the controls of a product; the act names what changed', async () => {
  const admin = { as: 'admin', listener: 'private' } as const
  const path = '//products/1001/controls'
  const before = (await service.call('GET', path, admin)).json
  assert.equal(before.timeZone, 'UTC')
  const body = { version: 0, timeZone: 'Europe/Madrid', countries: { blocked: ['FRA'] } }
  assert.deepEqual((await service.call('PUT', path, { ...admin, body })).json, { version: 1 })
  const { countries, timeZone, version } = (await service.call('GET', path, admin)).json
  assert.deepEqual(
    { countries, timeZone, version },
    { ...body, countries: { allowed: null, blocked: ['FRA'] }, version: 1 },
  )
  const conflict = await service.call('PUT', path, { ...admin, body })
  assert.equal(conflict.json.code, 'controls_version_conflict')
  const unknown = { version: 1, timeZone: 'Madrid' }
  assert.equal((await service.call('PUT', path, { ...admin, body: unknown })).status, 422)
  const acts = (await service.call('GET', '//acts', admin)).json
  assert.deepEqual(acts[0].details, { version: 1, changed: ['timeZone', 'countries'] })
  assert.equal(acts[0].act, 'controls changed')
  const none = await service.call('GET', '//products/999999/controls', admin)
  assert.equal(none.json.code, 'not_found')
  await service.call('PUT', path, { ...admin, body: { version: 1 } })
})
