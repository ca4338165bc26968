import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inspect } from 'node:util'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import { product } from '../../support/builders.ts'
import { withoutIds } from '../../support/identifiers.ts'
import {
  type CreatedCard,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

let service: TestService
let card: CreatedCard

before(async () => {
  service = await openTestService({ env: { REVEALS_PER_CARD_HOUR: '1000' } })
  card = await service.createCard()
  const [common] = demoProducts
  assert.ok(common)
  await product(service.database, { ...common, productId: 9012, pinLength: 12 })
  await product(service.database, { ...common, productId: 9001, refuseWeakPins: false })
})

const setPin = (pin: unknown, on = card) =>
  service.call('POST', `/card-pin/${on.publicToken}/pin`, { body: { pin } })
const reveal = async (on = card): Promise<string> =>
  (await service.call('GET', `/card-pin/${on.publicToken}/pin`)).json.pin

/** PINs that a thief tries first, with what they are. Card: born 17 April 1990. */
const weak = (): Readonly<Record<string, string>> => ({
  '0000': 'uniform',
  '1234': 'a series',
  '9876': 'a series backwards',
  '7890': 'a series over zero',
  '1212': 'a repeated group',
  '2332': 'a palindrome',
  '1987': 'a year of 19xx',
  '2031': 'a year of 20xx',
  '1704': 'DDMM of birth',
  '0417': 'MMDD of birth',
  '0490': 'MMYY of birth',
  '1990': 'the year of birth',
  [card.expiryDate.slice(5, 7) + card.expiryDate.slice(2, 4)]: 'MMYY of expiry',
  [card.expiryDate.slice(2, 4) + card.expiryDate.slice(5, 7)]: 'YYMM of expiry',
  [card.maskedPan.slice(-4)]: 'the last four of the PAN',
  [card.maskedPan.slice(0, 4)]: 'the first four of the PAN',
})

test('a weak PIN is refused with the reason, the PIN stays, and the answer repeats none of it', async () => {
  const [strong] = strongPins(card)
  assert.equal((await setPin(strong)).status, 204)
  for (const [pin, what] of Object.entries(weak())) {
    const { json, status, text } = await setPin(pin)
    assert.deepEqual(
      [status, json.code, json.title],
      [422, 'weak_pin', 'The PIN is too easy to guess.'],
      what,
    )
    assert.equal(json.errors[0].pointer, '/pin', what)
    assert.equal(json.detail, json.errors[0].detail, what)
    assert.ok(!withoutIds(text).includes(pin), what)
  }
  assert.equal(await reveal(), strong)
})

test('digits that the masked PAN hides make no PIN weak', async () => {
  const hidden = ['7193', '0739', '6284', '8406', '5927', '3816']
  for (const pin of hidden.filter((each) => !card.maskedPan.includes(each))) {
    assert.equal((await setPin(pin)).status, 204, pin)
  }
})

test('a weak PIN is taken where the product says so', async () => {
  const lenient = await service.createCard({ cardProduct: 9001 })
  assert.equal((await setPin('1111', lenient)).status, 204)
  assert.equal(await reveal(lenient), '1111')
})

test('a PIN has exactly the digits of its product, from 4 to 12', async () => {
  const six = await service.createCard({ cardProduct: 1003 })
  const twelve = await service.createCard({ cardProduct: 9012 })
  const cases = [
    [card, 4],
    [six, 6],
    [twelve, 12],
  ] as const
  for (const [on, length] of cases) {
    const digits = '719340628416'
    for (let count = 4; count <= 12; count += 1) {
      const pin = digits.slice(12 - count)
      if (pin.includes(on.maskedPan.slice(-4))) continue
      const { json, status } = await setPin(pin, on)
      if (count === length) {
        assert.equal(status, 204)
        assert.equal(await reveal(on), pin)
        continue
      }
      assert.deepEqual([status, json.code], [422, 'validation_failed'])
      assert.deepEqual(json.errors, [{ pointer: '/pin', detail: `must have ${length} digits` }])
    }
  }
})

test('a text that is no PIN is refused, and never repeated', async () => {
  for (const pin of [
    7193,
    '',
    '719',
    '7193406284160',
    '71 93',
    '７１９３',
    '7193\n',
    '-719',
    null,
    ['7193'],
  ]) {
    const { json, status, text } = await setPin(pin)
    assert.deepEqual([status, json.code], [422, 'validation_failed'], String(pin))
    assert.equal(json.errors[0].pointer, '/pin')
    assert.ok(!withoutIds(text).includes('719'), text)
  }
})

test('exactly one spelling of the PIN is taken', async () => {
  const path = `/card-pin/${card.publicToken}/pin`
  const [pin] = strongPins(card)
  for (const body of [{}, { pin, cardPin: pin }, { description: 'no PIN' }]) {
    const { json, status } = await service.call('POST', path, { body })
    assert.deepEqual([status, json.code], [422, 'validation_failed'])
  }
  const weakSpelling = await service.call('POST', path, { body: { cardPin: '1234' } })
  assert.equal(weakSpelling.json.errors[0].pointer, '/cardPin')
})

test('a note that holds a card number is refused; one at its full length is kept', async () => {
  const path = `/card-pin/${card.publicToken}/pin`
  const [pin] = strongPins(card)
  const pan = '4000001234567899'
  for (const note of [{ description: `card ${pan}` }, { updatedBy: '4000 0012 3456 7899' }]) {
    const { json, status, text } = await service.call('POST', path, { body: { pin, ...note } })
    assert.deepEqual([status, json.code], [422, 'validation_failed'])
    assert.ok(!withoutIds(text).includes('4000'))
  }
  const note = { description: 'd'.repeat(800), updatedBy: 'u'.repeat(100) }
  assert.equal((await service.call('POST', path, { body: { pin, ...note } })).status, 204)
})

test('a card of a product without PIN reveal stores nothing from which its PIN could be revealed', async () => {
  const sealed = await service.createCard({ cardProduct: 1002 })
  assert.equal((await setPin(strongPins(sealed)[0], sealed)).status, 204)
  const { json, status } = await service.call('GET', `/card-pin/${sealed.publicToken}/pin`)
  assert.deepEqual([status, json.code], [409, 'pin_not_revealable'])
  const [row] = await sql(
    service.database,
    'select pin_block, length(pvv) as "pvvLength" from card where public_token = $1',
    [sealed.publicToken],
  )
  assert.deepEqual(row, { pin_block: null, pvvLength: 4 })
})

test('a card’s PIN opens under no other card’s number', async () => {
  const other = await service.createCard()
  const [row] = await sql<{ pinBlock: Uint8Array }>(
    service.database,
    'select pin_block as "pinBlock" from card where public_token = $1',
    [card.publicToken],
  )
  await sql(service.database, 'update card set pin_block = $2 where public_token = $1', [
    other.publicToken,
    row?.pinBlock ?? null,
  ])
  const answer = await service.call('GET', `/card-pin/${other.publicToken}/pin`)
  assert.deepEqual([answer.status, answer.json.code], [500, 'internal_error'])
  assert.equal(answer.json.detail, undefined)
})

test('a request with a PIN in it is a secret on its way to the HSM, which alone reads it', async () => {
  const { hsm } = service.issuing
  const { fingerprintRequest } = hsm
  const given: Parameters<typeof fingerprintRequest>[0][] = []
  hsm.fingerprintRequest = (request) => {
    given.push(request)
    return fingerprintRequest(request)
  }
  const [pin] = strongPins(card)
  try {
    const headers = { 'idempotency-key': 'secret-request' }
    const path = `/card-pin/${card.publicToken}/pin`
    assert.equal((await service.call('POST', path, { body: { pin }, headers })).status, 204)
  } finally {
    hsm.fingerprintRequest = fingerprintRequest
  }
  const [asked] = given
  assert.ok(asked?.request.reveal().includes(`"pin":"${pin}"`))
  for (const shown of [JSON.stringify(given), inspect(given, { depth: 9, showHidden: true })]) {
    assert.ok(shown.includes('secret-request') && !shown.includes(`"pin"`))
  }
})
