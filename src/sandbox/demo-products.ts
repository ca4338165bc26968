import type { Product } from '../domain/product.ts'

/** What every demo product has in common unless it says otherwise. */
const common = {
  schemeName: 'Visa',
  currencyCode: 'EUR',
  cardTypes: ['Physical', 'Virtual'],
  validityMonths: 48,
  pinLength: 4,
  pinRevealable: true,
  pinTryLimit: 3,
  cvvTryLimit: 3,
  refuseWeakPins: true,
  active: true,
  cvk: 'cvk',
  pvk: 'pvk',
} as const

/** Products of the sandbox's first client, one for each way a PIN can be kept. */
export const demoProducts: readonly Product[] = [
  { ...common, productId: 1001, productName: 'Everyday Debit', bin: '400000' },
  {
    ...common,
    productId: 1002,
    productName: 'Sealed PIN Debit',
    bin: '40000110',
    pinRevealable: false,
  },
  {
    ...common,
    productId: 1003,
    productName: 'Six-Digit Travel',
    bin: '400002',
    currencyCode: 'USD',
    cardTypes: ['Virtual'],
    validityMonths: 36,
    pinLength: 6,
    pinTryLimit: 5,
  },
]

/** The product of the other client, which the first one must never see. */
export const otherClientProduct: Product = {
  ...common,
  productId: 2001,
  productName: 'Other Client Debit',
  bin: '400003',
}
