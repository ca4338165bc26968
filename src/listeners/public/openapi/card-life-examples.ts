const convertedCard = {
  publicToken: '4820117360',
  customerReference: 'C-1',
  cardType: 'Physical',
  cardProduct: 1001,
  embossName: 'ANA LIM',
  maskedPan: '400000******1234',
  startDate: '2026-11-20',
  expiryDate: '2030-11-30',
  status: 'Active',
  cardStatusCode: '00',
  cardStatusDescription: 'Active',
}

const renewalJob = {
  jobId: '01a207f1-05bc-71f8-97ce-911aef6582b9',
  productId: 1001,
  expiringBefore: '2026-12-31',
  dryRun: true,
  status: 'Running',
  due: 1200,
  ordered: 1180,
  refused: { renewal_not_due: 20 },
  requestedAt: '2026-11-20T08:00:00.000Z',
  finishedAt: null,
}

/** A body for each operation on the life of a card, by `operationId`. */
export const cardLifeBodies: Readonly<Record<string, object>> = {
  renewCard: { renewStep: 'Renew' },
  convertCard: { cardType: 'Physical' },
  shipPlastic: {},
  deliverPlastic: {},
  returnPlastic: {},
}

/** An answer of each operation on the life of a card, by `operationId`. */
export const cardLifeAnswers: Readonly<Record<string, unknown>> = {
  replaceCard: {
    ...convertedCard,
    publicToken: '7391846205',
    maskedPan: '400000******5678',
    status: 'Inactive',
    cardStatusCode: '02',
    cardStatusDescription: 'Inactive',
    replacementFor: convertedCard.publicToken,
    pinMoved: true,
  },
  convertCard: {
    ...convertedCard,
    pinStatus: { status: 'Unblocked', description: 'The PIN can be used.', remainingTries: 3 },
    cvvStatus: { status: 'Unblocked', description: 'The CVV can be used.', remainingTries: 3 },
    createdAt: '2026-11-20T08:00:00.000Z',
    retired: false,
    renewalType: 'Manual',
    metadata: { costCentre: '4711' },
  },
  requestRenewals: renewalJob,
  findRenewals: renewalJob,
}
