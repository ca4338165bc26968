import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { AuthorizationCheck } from '../../../src/domain/authorization-check.ts'
import { explainDecline } from '../../../src/domain/decline-reason.ts'
import { usualChip } from '../../../src/domain/product-chip.ts'
import { demoProducts } from '../../../src/sandbox/demo-data.ts'
import { product } from '../../support/builders.ts'
import { chipMoney, playChip } from '../../support/chip.ts'
import {
  ask,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinBlock,
  recoverCard,
} from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import {
  issueWithOwnIcvv,
  makeCavv,
  makeContactlessTrack,
  makeTrack,
} from '../../support/stripes.ts'

let service: TestService
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

const issuePhysical = (): Promise<IssuedCard> =>
  issueCard(service, { cardType: 'Physical', activateNow: true })

/** The answer to a request, and the checks of its record by name. */
async function decide(card: IssuedCard, members: object) {
  const { json } = await ask(service, { pan: card.pan, entryMode: 'magstripe', ...members })
  const [row] = await sql<{ checks: string }>(
    service.database,
    `select checks::text as "checks" from authorization_request
     where public_token = $1 and response_code is not null
     order by authorization_id desc limit 1`,
    [card.publicToken],
  )
  const checks: AuthorizationCheck[] = JSON.parse(row?.checks ?? '[]')
  const found = Object.fromEntries(checks.map((each) => [each.check, each] as const))
  const reason = explainDecline(json.responseCode, checks)?.declineReason
  return { code: json.responseCode, json, found, reason }
}

const setPolicy = (member: string, policy: 'decline' | 'record') =>
  sql(
    service.database,
    `update product set chip = jsonb_set(chip, $1::text[], to_jsonb($2::text))
     where product_id = 1001`,
    [`{${member}}`, policy],
  )

/** Changes the last digit of the value in a track. */
const withWrongValue = (track: string): string => {
  const at = track.indexOf('=') + 8 + 5
  return `${track.slice(0, at)}${otherDigits(track.slice(at, at + 3))}${track.slice(at + 3)}`
}

/** Changes the last digit of the value in a CAVV. */
const withWrongCavv = (cavv: string): string =>
  cavv.slice(0, 7) + otherDigits(cavv.slice(7, 10)) + cavv.slice(10)

test('a swipe with the right CVV passes, and a wrong CVV costs no PIN try', async () => {
  const card = await issuePhysical()
  const track2 = await makeTrack(service, card)
  const passed = await decide(card, { track2 })
  assert.equal(passed.code, '00')
  assert.equal(passed.found.card_value?.result, 'passed')
  const wrong = await decide(card, {
    track2: withWrongValue(track2),
    pinBlock: pinBlock(service, { ...card, pin: otherDigits(card.pin) }),
  })
  assert.equal(wrong.code, '88')
  assert.equal(wrong.found.card_value?.result, 'failed')
  assert.equal(wrong.found.pin, undefined)
  assert.equal(wrong.json.pin.remainingTries, passed.json.pin.remainingTries)
})

test('a track of another card does not fit', async () => {
  const card = await issuePhysical()
  const track2 = await makeTrack(service, await issuePhysical())
  assert.equal((await decide(card, { track2 })).code, '88')
})

test('a stripe made for a virtual card, or of another card, is declined', async () => {
  const card = await issueCard(service)
  const forged = withWrongValue(await makeTrack(service, card))
  const foreign = await makeTrack(service, await issuePhysical())
  for (const track2 of [forged, foreign]) {
    assert.equal((await decide(card, { track2 })).code, '88')
  }
})

test('the track of a chip has an iCVV, which a swipe cannot use', async () => {
  await setPolicy('missingData', 'record')
  const card = await issueWithOwnIcvv(service, issuePhysical)
  const track2 = await makeTrack(service, card, '201', '999')
  assert.equal((await decide(card, { track2, entryMode: 'chip' })).code, '00')
  assert.equal((await decide(card, { track2 })).code, '88')
  await setPolicy('missingData', 'decline')
})

test('a fallback from the chip is declined or recorded, as the product says', async () => {
  const card = await issuePhysical()
  const track2 = await makeTrack(service, card, '201')
  const declined = await decide(card, { track2, fallback: true })
  assert.equal(declined.code, '57')
  assert.deepEqual(declined.found.chip?.findings, ['fallback'])
  assert.equal((await decide(card, { track2 })).code, '00')
  const withoutChip = await makeTrack(service, card, '101')
  assert.equal((await decide(card, { track2: withoutChip, fallback: true })).code, '00')
  await setPolicy('fallback', 'record')
  const recorded = await decide(card, { track2, fallback: true })
  assert.equal(recorded.code, '00')
  assert.deepEqual(recorded.found.chip?.findings, ['fallback'])
  await setPolicy('fallback', 'decline')
})

