import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AMOUNT_MAX, formatMoney, parseMoney } from '../../src/domain/money.ts'

for (const [text, currency, amount] of [
  ['12.34', 'EUR', 1234],
  ['12.3', 'EUR', 1230],
  ['12', 'EUR', 1200],
  ['0', 'EUR', 0],
  ['0.05', 'EUR', 5],
  ['1234', 'JPY', 1234],
  ['1.234', 'KWD', 1234],
  ['9999999999.99', 'EUR', AMOUNT_MAX],
] as const) {
  test(`${text} ${currency} is ${amount} of its smallest unit`, () => {
    assert.deepEqual(parseMoney(text, currency), { amount, currency })
  })
}

test('a text that is no amount of its currency is refused', () => {
  for (const [text, currency] of [
    ['12.345', 'EUR'],
    ['1.0', 'JPY'],
    ['-1', 'EUR'],
    ['+1', 'EUR'],
    ['1,00', 'EUR'],
    ['1.', 'EUR'],
    ['.5', 'EUR'],
    ['1e3', 'EUR'],
    ['', 'EUR'],
    ['10000000000', 'EUR'],
    ['1', 'XXX'],
  ] as const) {
    assert.equal(parseMoney(text, currency), null, `${text} ${currency}`)
  }
})

test('an amount that is formatted is read again as the same', () => {
  const currencies = fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF')
  fc.assert(
    fc.property(fc.integer({ min: 0, max: AMOUNT_MAX }), currencies, (amount, currency) => {
      const [text = '', code = ''] = formatMoney({ amount, currency }).split(' ')
      assert.deepEqual(parseMoney(text, code), { amount, currency })
    }),
  )
  assert.equal(formatMoney({ amount: 5, currency: 'EUR' }), '0.05 EUR')
  assert.equal(formatMoney({ amount: 5, currency: 'JPY' }), '5 JPY')
})
