import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTrack2 } from '../../src/domain/stripe.ts'
import {
  completeAtc,
  readCardValue,
  readDynamicValue,
  stripeProfiles,
} from '../../src/domain/stripe-profile.ts'

const visa = stripeProfiles['visa-cvn18']
const mastercard = stripeProfiles['mastercard-20']

function trackOf(discretionary: string) {
  const track2 = parseTrack2(`4000001234567899=3011201${discretionary}`)
  assert(track2)
  return track2
}

test('a CVV follows five digits of PIN verification data', () => {
  assert.equal(readCardValue(visa, trackOf('1123498700000')), '987')
  assert.equal(readCardValue(visa, trackOf('1123498')), null)
})

test('the track of a Visa contactless stripe has the value and the counter', () => {
  assert(visa.dynamic)
  assert.deepEqual(readDynamicValue(visa.dynamic, trackOf('1123498700421')), {
    kind: 'dcvv',
    value: '987',
    atcDigits: '0042',
  })
  assert.equal(readDynamicValue(visa.dynamic, trackOf('11234987')), null)
})

test('the track of a Mastercard contactless stripe has the digits where its bitmaps say', () => {
  assert(mastercard.dynamic)
  // Static digits, counter 094, number 899, value 488, and the length of the number.
  const read = readDynamicValue(mastercard.dynamic, trackOf('7770948994883'))
  assert(read?.kind === 'cvc3')
  assert.deepEqual([read.value, read.atcDigits], ['488', '094'])
  assert.equal(Buffer.from(read.unpredictableNumber).toString('hex'), '00000899')
  const stored = Buffer.from(read.track).toString('hex').toUpperCase()
  assert.equal(stored, '4000001234567899D30112017770000000000F')
  assert.equal(readDynamicValue(mastercard.dynamic, trackOf('12345')), null)
})

test('a counter of few digits is completed to the only one within the bounds', () => {
  const complete = (atcDigits: string, highestAtc: number, kind: 'cvc3' | 'dcvv' = 'cvc3') =>
    completeAtc({ atcDigits, kind }, { highestAtc, atcWindow: 16, atcJump: 100 })
  assert.equal(complete('094', 0), 94)
  assert.equal(complete('094', 90), 94)
  assert.equal(complete('094', 94), 94)
  assert.equal(complete('094', 110), 94)
  assert.equal(complete('094', 1_000), 1_094)
  assert.equal(complete('094', 200), 'too_low')
  assert.equal(complete('494', 200), 'too_high')
  assert.equal(complete('994', 200), 'too_high')
  assert.equal(complete('042', 30_050), 30_042)
  assert.equal(complete('636', 65_500), 'too_high')
})

test('the counter of a dynamic CVV is never completed', () => {
  const complete = (atcDigits: string, highestAtc: number) =>
    completeAtc({ atcDigits, kind: 'dcvv' }, { highestAtc, atcWindow: 63, atcJump: 65_535 })
  assert.equal(complete('0042', 0), 42)
  assert.equal(complete('0005', 100), 'too_low')
  assert.equal(complete('0042', 30_050), 'too_low')
})
