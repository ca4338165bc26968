import assert from 'node:assert/strict'
import test from 'node:test'
import { makeProductId } from '../../src/domain/identifiers.ts'
import {
  type Product,
  type ProductDraft,
  parseCardType,
  productFaults,
} from '../../src/domain/product.ts'
import { usualChip } from '../../src/domain/product-chip.ts'

const valid: Product = {
  productId: makeProductId(1001),
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
  renewalType: 'Manual',
  renewalEarliestDays: 90,
  renewalLeadDays: 45,
  renewalGraceMonths: 3,
  active: true,
  cvk: 'cvk-1',
  pvk: 'pvk-1',
  chip: null,
}

const faultyMembers = (changes: ProductDraft): readonly string[] =>
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
  const faulty: readonly ProductDraft[] = [
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
    { renewalType: 'automatic' },
    { renewalEarliestDays: 367 },
    { renewalLeadDays: -1 },
    { renewalLeadDays: 91 },
    { renewalGraceMonths: 13 },
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

test('each fault is told in words that say what would be right', () => {
  const told = (changes: ProductDraft) =>
    productFaults({ ...valid, ...changes }).map(({ detail, pointer }) => `${pointer} ${detail}`)
  const unwritable = 'must have no control characters'
  const tries = 'must be a whole number from 1 to 15'
  const faults: readonly (readonly [ProductDraft, string])[] = [
    [{ productId: 2 ** 31 }, '/productId must be a whole number from 1 to 2147483647'],
    [{ productName: 'x'.repeat(51) }, '/productName must have 1 to 50 characters'],
    [
      { productName: 'a\tb' },
      `/productName ${unwritable}, no unpaired surrogates and no card number in it`,
    ],
    [{ schemeName: '' }, '/schemeName must have 1 to 30 characters'],
    [
      { schemeName: 'Ho\tuse' },
      `/schemeName ${unwritable}, no unpaired surrogates and no card number in it`,
    ],
    [{ currencyCode: 'EURO' }, '/currencyCode must be an ISO 4217 code, such as EUR'],
    [
      { cardTypes: ['Virtual', 'Paper'] },
      '/cardTypes must name Physical, Virtual or both, each once',
    ],
    [{ validityMonths: 241 }, '/validityMonths must be a whole number from 1 to 240'],
    [{ pinLength: 13 }, '/pinLength must be a whole number from 4 to 12'],
    [
      { pinLength: 5, pinRevealable: false },
      '/pinLength must be 4 if the PIN is not revealable, because a PVV sees four digits only',
    ],
    [{ pinTryLimit: 16 }, `/pinTryLimit ${tries}`],
    [{ cvvTryLimit: 0 }, `/cvvTryLimit ${tries}`],
    [{ bin: '4000', schemeName: 'House' }, '/bin must be 6 or 8 digits'],
    [{ bin: '510000' }, '/bin must be in a range of the scheme whose PANs have 16 digits'],
    [{ cvk: '' }, '/cvk must name a key'],
    [{ pvk: '' }, '/pvk must name a key'],
    [{ renewalType: 'automatic' }, '/renewalType must be Manual or Automatic'],
    [{ renewalEarliestDays: 367 }, '/renewalEarliestDays must be a whole number from 0 to 366'],
    [{ renewalLeadDays: 367 }, '/renewalLeadDays must be a whole number from 0 to 366'],
    [{ renewalLeadDays: 91 }, '/renewalLeadDays must be at most renewalEarliestDays'],
    [{ renewalGraceMonths: 13 }, '/renewalGraceMonths must be a whole number from 0 to 12'],
    [
      { cardTypes: ['Virtual'], chip: { profile: 'cpa', ...usualChip } },
      '/chip must be null unless cardTypes names Physical: only physical cards have a chip',
    ],
  ]
  for (const [changes, fault] of faults) assert.deepEqual(told(changes), [fault])
})

test('what is not of its type, or not there, is left to the schema: no rule is asked of it', () => {
  for (const [strange, faults] of [
    [null, []],
    [7n, []],
    [{}, ['/chip/profile']],
    [[], ['/cardTypes']],
    [undefined, []],
  ]) {
    const draft = Object.fromEntries(Object.keys(valid).map((member) => [member, strange]))
    assert.deepEqual(
      productFaults(draft).map(({ pointer }) => pointer),
      faults,
    )
  }
  assert.deepEqual(productFaults({ ...valid, cardTypes: ['Virtual', 7] }), [])
  assert.deepEqual(productFaults({ ...valid, cardTypes: 'Virtual' }), [])
  // A rule over two members needs both.
  assert.deepEqual(productFaults({ pinLength: 6 }), [])
  assert.deepEqual(productFaults({ bin: '510000' }), [])
})

test('a chip has a profile of its scheme; cpa and a scheme without published ranges fit any', () => {
  const find = (profile: string, schemeName: string) =>
    productFaults({ chip: { profile }, schemeName }).map(({ pointer }) => pointer)
  assert.deepEqual(find('visa-cvn18', 'Mastercard'), ['/chip/profile'])
  assert.deepEqual(find('mastercard-16', 'visa'), ['/chip/profile'])
  for (const [profile, scheme] of [
    ['visa-cvn18', 'Visa'],
    ['mastercard-20', 'Mastercard'],
    ['cpa', 'Mastercard'],
    ['visa-cvn18', 'House Card'],
  ] as const) {
    assert.deepEqual(find(profile, scheme), [], `${profile}, ${scheme}`)
  }
})
