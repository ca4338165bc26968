import assert from 'node:assert/strict'
import test from 'node:test'
import { isCountryCode } from '../../src/domain/free-text.ts'
import { isCurrencyCode } from '../../src/domain/product.ts'

test('a country is its alpha-3 code in capitals', () => {
  for (const code of ['DEU', 'GBR', 'MYS', 'SSD', 'XKX']) assert.ok(isCountryCode(code), code)
  for (const text of ['', 'DE', 'deu', 'XXX', 'ZZZ', 'DEU ', 'toString']) {
    assert.ok(!isCountryCode(text), text)
  }
})

test('a currency is three capital letters', () => {
  assert.ok(isCurrencyCode('EUR'))
  for (const text of ['', 'eur', 'EU', 'EURO', '978']) assert.ok(!isCurrencyCode(text))
})
