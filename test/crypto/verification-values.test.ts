import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { generateCvv } from '../../src/crypto/cvv.ts'
import { generateDynamicCvv } from '../../src/crypto/dcvv.ts'
import { deriveCardKey } from '../../src/crypto/emv-keys.ts'
import { decimaliseInTwoPasses, generatePvv } from '../../src/crypto/pvv.ts'
import { areEqualDigits } from '../../src/crypto/refusal.ts'
import { clearBlockKey, clearCvkPair } from '../reference/keys.ts'
import { bytes, cases, digits, fewerCases, pins, refusedLater } from './arbitraries.ts'

test('decimalization of eight bytes is never short, whatever they are', () => {
  fc.assert(
    fc.property(bytes(8), (ciphertext) => {
      assert.match(decimaliseInTwoPasses(ciphertext), /^[0-9]{16}$/)
    }),
    cases,
  )
})

test('decimalization takes a second pass when there are letters only', () => {
  assert.equal(decimaliseInTwoPasses(Buffer.from('ffeeddccbbaaabcd', 'hex')), '5544332211000123')
  assert.equal(decimaliseInTwoPasses(Buffer.from('fffffffff1ffff2f', 'hex')).slice(0, 3), '125')
})

test('a CVV has all its digits and a PVV four, whatever key and card', () =>
  fc.assert(
    fc.asyncProperty(
      bytes(16),
      digits(12, 19),
      digits(4, 4),
      fc.integer({ min: 1, max: 16 }),
      pins,
      async (key, pan, expiry, length, pin) => {
        const inputs = { pan, expiry, serviceCode: '000', length }
        const cvv = await generateCvv(clearCvkPair(key), inputs)
        assert.match(cvv, /^[0-9]+$/)
        assert.equal(cvv.length, length)
        const pvk = clearBlockKey('TDES', key)
        assert.match(await generatePvv(pvk, { pan, pvki: '1', pin }), /^[0-9]{4}$/)
      },
    ),
    fewerCases,
  ))

test('a PVV sees the first four PIN digits and no more', async () => {
  const key = clearBlockKey('TDES', Buffer.from('0123456789abcdeffedcba9876543210', 'hex'))
  const pvvOf = (pin: string) => generatePvv(key, { pan: '1122334455667788', pvki: '1', pin })
  await fc.assert(
    fc.asyncProperty(pins, async (pin) =>
      assert.equal(await pvvOf(pin), await pvvOf(pin.slice(0, 4))),
    ),
    fewerCases,
  )
  await refusedLater('pvv_refused', () => pvvOf('123'))
  await refusedLater('pvv_refused', () => pvvOf('1234567890123'))
})

test('a CVV of no digits, of seventeen or of half a digit is refused', async () => {
  for (const length of [0, -1, 17, 2.5, Number.NaN]) {
    const inputs = { pan: '4000001234567899', expiry: '3011', serviceCode: '000', length }
    await refusedLater('cvv_refused', () => generateCvv(clearCvkPair(Buffer.alloc(16)), inputs))
  }
})

test('digits are compared whole', () => {
  assert.ok(areEqualDigits('0123', '0123'))
  for (const other of ['0124', '012', '01234', '']) assert.ok(!areEqualDigits('0123', other))
})

// jPOS, JCESecurityModuleTest: testVerifyDCVVImpl1 and 2.
test('a dynamic CVV is the one that another library computes', async () => {
  const issuerKey = clearBlockKey('TDES', Buffer.from('12345678'.repeat(4), 'hex'))
  for (const [pan, expected] of [
    ['1234567890123456', '422'],
    ['123456789012', '719'],
  ] as const) {
    const cardKey = await deriveCardKey('A', issuerKey, { pan, panSequenceNumber: '00' })
    const inputs = { pan, expiry: '1310', serviceCode: '226', atc: '3210' }
    assert.equal(await generateDynamicCvv(cardKey, inputs), expected)
    await refusedLater('cvv_refused', () => generateDynamicCvv(cardKey, { ...inputs, atc: '321' }))
  }
})
