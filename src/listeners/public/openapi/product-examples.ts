/** An answer of each operation on products, by `operationId`. */
export const productAnswers: Readonly<Record<string, unknown>> = {
  listProducts: [
    {
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
      renewalType: 'Manual',
      renewalEarliestDays: 90,
      renewalLeadDays: 45,
      renewalGraceMonths: 3,
      renewalNoticeDays: [60, 30],
    },
  ],
}
