import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { revealPersonalData } from '../../../src/operations/cards/personal-data.ts'
import { newCard, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

const physical = newCard({ cardType: 'Physical' })

const change = (publicToken: string, body: object, headers: Record<string, string> = {}) =>
  service.call('PATCH', `/cards/${publicToken}`, { body, headers })

const read = async (publicToken: string) =>
  (await service.call('GET', `/cards/${publicToken}`)).json

const listEvents = (publicToken: string) =>
  sql<{ type: string; details: string }>(
    service.database,
    `select type, details from event where public_token = $1 order by sequence`,
    [publicToken],
  )

const readPersonalData = async (publicToken: string) => {
  const rows = await sql<{ personalData: Uint8Array }>(
    service.database,
    `select personal_data as "personalData" from card where public_token = $1`,
    [publicToken],
  )
  return revealPersonalData(
    service.issuing.hsm,
    publicToken,
    rows[0]?.personalData ?? new Uint8Array(),
  )
}

test('a change replaces only the given members, and its event has their names alone', async () => {
  const { publicToken } = await service.createCard({ ...physical, customerReference: 'C-1' })
  const changed = await change(publicToken, {
    designId: 'blue',
    renewalType: 'Automatic',
    metadata: { costCentre: 'secret-4711' },
  })
  assert.equal(changed.status, 204)
  const card = await read(publicToken)
  assert.deepEqual(
    [card.customerReference, card.designId, card.renewalType, card.metadata, card.retired],
    ['C-1', 'blue', 'Automatic', { costCentre: 'secret-4711' }, false],
  )
  const events = await listEvents(publicToken)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['card.created', 'card.changed'],
  )
  assert.deepEqual(JSON.parse(events[1]?.details ?? ''), {
    members: ['designId', 'renewalType', 'metadata'],
  })
})

test('null removes a value, and a removed kind of renewal is the product’s', async () => {
  const { publicToken } = await service.createCard({ ...physical, customerReference: 'C-1' })
  await change(publicToken, { renewalType: 'Automatic', designId: 'blue' })
  await change(publicToken, { renewalType: null, designId: null, customerReference: null })
  const card = await read(publicToken)
  assert.deepEqual(
    [card.customerReference, card.designId, card.renewalType],
    [undefined, undefined, 'Manual'],
  )
})

test('personal data stays sealed, and a new cardholder has a new name for the next plastic', async () => {
  const { publicToken } = await service.createCard(physical)
  const cardHolder = { firstName: 'Ana', lastName: 'Sol', dateOfBirth: '1990-04-17' }
  const address = { addressLine1: 'Gran Via 2', postCode: '28014', country: 'ESP' }
  assert.equal((await change(publicToken, { cardHolder, fulfilment: address })).status, 204)
  const sealed = await readPersonalData(publicToken)
  assert.deepEqual(
    [sealed.embossName, sealed.cardHolder, sealed.fulfilment, sealed.address.addressLine1],
    ['ANA SOL', cardHolder, address, 'Calle Mayor 1'],
  )
  await change(publicToken, { nameOnCard: 'THE BOSS', fulfilment: null })
  const card = await read(publicToken)
  assert.equal(card.embossName, 'THE BOSS')
  assert.equal((await readPersonalData(publicToken)).fulfilment, undefined)
  const texts = (await listEvents(publicToken)).map(({ details }) => details).join()
  assert.ok(!/Sol|Gran Via|BOSS/.test(texts), texts)
})

test('metadata is merged by key, and a card has at most 50 keys', async () => {
  const metadata = Object.fromEntries(
    Array.from({ length: 50 }, (_, place) => [`key-${place}`, 'x']),
  )
  const { publicToken } = await service.createCard({ ...newCard(), metadata })
  assert.deepEqual((await read(publicToken)).metadata, metadata)
  const tooMany = await change(publicToken, { metadata: { another: 'x' } })
  assert.deepEqual([tooMany.status, tooMany.json.errors[0].pointer], [422, '/metadata'])
  assert.equal(
    (await change(publicToken, { metadata: { 'key-0': null, another: 'y' } })).status,
    204,
  )
  const { 'key-0': _, ...others } = metadata
  assert.deepEqual((await read(publicToken)).metadata, { ...others, another: 'y' })
})

test('fifty keys are the limit under a race, too', async () => {
  const { publicToken } = await service.createCard(newCard())
  const parts = Array.from({ length: 8 }, (_, part) =>
    Object.fromEntries(Array.from({ length: 10 }, (_, key) => [`k${part}-${key}`, 'x'])),
  )
  const answers = await Promise.all(parts.map((metadata) => change(publicToken, { metadata })))
  const done = answers.filter(({ status }) => status === 204).length
  assert.equal(Object.keys((await read(publicToken)).metadata).length, done * 10)
  assert.ok(done <= 5 && done >= 1, `${done}`)
})

