import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  newCard,
  openEmbedded,
  openServerDatabase,
  openTestService,
  strongPins,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()

const engines: readonly {
  engine: string
  skip: string | false
  open: () => Promise<Database>
}[] = [
  { engine: 'the embedded database', skip: false, open: openEmbedded },
  {
    engine: 'a PostgreSQL server',
    skip: postgres.leftOut,
    open: async () => (await openServerDatabase(postgres)).database,
  },
]

const everydayDebit = {
  productId: 1001,
  productName: 'Everyday Debit',
  schemeName: 'Visa',
  currencyCode: 'EUR',
  cardTypes: ['Physical', 'Virtual'],
  validityMonths: 48,
  pinLength: 4,
  pinRevealable: true,
  pinTryLimit: 3,
  cvvTryLimit: 3,
  renewalType: 'Manual',
  renewalEarliestDays: 90,
  renewalLeadDays: 45,
  renewalGraceMonths: 3,
  renewalNoticeDays: [60, 30],
}

for (const { engine, open, skip } of engines) {
  suite(`on ${engine}`, { skip }, () => eightOperations(open))
}

function eightOperations(open: () => Promise<Database>): void {
  let service: TestService
  let publicToken: string
  let pins: readonly string[]

  before(async () => {
    service = await openTestService({ database: await open() })
    const card = await service.createCard()
    publicToken = card.publicToken
    pins = strongPins(card)
  })

  /** Answered with 204, without a body and without a word on one. */
  const noContent = async (method: string, path: string, body?: object): Promise<void> => {
    const answer = await service.call(method, path, body && { body })
    assert.deepEqual([answer.status, answer.text], [204, ''])
    assert.equal(answer.headers['content-type'], undefined)
  }

  test('List Products is GET products: 200 with the client’s products, by productId', async () => {
    const { json, status } = await service.call('GET', '/products')
    assert.equal(status, 200)
    assert.deepEqual(
      json.map(({ productId }: { productId: number }) => productId),
      [1001, 1002, 1003],
    )
    assert.deepEqual(json[0], everydayDebit)
  })

  test('Create Card is POST cards: 201 with the card, its publicToken and its address', async () => {
    const body = newCard({ customerReference: 'C-1', designId: 'blue' })
    const { headers, json, status } = await service.call('POST', '/cards', { body })
    assert.equal(status, 201)
    assert.equal(headers.location, `/thr/processor/cards/${json.publicToken}`)
    const { expiryDate, maskedPan, publicToken: token, startDate, ...rest } = json
    assert.match(token, /^[1-9][0-9]{9}$/)
    assert.match(maskedPan, /^400000\*{6}[0-9]{4}$/)
    assert.match(startDate, /^\d{4}-\d{2}-\d{2}$/)
    assert.match(expiryDate, /^\d{4}-\d{2}-(28|29|30|31)$/)
    assert.equal(Number(expiryDate.slice(0, 4)), Number(startDate.slice(0, 4)) + 4)
    assert.deepEqual(rest, {
      customerReference: 'C-1',
      designId: 'blue',
      cardType: 'Virtual',
      cardProduct: 1001,
      embossName: 'ANA LIM',
      status: 'Active',
      cardStatusCode: '00',
      cardStatusDescription: 'Active',
    })
  })

  test('Set PIN is POST card-pin/{publicToken}/pin: 204 without a body', async () => {
    await noContent('POST', `/card-pin/${publicToken}/pin`, { pin: pins[0] })
    await noContent('POST', `/card-pin/${publicToken}/pin`, { cardPin: pins[1], updatedBy: 'app' })
  })

  test('Get current PIN is GET card-pin/{publicToken}/pin: 200 with the PIN last set', async () => {
    await noContent('POST', `/card-pin/${publicToken}/pin`, { pin: pins[2] })
    const { json, status } = await service.call('GET', `/card-pin/${publicToken}/pin`)
    assert.deepEqual([status, json], [200, { pin: pins[2] }])
  })

  test('a card has a random PIN from the start, of the length of its product', async () => {
    const { publicToken: token } = await service.createCard({ cardProduct: 1003 })
    const { json } = await service.call('GET', `/card-pin/${token}/pin`)
    assert.match(json.pin, /^[0-9]{6}$/)
  })

  test('Get CVV status is GET card-cvv/{publicToken}/cvv/status: code, description, tries', async () => {
    const { json, status } = await service.call('GET', `/card-cvv/${publicToken}/cvv/status`)
    assert.equal(status, 200)
    assert.deepEqual(json, {
      status: 'Unblocked',
      description: 'The CVV can be used.',
      remainingTries: 3,
    })
  })

  test('Unblock CVV is PUT card-cvv/{publicToken}/cvv/status: 204, and all tries are back', async () => {
    const path = `/card-cvv/${publicToken}/cvv/status`
    for (const _ of ['block', 'block again']) await noContent('PUT', path, { status: 'Blocked' })
    assert.deepEqual((await service.call('GET', path)).json, {
      status: 'Blocked',
      description: 'The CVV is blocked by the client.',
      remainingTries: 0,
    })
    for (const _ of ['unblock', 'unblock again']) {
      await noContent('PUT', path, { status: 'Unblocked', description: 'Called.', updatedBy: 'M.' })
    }
    assert.equal((await service.call('GET', path)).json.remainingTries, 3)
  })

  test('Get PIN status is GET card-pin/{publicToken}/pin/status: code, description, tries', async () => {
    const { json, status } = await service.call('GET', `/card-pin/${publicToken}/pin/status`)
    assert.equal(status, 200)
    assert.deepEqual(json, {
      status: 'Unblocked',
      description: 'The PIN can be used.',
      remainingTries: 3,
    })
  })

  test('Unblock PIN is POST card-pin/{publicToken}/pin/unblock: 204, with or without a body', async () => {
    const path = `/card-pin/${publicToken}/pin/unblock`
    await noContent('POST', path)
    await noContent('POST', path, {})
    await noContent('POST', path, { description: 'Called the desk.', updatedBy: 'M. Ruiz' })
    const json = { 'content-type': 'application/json' }
    const empty = await service.call('POST', path, { payload: '', headers: json })
    assert.deepEqual([empty.status, empty.text], [204, ''])
  })

  test('a card that was created is read back as it was answered, with its tries', async () => {
    const created = await service.createCard({ cardType: 'physical', cardProduct: 1002 })
    assert.deepEqual([created.cardType, created.status], ['Physical', 'Inactive'])
    const { json, status } = await service.call('GET', `/cards/${created.publicToken}`)
    const { createdAt, cvvStatus, metadata, pinStatus, renewalType, retired, ...card } = json
    assert.deepEqual([status, card], [200, created])
    assert.deepEqual([metadata, renewalType, retired], [{}, 'Manual', false])
    assert.match(createdAt, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/)
    assert.deepEqual([pinStatus.remainingTries, cvvStatus.remainingTries], [3, 3])
  })
}