test('a contactless stripe is accepted once for each counter', async () => {
  const card = await issuePhysical()
  const mode = { entryMode: 'contactless' }
  const first = { ...mode, track2: await makeContactlessTrack(service, card, 7) }
  const passed = await decide(card, first)
  assert.equal(passed.code, '00')
  assert.equal(passed.found.card_value?.result, 'passed')
  assert.equal((await decide(card, first)).code, '88')
  const next = { ...mode, track2: await makeContactlessTrack(service, card, 8) }
  assert.equal((await decide(card, { ...next, track2: withWrongValue(next.track2) })).code, '88')
  assert.equal((await decide(card, next)).code, '00')
})

const contactless = async (card: IssuedCard, counter: number) => {
  const track2 = await makeContactlessTrack(service, card, counter)
  return { entryMode: 'contactless', track2 }
}

const insert = async (card: IssuedCard, panSequenceNumber: string, atc: number) => {
  const chip = await playChip(service, card, 'visa-cvn18', panSequenceNumber)
  return decide(card, { ...chipMoney, entryMode: 'chip', chip: await chip.present({ atc }) })
}

test('the stripes of a renewed card begin again, and each is accepted once', async () => {
  const soon = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 7)
  const members = { cardType: 'Physical', activateNow: true, expiryDate: soon }
  const card = await issueCard(service, members)
  for (const counter of [90, 180]) {
    assert.equal((await decide(card, await contactless(card, counter))).code, '00')
  }
  const old = await contactless(card, 181)
  const body = { activateNow: true }
  const path = `/cards/${card.publicToken}/renew`
  assert.equal((await service.call('POST', path, { body })).status, 204)
  const renewed = await recoverCard(service, card.publicToken)
  const first = await contactless(renewed, 1)
  assert.equal((await decide(renewed, first)).code, '00')
  assert.equal((await decide(renewed, first)).code, '88')
  assert.notEqual((await decide(renewed, old)).code, '00')
})

test('a stripe whose counter has passed the window is a replay, and blocks nothing', async () => {
  const card = await issuePhysical()
  const old = await contactless(card, 5)
  assert.equal((await decide(card, old)).code, '00')
  assert.equal((await decide(card, await contactless(card, 30))).code, '00')
  const replayed = await decide(card, old)
  assert.equal(replayed.code, '88')
  assert.deepEqual(replayed.found.card_value?.findings, ['cryptogram_replayed'])
  assert.equal((await decide(card, await contactless(card, 31))).code, '00')
  assert.equal((await insert(card, '00', 32)).code, '00')
})

test('the record of a replayed stripe has its counter, and explains the decline', async () => {
  const card = await issuePhysical()
  const track = await contactless(card, 7)
  await decide(card, track)
  const { found, reason } = await decide(card, track)
  const { atc, findings, result } = found.card_value ?? {}
  assert.deepEqual([result, atc, findings], ['failed', 7, ['cryptogram_replayed']])
  assert.equal(reason, 'cryptogram_replayed')
})

test('a stripe is right once, whatever chip of the card was used since', async () => {
  const card = await issuePhysical()
  assert.equal((await insert(card, '00', 49)).code, '00')
  const track = await contactless(card, 50)
  assert.equal((await decide(card, track)).code, '00')
  assert.equal((await insert(card, '01', 1)).code, '00')
  assert.equal((await decide(card, track)).code, '88')
  assert.equal((await insert(card, '01', 55)).code, '00')
  assert.equal((await decide(card, track)).code, '88')
})

test('a stripe with the counter of a cryptogram is a replay', async () => {
  const card = await issuePhysical()
  assert.equal((await insert(card, '00', 49)).code, '00')
  assert.equal((await decide(card, await contactless(card, 49))).code, '88')
  assert.equal((await decide(card, await contactless(card, 48))).code, '00')
})

test('a stripe beyond the jump is declined, and no stripe moves the counter of a chip', async () => {
  const card = await issuePhysical()
  assert.equal((await insert(card, '00', 10)).code, '00')
  const { code, found } = await decide(card, await contactless(card, 111))
  assert.equal(code, '88')
  assert.deepEqual(found.card_value?.findings, ['atc_jump'])
  assert.equal((await decide(card, await contactless(card, 110))).code, '00')
  assert.equal((await insert(card, '00', 11)).code, '00')
})