test('changes of different members at once are all kept', async () => {
  const { publicToken } = await service.createCard(physical)
  const bodies = [
    { designId: 'blue' },
    { renewalType: 'Automatic' },
    { metadata: { one: '1' } },
    { nameOnCard: 'THE BOSS' },
    { address: { addressLine1: 'Gran Via 2', postCode: '28014', country: 'ESP' } },
  ]
  const answers = await Promise.all(bodies.map((body) => change(publicToken, body)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([204]))
  const card = await read(publicToken)
  assert.deepEqual(
    [card.designId, card.renewalType, card.metadata, card.embossName],
    ['blue', 'Automatic', { one: '1' }, 'THE BOSS'],
  )
  assert.equal((await readPersonalData(publicToken)).address.addressLine1, 'Gran Via 2')
})

test('a repeat under its key changes nothing again, and records one event', async () => {
  const { publicToken } = await service.createCard(newCard())
  const headers = { 'idempotency-key': 'change-1' }
  assert.equal((await change(publicToken, { designId: 'blue' }, headers)).status, 204)
  await change(publicToken, { designId: 'red' })
  const repeated = await change(publicToken, { designId: 'blue' }, headers)
  assert.deepEqual([repeated.status, repeated.headers['idempotency-replayed']], [204, 'true'])
  assert.equal((await read(publicToken)).designId, 'red')
  assert.equal((await listEvents(publicToken)).length, 3)
})

test('card numbers are refused in keys and values of metadata, and never repeated', async () => {
  const { publicToken } = await service.createCard(newCard())
  const pan = '4000001234567899'
  for (const metadata of [
    { [pan]: 'x' },
    { [pan]: 1 },
    { pan },
    { 'a key': 'x' },
    { a: '' },
    { a: 1 },
  ]) {
    const { json, status, text } = await change(publicToken, { metadata })
    assert.deepEqual([status, json.code], [422, 'validation_failed'], JSON.stringify(metadata))
    assert.ok(!text.includes(pan), text)
    const made = await service.call('POST', '/cards', { body: { ...newCard(), metadata } })
    assert.equal(made.status, 422)
  }
})

test('a card number with other separators, or split between key and value, is refused', async () => {
  const { publicToken } = await service.createCard()
  const refused = [
    { pan: '4111/1111/1111/1111' },
    { pan: '4111_1111_1111_1111' },
    { '41111111': '11111111' },
  ]
  for (const metadata of refused) {
    const { json, status } = await service.call('PATCH', `/cards/${publicToken}`, {
      body: { metadata },
    })
    assert.equal(status, 422, JSON.stringify(metadata))
    assert.equal(json.errors[0].pointer, '/metadata')
  }
  const empty = await service.call('PATCH', `/cards/${publicToken}`, { body: { metadata: {} } })
  assert.equal(empty.status, 422)
})

test('a virtual card has no delivery address, and an empty change is refused', async () => {
  const { publicToken } = await service.createCard(newCard())
  const fulfilment = { addressLine1: 'Gran Via 2', postCode: '28014', country: 'ESP' }
  const refused = await change(publicToken, { fulfilment })
  assert.deepEqual([refused.status, refused.json.errors[0].pointer], [422, '/fulfilment'])
  assert.equal((await change(publicToken, {})).status, 422)
})

test('the card of another client cannot be changed', async () => {
  const { publicToken } = await service.createCard(newCard())
  const answer = await service.call('PATCH', `/cards/${publicToken}`, {
    body: { designId: 'blue' },
    as: 'otherClient',
  })
  assert.deepEqual([answer.status, answer.json.code], [404, 'card_not_found'])
})

test('the record of a closed card can be corrected', async () => {
  const { publicToken } = await service.createCard(newCard())
  await service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode: '46' } })
  assert.equal((await change(publicToken, { customerReference: 'C-9' })).status, 204)
  assert.equal((await read(publicToken)).customerReference, 'C-9')
})

test('a replacement has the metadata of the card, in its answer too, and each names the other', async () => {
  const metadata = { costCentre: '4711' }
  const { publicToken } = await service.createCard({ ...newCard(), metadata })
  const replaced = await service.call('POST', `/cards/${publicToken}/replace`, {
    body: { reason: 'Lost' },
  })
  assert.equal(replaced.status, 200, replaced.text)
  assert.deepEqual(replaced.json.metadata, metadata)
  const successor = await read(replaced.json.publicToken)
  assert.deepEqual(
    [successor.metadata, successor.replacementFor, successor.replacedBy],
    [metadata, publicToken, undefined],
  )
  const former = await read(publicToken)
  assert.deepEqual(
    [former.replacedBy, former.replacementFor],
    [replaced.json.publicToken, undefined],
  )
})
