import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newCard, openTestService } from '../support/service.ts'

const service = await openTestService()

const pointersOf = (json: { errors: readonly { pointer: string }[] }): string[] =>
  json.errors.map(({ pointer }) => pointer).sort()

test('faults that a schema cannot see are told together with those that it can', async () => {
  const { publicToken } = await service.createCard()
  const path = `/card-pin/${publicToken}/pin`
  const body = { pin: '48', cardPin: '4821', updatedBy: '' }
  const { json, status } = await service.call('POST', path, { body })
  assert.equal(status, 422)
  assert.deepEqual(pointersOf(json), ['', '/pin', '/updatedBy'])
})

test('a delivery address of a virtual card is told with every other fault', async () => {
  const card = newCard()
  const body = { ...card, cardType: 'Virtual', fulfilment: card.address, nameOnCard: '*' }
  const { json, status } = await service.call('POST', '/cards', { body })
  assert.equal(status, 422)
  assert.deepEqual(pointersOf(json), ['/fulfilment', '/nameOnCard'])
})

test('of thousands of faults the first hundred are told: an answer is not many times its question', async () => {
  const body = { url: 'https://a.example/', events: Array.from({ length: 9_000 }, () => 'x') }
  const { json, status, text } = await service.call('POST', '/webhooks', { body })
  assert.equal(status, 422)
  assert.equal(json.errors.length, 100)
  assert.ok(text.length < JSON.stringify(body).length)
})
