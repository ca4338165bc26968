import { toTransaction } from '../../../src/domain/transaction.ts'

/** A purchase with everything that is recorded of one. */
export const bakery = toTransaction({
  amount: 1234,
  currency: 'EUR',
  transactionType: 'cashback',
  merchant: {
    id: 'SHOP-1',
    terminalId: 'TERM0001',
    name: 'Corner Bakery',
    city: 'Madrid',
    country: 'ESP',
    categoryCode: '5462',
  },
  networkTransactionId: '123456789012345',
})
