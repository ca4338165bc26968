import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  addProduct,
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinBlock,
  pinTry,
} from '../../support/network.ts'
import type { TestService } from '../../support/service.ts'
import { onEachEngine } from './engines.ts'
import { typesOf } from './tried.ts'

const once = 3201
const fifteen = 3215

onEachEngine((engine) => {
  let service: TestService
  before(async () => {
    service = await engine.openOne()
    await addProduct(service, { productId: once, pinTryLimit: 1, cvvTryLimit: 1 })
    await addProduct(service, { productId: fifteen, pinTryLimit: 15, cvvTryLimit: 15 })
  })

  const tryPin = async (card: IssuedCard, pin = card.pin) =>
    (await ask(service, pinTry(service, card, pin))).json
  const tryCvv2 = async (card: IssuedCard, cvv2 = card.cvv2) =>
    (await ask(service, cvvTry(card, cvv2))).json

  for (const [cardProduct, limit] of [
    [once, 1],
    [fifteen, 15],
  ] as const) {
    test(`a product with a limit of ${limit} blocks at the wrong try number ${limit}, and a right one before starts anew`, async () => {
      const card = await issueCard(service, { cardProduct })
      for (const wrongTries of [limit - 1, limit]) {
        for (let tries = 1; tries <= wrongTries; tries += 1) {
          const pin = await tryPin(card, otherDigits(card.pin))
          const cvv = await tryCvv2(card, otherDigits(card.cvv2))
          const left = { result: 'mismatch', remainingTries: limit - tries }
          assert.deepEqual([pin.responseCode, pin.pin], ['55', left])
          assert.deepEqual([cvv.responseCode, cvv.cvv], ['N7', left])
        }
        if (wrongTries === limit) continue
        assert.deepEqual((await tryPin(card)).pin, { result: 'match', remainingTries: limit })
        assert.deepEqual((await tryCvv2(card)).cvv, { result: 'match', remainingTries: limit })
      }
      const pin = await tryPin(card)
      assert.deepEqual([pin.responseCode, pin.pin.result], ['75', 'blocked'])
      const cvv = await tryCvv2(card)
      assert.deepEqual([cvv.responseCode, cvv.cvv.result], ['N7', 'blocked'])
      const types = await typesOf(service.database, card.publicToken)
      for (const type of ['pin.blocked', 'cvv.blocked']) {
        assert.equal(types.filter((each) => each === type).length, 1)
      }
    })
  }

  test('a product that keeps a PVV only takes the right PIN, and no longer one that begins with it', async () => {
    const card = await issueCard(service, { cardProduct: 1002 })
    assert.equal((await tryPin(card, `${card.pin}0`)).responseCode, '55')
    assert.equal((await tryPin(card, `${card.pin}12345678`)).responseCode, '55')
    assert.equal((await tryPin(card)).responseCode, '00')
    assert.equal((await tryPin(card, otherDigits(card.pin))).responseCode, '55')
  })

  test('a product of six digits compares all six, in every format', async () => {
    const card = await issueCard(service, { cardProduct: 1003 })
    assert.equal(card.pin.length, 6)
    for (const pin of [card.pin.slice(0, 4), `${card.pin}0`, otherDigits(card.pin)]) {
      assert.equal((await tryPin(card, pin)).responseCode, '55')
    }
    const formats = ['ISO_FORMAT_0', 'ISO_FORMAT_1', 'ISO_FORMAT_3', 'ISO_FORMAT_4'] as const
    for (const format of formats) {
      const { publicToken } = card
      const question = { publicToken, pinBlock: pinBlock(service, card, format) }
      assert.equal((await ask(service, question)).json.responseCode, '00', format)
    }
  })

  test('a new PIN is the one that counts from the moment it is set, and it restores no tries', async () => {
    const card = await issueCard(service)
    await tryPin(card, otherDigits(card.pin))
    const pin = ['7193', '6284', '8406'].find(
      (each) => each !== card.pin && !card.pan.endsWith(each),
    )
    const path = `/card-pin/${card.publicToken}/pin`
    assert.equal((await service.call('POST', path, { body: { pin } })).status, 204)
    assert.deepEqual((await tryPin(card)).pin, { result: 'mismatch', remainingTries: 1 })
    assert.deepEqual((await tryPin(card, pin)).pin, { result: 'match', remainingTries: 3 })
  })
})
