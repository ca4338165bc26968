import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCurrency, isCurrencyCode } from '../../src/domain/currencies.ts'

/** Of ISO 4217, list one, as its maintenance agency publishes it. */
const known = {
  EUR: ['978', 2],
  USD: ['840', 2],
  GBP: ['826', 2],
  CHF: ['756', 2],
  AUD: ['036', 2],
  ALL: ['008', 2],
  MGA: ['969', 2],
  MRU: ['929', 2],
  XCG: ['532', 2],
  JPY: ['392', 0],
  KRW: ['410', 0],
  ISK: ['352', 0],
  CLP: ['152', 0],
  VND: ['704', 0],
  XOF: ['952', 0],
  KWD: ['414', 3],
  BHD: ['048', 3],
  TND: ['788', 3],
  OMR: ['512', 3],
  CLF: ['990', 4],
  UYW: ['927', 4],
} as const

test('a currency is found by its code and its number, with its exponent', () => {
  for (const [code, [number, exponent]] of Object.entries(known)) {
    const currency = { code, number, exponent }
    assert.deepEqual(findCurrency(code), currency)
    assert.deepEqual(findCurrency(number), currency)
  }
})

test('a withdrawn currency, a metal and a code for tests are no currencies', () => {
  for (const code of ['DEM', 'HRK', 'BGN', 'ANG', 'XAU', 'XTS', 'XXX', 'ZZZ', 'eur', 'EURO', '']) {
    assert.equal(findCurrency(code), null, code)
    assert.equal(isCurrencyCode(code), false, code)
  }
  assert.equal(isCurrencyCode('978'), false)
})

test('a code without a smallest unit is no currency, because no amount could be in it', () => {
  const codes = 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' ')
  const numbers = '961 959 955 956 957 958 960 964 962 994 963 965 999'.split(' ')
  for (const code of [...codes, ...numbers]) assert.equal(findCurrency(code), null, code)
})

/** Funds and units of account, which ICU lists by no country. */
const funds = 'BOV CHE CHW CLF COU MXV USN UYI UYW VED XAD'.split(' ')

test('every currency is one that ICU knows or a fund, and no number is there twice', () => {
  const unicode = Intl.supportedValuesOf('currency')
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at))
  const codes = letters
    .flatMap((first) => letters.flatMap((second) => letters.map((third) => first + second + third)))
    .filter(isCurrencyCode)
  const unknown = codes.filter((code) => !unicode.includes(code))
  const numbers = new Set(codes.map((code) => findCurrency(code)?.number))
  assert.equal(numbers.size, codes.length)
  for (const code of unknown) assert(funds.includes(code), code)
})
