import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareAddress } from '../../src/domain/address-check.ts'

const stored = { postCode: '28013', addressLine1: 'Calle Mayor 12, 3º B' }
const compare = (postalCode: string, own = stored.postCode) =>
  compareAddress({ postalCode }, { ...stored, postCode: own }).postalCode
const compareLine = (addressLine: string, own = stored.addressLine1) =>
  compareAddress({ addressLine }, { ...stored, addressLine1: own }).addressLine

test('a postal code matches whatever its spaces, dashes and capitals are', () => {
  for (const [one, other] of [
    ['28013', '28013'],
    ['SW1A 1AA', 'sw1a1aa'],
    ['12345-6789', '123456789'],
    ['12345', '12345-6789'],
    ['12345-6789', '12345'],
  ] as const) {
    assert.equal(compare(one, other), 'match', `${one} ${other}`)
  }
  for (const [one, other] of [
    ['28014', '28013'],
    ['2801', '28013'],
    ['SW1A', 'SW1A1AA'],
    ['12346', '12345-6789'],
    ['-', '28013'],
  ] as const) {
    assert.equal(compare(one, other), 'mismatch', `${one} ${other}`)
  }
})

test('an address line matches by its first five digits, or as a whole without digits', () => {
  for (const [one, other] of [
    ['123', stored.addressLine1],
    ['CALLE MAYOR 12 3', stored.addressLine1],
    ['Rose Cottage', 'rose cottage'],
    ['1234567', '12345 Long Road 6'],
  ] as const) {
    assert.equal(compareLine(one, other), 'match', one)
  }
  for (const [one, other] of [
    ['12', '13 Main Street'],
    ['Rose Cottage', stored.addressLine1],
    ['Rose Cottage', 'Rose House'],
    [' ', 'Rose House'],
  ] as const) {
    assert.equal(compareLine(one, other), 'mismatch', one)
  }
})

test('what was not given, or cannot be read, is not checked', () => {
  const none = { postalCode: 'not_checked', addressLine: 'not_checked' }
  assert.deepEqual(compareAddress({}, stored), none)
  assert.deepEqual(compareAddress({ postalCode: '28013', addressLine: '12' }, null), none)
})
