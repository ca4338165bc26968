import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { parseCavv, parseTrack2 } from '../../src/domain/stripe.ts'

const track = '4000001234567899=30112011234567890123'
// The Visa CAVV of go-cavv's tests.
const cavv = '0700010972799396022310347279930000000000'

test('track 2 is read with either separator, and printed as a mask', () => {
  for (const text of [track, track.replace('=', 'D'), `${track.replace('=', 'D')}F`]) {
    const parsed = parseTrack2(text)
    assert.ok(parsed)
    const { pan, ...others } = parsed.reveal()
    assert.equal(pan.reveal(), '4000001234567899')
    assert.deepEqual(others, {
      expiry: '3011',
      serviceCode: '201',
      discretionary: '1234567890123',
    })
    assert.equal(`${parsed}${JSON.stringify(parsed)}${inspect(parsed)}`, '****"****"****')
  }
})

test('track 2 of another form is not read', () => {
  const others = ['', track.slice(0, 20), track.replace('=', '^'), `${track}00`, ` ${track}`]
  for (const text of others) assert.equal(parseTrack2(text), null)
})

test('a CAVV is read in its parts, and printed as a mask', () => {
  const parsed = parseCavv(cavv)
  assert.deepEqual(parsed.reveal(), {
    keyVersion: 1,
    unpredictableNumber: '7993',
    authenticationResult: '700',
    value: '972',
  })
  assert.equal(`${parsed}${JSON.stringify(parsed)}${inspect(parsed)}`, '****"****"****')
  for (const text of ['', cavv.slice(2), `${cavv}00`, cavv.replace('0972', 'A972')]) {
    assert.equal(parseCavv(text).reveal(), null)
  }
})
