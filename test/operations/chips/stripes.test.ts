import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ask, type IssuedCard, issueCard, otherDigits, pinBlock } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { makeCavv, makeContactlessTrack, makeTrack } from '../../support/stripes.ts'

let service: TestService
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

const issuePhysical = (): Promise<IssuedCard> =>
  issueCard(service, { cardType: 'Physical', activateNow: true })

type RecordedCheck = { check: string; result: string; findings?: string[] }

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
  const checks: RecordedCheck[] = JSON.parse(row?.checks ?? '[]')
  const found = Object.fromEntries(checks.map((each) => [each.check, each] as const))
  return { code: json.responseCode, json, found }
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

test('the track of a chip has an iCVV, which a swipe cannot use', async () => {
  await setPolicy('missingData', 'record')
  const card = await issuePhysical()
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
  const contactless = { entryMode: 'contactless' }
  const first = { ...contactless, track2: await makeContactlessTrack(service, card, 7) }
  const passed = await decide(card, first)
  assert.equal(passed.code, '00')
  assert.equal(passed.found.card_value?.result, 'passed')
  assert.equal((await decide(card, first)).code, '88')
  const next = { ...contactless, track2: await makeContactlessTrack(service, card, 8) }
  assert.equal((await decide(card, { ...next, track2: withWrongValue(next.track2) })).code, '88')
  assert.equal((await decide(card, next)).code, '00')
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
  const other = await makeCavv(service, await issueCard(service))
  for (const wrong of [other, cavv.replace('7993', '7994'), 'A'.repeat(40)]) {
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

test('what cannot be track 2 is refused, and fallback needs a track', async () => {
  const { pan } = await issuePhysical()
  const members = [{ track2: `${otherDigits(pan)}=3011201` }, { track2: '1' }, { fallback: true }]
  for (const each of members) {
    assert.equal((await ask(service, { pan, ...each })).status, 422)
  }
})
