import assert from 'node:assert/strict'
import test from 'node:test'
import { type Product, parseCardType, productFaults } from '../../src/domain/product.ts'

const valid: Product = {
  productId: 1001,
  productName: 'Everyday Debit',
  schemeName: 'Visa',
  currencyCode: 'EUR',
  cardTypes: ['Physical', 'Virtual'],
  validityMonths: 48,
  pinLength: 4,
  pinRevealable: true,
  pinTryLimit: 3,
  cvvTryLimit: 3,
  bin: '400000',
  refuseWeakPins: true,
  active: true,
  cvk: 'cvk-1',
  pvk: 'pvk-1',
}

const faultyMembers = (changes: Partial<Product>): readonly string[] =>
  productFaults({ ...valid, ...changes }).map(({ pointer }) => pointer)

test('a valid product has no faults', () => {
  assert.deepEqual(productFaults(valid), [])
  assert.deepEqual(productFaults({ ...valid, bin: '40000012', pinLength: 12 }), [])
  assert.deepEqual(productFaults({ ...valid, pinRevealable: false }), [])
})

test('a PIN that cannot be shown has four digits, because a PVV sees no more', () => {
  assert.deepEqual(faultyMembers({ pinRevealable: false, pinLength: 6 }), ['/pinLength'])
})

test('each member is held to its bounds', () => {
  const faulty: readonly Partial<Product>[] = [
    { productId: 0 },
    { productId: 1.5 },
    { productName: '' },
    { schemeName: 'x'.repeat(31) },
    { currencyCode: 'eur' },
    { cardTypes: [] },
    { cardTypes: ['Virtual', 'Virtual'] },
    { validityMonths: 0 },
    { pinLength: 3 },
    { pinLength: 13 },
    { pinTryLimit: 0 },
    { pinTryLimit: 16 },
    { cvvTryLimit: 16 },
    { bin: '4000000', schemeName: 'House' },
    { cvk: '' },
    { pvk: '' },
  ]
  for (const changes of faulty) {
    const [member] = Object.keys(changes)
    assert.deepEqual(faultyMembers(changes), [`/${member}`])
  }
})

test('a BIN lies in a published range of its scheme; other schemes may use any', () => {
  assert.deepEqual(faultyMembers({ bin: '510000' }), ['/bin'])
  assert.deepEqual(faultyMembers({ bin: '222300', schemeName: 'Mastercard' }), [])
  assert.deepEqual(faultyMembers({ bin: '340000', schemeName: 'Amex' }), ['/bin'])
  assert.deepEqual(faultyMembers({ bin: '999999', schemeName: 'House' }), [])
})

test('all faults are told at once', () => {
  assert.deepEqual(faultyMembers({ pinLength: 99, pinTryLimit: 0, cvk: '' }), [
    '/pinLength',
    '/pinTryLimit',
    '/cvk',
  ])
})

test('a type of card is taken in any case, and no other word is', () => {
  assert.equal(parseCardType('PHYSICAL'), 'Physical')
  assert.equal(parseCardType('virtual'), 'Virtual')
  assert.equal(parseCardType('Virtual '), null)
  assert.equal(parseCardType(''), null)
})