test('after ten wrong values of a stripe, even the right one is not compared', async () => {
  const card = await issuePhysical()
  const track2 = await makeTrack(service, card)
  const wrong = { track2: withWrongValue(track2) }
  for (let n = 0; n < 9; n += 1) assert.equal((await decide(card, wrong)).code, '88')
  assert.equal((await decide(card, { track2 })).code, '00')
  assert.equal((await decide(card, wrong)).code, '88')
  const { code, found } = await decide(card, { track2 })
  assert.equal(code, '88')
  assert.deepEqual(found.card_value?.findings, ['guessing'])
  assert.equal((await decide(card, await contactless(card, 1))).code, '88')
  const chip = await playChip(service, card, 'visa-cvn18', '00')
  const inserted = {
    ...chipMoney,
    entryMode: 'chip',
    chip: await chip.present({ atc: 2 }),
    track2: await makeTrack(service, card, '201', '999'),
  }
  assert.equal((await decide(card, inserted)).code, '00', 'the chip works on')
  const cavv = await makeCavv(service, card)
  assert.equal((await decide(card, { entryMode: 'ecommerce', cavv })).code, '00')
  await sql(
    service.database,
    `update card_mistake set given_at = array(select at - 86400000000 from unnest(given_at) as at)
     where public_token = $1`,
    [card.publicToken],
  )
  assert.equal((await decide(card, { track2 })).code, '00', 'a day later')
})

test('after ten wrong CAVVs, even the right one is not compared', async () => {
  const card = await issueCard(service)
  const cavv = await makeCavv(service, card)
  const wrong = { entryMode: 'ecommerce', cavv: withWrongCavv(cavv) }
  for (let n = 0; n < 10; n += 1) assert.equal((await decide(card, wrong)).code, '88')
  const { code, found } = await decide(card, { entryMode: 'ecommerce', cavv })
  assert.equal(code, '88')
  assert.deepEqual(found.cavv?.findings, ['guessing'])
})

test('neither an iCVV nor a CVV2 is the CVV of a swipe', async () => {
  const card = await issuePhysical()
  for (const serviceCode of ['999', '000']) {
    const track2 = await makeTrack(service, card, serviceCode)
    assert.equal((await decide(card, { track2 })).code, '88')
  }
})

test('a track without a value is of the card, and declined as a wrong value is', async () => {
  const card = await issuePhysical()
  const named = { publicToken: card.publicToken }
  const yymm = card.expiry.slice(2, 4) + card.expiry.slice(5)
  const short = { track2: `${card.pan}=${yymm}101` }
  const ofOther = { track2: `${(await issuePhysical()).pan}=${yymm}101` }
  const expired = { track2: `${card.pan}=2001101` }
  const decideNamed = (track: object, entryMode = 'magstripe') =>
    decide(card, { ...named, pan: undefined, ...track, entryMode })
  for (const entryMode of ['magstripe', 'contactless']) {
    for (const track of [short, ofOther, expired]) {
      const { code, reason } = await decideNamed(track, entryMode)
      assert.deepEqual([code, reason], ['88', 'wrong_card_value'])
    }
  }
  await setPolicy('wrongCardValue', 'record')
  const recorded = await decideNamed(short)
  assert.deepEqual([recorded.code, recorded.found.card_value?.result], ['00', 'not_given'])
  const wrongOfOther = { track2: withWrongValue(await makeTrack(service, await issuePhysical())) }
  for (const track of [ofOther, expired, wrongOfOther]) {
    const { code, found } = await decideNamed(track)
    assert.equal(code, '88')
    assert.deepEqual(found.card_value?.findings, ['data_disagreement'])
  }
  await setPolicy('wrongCardValue', 'decline')
})

test('a CAVV is approved for several authorizations of its purchase', async () => {
  const card = await issueCard(service)
  const cavv = await makeCavv(service, card)
  for (let n = 0; n < 2; n += 1) {
    assert.equal((await decide(card, { entryMode: 'ecommerce', cavv })).code, '00')
  }
})

test('of 20 copies of a contactless stripe at once, one is approved', async () => {
  const card = await issuePhysical()
  const track2 = await makeContactlessTrack(service, card, 3)
  const copies = Array.from({ length: 20 }, () =>
    ask(service, { pan: card.pan, entryMode: 'contactless', track2 }),
  )
  const codes = (await Promise.all(copies)).map(({ json }) => json.responseCode)
  assert.equal(codes.filter((code) => code === '00').length, 1)
  assert.equal(codes.filter((code) => code === '88').length, 19)
})

