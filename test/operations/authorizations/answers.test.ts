import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { luhnCheckDigit } from '../../../src/domain/pan.ts'
import { expireCard, product } from '../../support/builders.ts'
import {
  ask,
  chooseNewPin,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinBlock,
  pinTry,
} from '../../support/network.ts'
import type { Answer, TestService } from '../../support/service.ts'
import { makeTrack } from '../../support/stripes.ts'
import { onEachEngine } from './engines.ts'
import { attemptsOf, typesOf } from './tried.ts'
import { hsmAway } from './watched-hsm.ts'

const notChecked = { result: 'not_checked', remainingTries: 3 }

const once = 3201
const fifteen = 3215

onEachEngine((engine) => {
  let service: TestService
  let card: IssuedCard
  before(async () => {
    service = await engine.openOne()
    await product(service.database, { productId: once, pinTryLimit: 1, cvvTryLimit: 1 })
    await product(service.database, { productId: fifteen, pinTryLimit: 15, cvvTryLimit: 15 })
  })
  beforeEach(async () => {
    card = await issueCard(service)
  })

  /** Everything that a question can bring, all of it right. */
  const full = (): Record<string, unknown> => ({
    pan: card.pan,
    expiryDate: card.expiry,
    cvv2: card.cvv2,
    pinBlock: pinBlock(service, card),
    reference: 'R-1',
  })
  const wrongPin = () => pinBlock(service, { ...card, pin: otherDigits(card.pin) })
  const wrongCvv2 = () => otherDigits(card.cvv2)

  const assertNothingSpent = async (): Promise<void> => {
    for (const kind of ['pin', 'cvv'] as const) {
      assert.deepEqual(await attemptsOf(service.database, card.publicToken, kind), [])
    }
  }

  const assertObjection = (answer: Answer, responseCode: string): void => {
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.json, {
      approved: false,
      responseCode,
      publicToken: card.publicToken,
      reference: 'R-1',
      pin: notChecked,
      cvv: notChecked,
    })
  }

  test('by PAN and by token the answer is the same', async () => {
    const { pan: _, ...question } = full()
    const byPan = await ask(service, full())
    const byToken = await ask(service, { ...question, publicToken: card.publicToken })
    assert.deepEqual(byPan.json, {
      approved: true,
      responseCode: '00',
      publicToken: card.publicToken,
      reference: 'R-1',
      pin: { result: 'match', remainingTries: 3 },
      cvv: { result: 'match', remainingTries: 3 },
    })
    assert.equal(byPan.text, byToken.text)
  })

  test('a card that is not there is 14 with nothing more, whatever was asked and however it is wrong', async () => {
    const body = `${card.pan.slice(0, 10)}${(Number(card.pan.slice(10, 15)) + 1) % 100_000}`
    const unknown = body.padEnd(15, '0')
    const { pan: _, ...question } = full()
    for (const named of [
      { pan: unknown + luhnCheckDigit(unknown) },
      { pan: card.pan.slice(0, 15) + otherDigits(card.pan.slice(15)) },
      { pan: '000000000000' },
      { pan: `${card.pan}000` },
      { publicToken: '9999999999' },
      { publicToken: 'no-token' },
      { publicToken: '' },
    ]) {
      const answer = await ask(service, { ...question, ...named })
      assert.equal(answer.status, 200)
      const expected = { approved: false, responseCode: '14', reference: 'R-1' }
      assert.deepEqual(answer.json, expected, JSON.stringify(Object.keys(named)))
    }
  })

  for (const [statusCode, responseCode] of [
    ['62', '62'],
    ['41', '41'],
    ['43', '43'],
    ['46', '46'],
    ['83', '46'],
  ] as const) {
    test(`a card in status ${statusCode} answers ${responseCode}, and nothing is checked`, async () => {
      const path = `/cards/${card.publicToken}/status`
      const { status } = await service.call('PUT', path, { body: { cardStatusCode: statusCode } })
      assert.equal(status, 204)
      const objections = { expiryDate: '2040-01', cvv2: wrongCvv2(), pinBlock: wrongPin() }
      assertObjection(await ask(service, { ...full(), ...objections }), responseCode)
      await assertNothingSpent()
    })
  }

  test('a card that was not activated answers 78, and once it is, it is tried', async () => {
    card = await issueCard(service, { cardType: 'Physical' })
    const track2 = await makeTrack(service, card)
    const asked = { ...full(), entryMode: 'magstripe', track2 }
    assertObjection(await ask(service, asked), '78')
    await assertNothingSpent()
    const body = { cardStatusCode: '00' }
    await service.call('PUT', `/cards/${card.publicToken}/status`, { body })
    assert.equal((await ask(service, asked)).json.responseCode, '00')
  })

  test('a card past its expiry answers 54 before any sweep has come by', async () => {
    await expireCard(service.database, card.publicToken, '2024-01-31')
    assertObjection(await ask(service, { ...full(), expiryDate: '2024-01' }), '54')
    await assertNothingSpent()
  })

  test('an expiry that differs from the card’s is 54, and no expiry is none to object to', async () => {
    const [year, month] = card.expiry.split('-')
    for (const expiryDate of [`${year}-${month === '01' ? '02' : '01'}`, `2020-${month}`]) {
      const answer = await ask(service, { ...full(), expiryDate, pinBlock: wrongPin() })
      assertObjection(answer, '54')
    }
    await assertNothingSpent()
    const { expiryDate: _, ...question } = full()
    assert.equal((await ask(service, question)).json.responseCode, '00')
  })

  test('the PIN is compared before the CVV2, which is not compared when the PIN objects', async () => {
    const both = await ask(service, { ...full(), pinBlock: wrongPin(), cvv2: wrongCvv2() })
    assert.equal(both.json.responseCode, '55')
    assert.deepEqual(both.json.pin, { result: 'mismatch', remainingTries: 2 })
    assert.deepEqual(both.json.cvv, notChecked)
    const cvv = await ask(service, { ...full(), cvv2: wrongCvv2() })
    assert.equal(cvv.json.responseCode, 'N7')
    assert.deepEqual(cvv.json.pin, { result: 'match', remainingTries: 3 })
    assert.deepEqual(cvv.json.cvv, { result: 'mismatch', remainingTries: 2 })
  })

  test('a blocked CVV is N7 whatever is tried, and costs nothing', async () => {
    const path = `/card-cvv/${card.publicToken}/cvv/status`
    await service.call('PUT', path, { body: { status: 'Blocked' } })
    const { pinBlock: _, ...question } = full()
    const { json } = await ask(service, question)
    assert.equal(json.responseCode, 'N7')
    assert.deepEqual(json.cvv, { result: 'blocked', remainingTries: 0 })
    await assertNothingSpent()
  })

  test('a cash machine must bring a PIN; a question without PIN and CVV2 is approved as it is', async () => {
    const { cvv2: _, pinBlock: __, ...question } = full()
    assertObjection(await ask(service, { ...question, entryMode: 'atm' }), '86')
    const { json } = await ask(service, { ...question, entryMode: 'contactless' })
    assert.deepEqual([json.responseCode, json.pin, json.cvv], ['00', notChecked, notChecked])
    await assertNothingSpent()
  })

  test('a CVV2 of four digits is a wrong one', async () => {
    const { pinBlock: _, ...question } = full()
    for (const cvv2 of [`${card.cvv2}0`, `0${card.cvv2}`]) {
      const { json } = await ask(service, { ...question, cvv2 })
      assert.equal(json.responseCode, 'N7')
    }
  })

  test('an HSM that is away before anything is spent is 96, and nothing is spent', async () => {
    const { hsm } = service.issuing
    const { fingerprintPan, openPinBlock } = hsm
    hsm.openPinBlock = () => Promise.reject(hsmAway())
    try {
      assertObjection(await ask(service, full()), '96')
      hsm.fingerprintPan = () => Promise.reject(hsmAway())
      const { json } = await ask(service, full())
      assert.deepEqual(json, { approved: false, responseCode: '96', reference: 'R-1' })
    } finally {
      Object.assign(hsm, { fingerprintPan, openPinBlock })
    }
    await assertNothingSpent()
  })

  test('exactly one of PAN and token must name the card, and no other member is known', async () => {
    const { pan: _, ...question } = full()
    for (const bad of [
      question,
      { ...full(), publicToken: card.publicToken },
      { ...full(), a: 1 },
    ]) {
      const answer = await ask(service, bad)
      assert.deepEqual([answer.status, answer.json.code], [422, 'validation_failed'])
      assert.ok(!answer.text.includes(card.pan))
    }
    await assertNothingSpent()
  })

  const tryPin = async (card: IssuedCard, pin = card.pin) =>
    (await ask(service, pinTry(service, card, pin))).json
  const tryCvv2 = async (card: IssuedCard, cvv2 = card.cvv2) =>
    (await ask(service, cvvTry(card, cvv2))).json

  for (const [cardProduct, limit] of [
    [once, 1],
    [fifteen, 15],
  ] as const) {
    test(`a product with a limit of ${limit} blocks at wrong try ${limit}; a right one restores all`, async () => {
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
    const pin = chooseNewPin(card)
    const path = `/card-pin/${card.publicToken}/pin`
    assert.equal((await service.call('POST', path, { body: { pin } })).status, 204)
    assert.deepEqual((await tryPin(card)).pin, { result: 'mismatch', remainingTries: 1 })
    assert.deepEqual((await tryPin(card, pin)).pin, { result: 'match', remainingTries: 3 })
  })
})