test('a CAVV passes for its card, virtual ones included, and no other passes', async () => {
  const card = await issueCard(service)
  const cavv = await makeCavv(service, card)
  const online = { entryMode: 'ecommerce' }
  const passed = await decide(card, { ...online, cavv })
  assert.equal(passed.code, '00')
  assert.equal(passed.found.cavv?.result, 'passed')
  let other = cavv
  // One card of a thousand has the same value.
  while (other === cavv) other = await makeCavv(service, await issueCard(service))
  for (const wrong of [other, withWrongCavv(cavv), 'A'.repeat(40)]) {
    const declined = await decide(card, { ...online, cavv: wrong })
    assert.equal(declined.code, '88')
    assert.equal(declined.found.cavv?.result, 'failed')
  }
})

test('a wrong value is recorded only, where the product says so', async () => {
  await setPolicy('wrongCardValue', 'record')
  const card = await issuePhysical()
  const track2 = withWrongValue(await makeTrack(service, card))
  const swiped = await decide(card, { track2 })
  assert.equal(swiped.code, '00')
  assert.deepEqual(swiped.found.card_value?.findings, ['wrong_card_value'])
  const online = await decide(card, { entryMode: 'ecommerce', cavv: 'A'.repeat(40) })
  assert.equal(online.code, '00')
  assert.deepEqual(online.found.cavv?.findings, ['wrong_cavv'])
  await setPolicy('wrongCardValue', 'decline')
})

test('what cannot be track 2 is refused, and a track or fallback where no card was', async () => {
  const card = await issuePhysical()
  const { pan } = card
  const track2 = await makeTrack(service, card)
  const members: object[] = [
    { track2: `${otherDigits(pan)}=3011201` },
    { track2: '1' },
    { fallback: true },
  ]
  for (const entryMode of ['moto', 'ecommerce']) {
    members.push({ entryMode, track2 }, { entryMode, fallback: true })
  }
  for (const each of members) {
    assert.equal((await ask(service, { pan, ...each })).status, 422, JSON.stringify(each))
  }
})

test('a swipe without a track is declined as a wrong value is, and costs no try', async () => {
  const card = await issuePhysical()
  const wrongPin = { pinBlock: pinBlock(service, { ...card, pin: otherDigits(card.pin) }) }
  const swiped = await decide(card, wrongPin)
  assert.deepEqual([swiped.code, swiped.reason], ['88', 'wrong_card_value'])
  assert.equal(swiped.json.pin.result, 'not_checked')
  const cashed = await decide(card, { ...wrongPin, entryMode: 'atm', fallback: true })
  assert.deepEqual([cashed.code, cashed.reason], ['57', 'fallback_not_allowed'])
  assert.equal(cashed.json.pin.remainingTries, swiped.json.pin.remainingTries)
  await setPolicy('fallback', 'record')
  assert.equal((await decide(card, { fallback: true })).code, '88', 'the value is missing, too')
  await setPolicy('wrongCardValue', 'record')
  const { code, found } = await decide(card, { fallback: true })
  assert.equal(code, '00')
  assert.deepEqual(found.chip?.findings, ['fallback'])
  assert.deepEqual(found.card_value?.findings, ['data_missing'])
  await setPolicy('wrongCardValue', 'decline')
  await setPolicy('fallback', 'decline')
})

test('a contactless stripe does not pass with a static CVV where its profile has no other', async () => {
  const [common] = demoProducts
  assert.ok(common)
  await product(service.database, { ...common, productId: 9040 })
  const setChip = (chip: object) =>
    sql(service.database, 'update product set chip = $1::jsonb where product_id = 9040', [
      JSON.stringify({ profile: 'cpa', ...usualChip, ...chip }),
    ])
  await setChip({})
  const card = await issueCard(service, {
    cardType: 'Physical',
    cardProduct: 9040,
    activateNow: true,
  })
  const track2 = await makeTrack(service, card)
  assert.equal((await decide(card, { track2 })).code, '00', 'a swipe has a static CVV')
  const declined = await decide(card, { track2, entryMode: 'contactless' })
  assert.deepEqual([declined.code, declined.found.card_value?.result], ['88', 'not_given'])
  await setChip({ wrongCardValue: 'record' })
  const recorded = await decide(card, { track2, entryMode: 'contactless' })
  assert.deepEqual([recorded.code, recorded.found.card_value?.result], ['00', 'not_given'])
})
