const publicToken = '4820117360'
const createdAt = '2026-11-20T08:00:00.000Z'
const pinStatus = { status: 'Unblocked', description: 'The PIN can be used.', remainingTries: 3 }
const cvvStatus = { status: 'Unblocked', description: 'The CVV can be used.', remainingTries: 3 }
const validity = { startDate: '2026-11-20', expiryDate: '2030-11-30' }
const cardStatus = { status: 'Active', cardStatusCode: '00', cardStatusDescription: 'Active' }

const createdCard = {
  publicToken,
  customerReference: 'C-1',
  cardType: 'Virtual',
  cardProduct: 1001,
  embossName: 'ANA LIM',
  maskedPan: '400000******1234',
  ...validity,
  ...cardStatus,
}
const card = {
  ...createdCard,
  pinStatus,
  cvvStatus,
  createdAt,
  retired: false,
  renewalType: 'Manual',
  metadata: { costCentre: '4711' },
}

const webhookId = '5f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11'
const eventId = '0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11'
const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const webhook = {
  webhookId,
  url: 'https://client.example/pinfold',
  events: ['pin.blocked', 'cvv.blocked'],
  status: 'Enabled',
  createdAt,
}

const endpointVersion = {
  version: 3,
  url: 'https://client.example/decide',
  timeoutMs: 1000,
  maxInFlight: 100,
  fallback: { onTimeout: 'decline', onError: 'decline', rule: null },
  mode: 'enforce',
  sample: 100,
  format: 'pinfold',
  apiVersion: '2026-11-20',
  createdAt,
}
const signingKeys = [
  {
    keyId: 'dk_4kR0v1b2Q8xZ',
    publicKey: 'whpk_kNRgSd0vC2vD8sjDt7X1fHkIm2p9X2m0GkvqL9hX3eQ=',
    createdAt,
    signsUntil: null,
  },
]
const decisionId = '01a207f3-05bc-71f8-97ce-911aef6582b9'
const recordedDecision = {
  decisionId,
  purpose: 'authorize',
  publicToken,
  sequence: 7,
  authorizationId: '01a207f1-05bc-71f8-97ce-911aef6582b9',
  endpoint: { version: 3 },
  hold: { amount: 1234, currency: 'EUR' },
  askedAt: '2026-11-20T08:00:00.000Z',
  deadline: '2026-11-20T08:00:01.500Z',
  decidedAt: '2026-11-20T08:00:00.042Z',
  decidedBy: 'endpoint',
  decision: 'decline',
  reason: 'insufficient_funds',
  responseCode: '51',
  statusCode: 200,
  durationMs: 42,
}
const decisionWithRequest = {
  ...recordedDecision,
  request: {
    decisionId,
    purpose: 'authorize',
    simulated: false,
    deadline: '2026-11-20T08:00:01.500Z',
    requestedAt: '2026-11-20T08:00:00.000Z',
    sequence: 7,
    card: { publicToken, productId: 1001, customerReference: 'C-1', lastFour: '1234' },
    authorizationId: '01a207f1-05bc-71f8-97ce-911aef6582b9',
    step: 'authorization',
    transactionType: 'purchase',
    amounts: {
      transaction: { amount: 1234, currency: 'EUR' },
      hold: { amount: 1234, currency: 'EUR' },
    },
    partialAllowed: false,
    entryMode: 'chip',
    cardPresent: true,
    merchant: { id: '000000012345678', name: 'Corner Bakery', categoryCode: '5462' },
    network: { networkId: 'demo-network', reference: '512345678901' },
    checks: [{ check: 'card', result: 'passed' }],
    limits: [],
  },
}
const decisionEndpoint = {
  productId: null,
  draft: null,
  enforced: endpointVersion,
  previous: { ...endpointVersion, version: 2, timeoutMs: 1500 },
  shadow: null,
  degradedSince: null,
  changedAt: createdAt,
  signingKeys,
}

const paymentId = '01a207f1-05bc-71f8-97ce-911aef6582b9'
const messageId = '01a207f2-05bc-71f8-97ce-911aef6582b9'
const payment = {
  paymentId,
  publicToken,
  state: 'open',
  currency: 'EUR',
  approved: 1234,
  reversed: 234,
  cleared: 0,
  refunded: 0,
  open: 1000,
  openedBy: 'authorization',
  flagged: false,
  openedAt: createdAt,
  holdExpiresAt: '2026-11-27T08:00:00.000Z',
  transactionType: 'purchase',
  networkTransactionId: '123456789012345',
  reference: '512345678901',
  merchant: { name: 'Corner Bakery', categoryCode: '5462' },
}
const reversal = {
  messageId,
  message: 'reversal',
  effect: 'release',
  amount: 234,
  applied: 234,
  receivedAt: '2026-11-20T08:05:00.000000Z',
}
const virtualChip = {
  publicToken,
  panSequenceNumber: '00',
  profile: 'visa-cvn18',
  atc: 0,
  offlineTryLimit: 3,
  remainingOfflineTries: 3,
  isApplicationBlocked: false,
  isCardBlocked: false,
  dataObjects: {},
}
const moved = (effect: string) => ({
  responseCode: '00',
  publicToken,
  paymentId,
  messageId,
  effect,
  applied: 1234,
})

const authorization = {
  authorizationId: '3b1f6f0e-7a51-4c58-9d7e-6f1f3f2b9a10',
  publicToken,
  approved: false,
  responseCode: '55',
  declineReason: 'wrong_pin',
  declinedBy: 'pin',
  advice: 'Enter your PIN again with care: a few wrong PINs block it.',
  retry: 'with_other_data',
  entryMode: 'chip',
  reference: '512345678901',
  transactionType: 'purchase',
  requestedAt: createdAt,
  decidedAt: '2026-11-20T08:00:00.012Z',
  checks: [
    { check: 'card', result: 'passed' },
    { check: 'status', result: 'passed', cardStatusCode: '00' },
    { check: 'pin', result: 'failed', remainingTries: 2 },
  ],
}

const openList = { allowed: null, blocked: [] }
const cardControls = {
  version: 3,
  merchants: openList,
  merchantCategories: { allowed: null, blocked: ['7995'] },
  countries: openList,
  channels: { allowed: null, blocked: ['magstripe'] },
  singleUse: false,
  merchantLock: false,
  limits: [
    { period: 'day', channel: null, maximumAmount: 50_000, maximumCount: 20 },
    { period: 'day', channel: 'cash', maximumAmount: 20_000, maximumCount: null },
  ],
  shadow: null,
}

/** The first answer of each operation that returns JSON, by `operationId`. */
export const answerExamples: Readonly<Record<string, unknown>> = {
  createCard: createdCard,
  findCard: card,
  listCards: [card],
  getCardStatus: cardStatus,
  getCardControls: cardControls,
  replaceCardControls: { version: 3 },
  explainControls: {
    approved: false,
    productControlsVersion: 0,
    cardControlsVersion: 3,
    objections: [
      {
        declineReason: 'merchant_category_not_allowed',
        owner: 'card',
        control: 'merchantCategories',
      },
      { declineReason: 'amount_over_limit', owner: 'card', control: 'limits.day' },
    ],
    shadowObjections: [],
  },
  backTestCardControls: {
    from: '2026-10-01T00:00:00.000Z',
    to: '2026-11-01T00:00:00.000Z',
    currency: 'EUR',
    recorded: {
      approved: { count: 41, amount: 120_350 },
      declined: { count: 2, amount: 9_900 },
    },
    draft: {
      approved: { count: 40, amount: 87_350 },
      declined: { count: 3, amount: 42_900 },
    },
    newlyDeclined: { count: 1, amount: 33_000 },
    newlyApproved: { count: 0, amount: 0 },
    controls: [
      {
        owner: 'card',
        control: 'limits.day',
        declined: { count: 1, amount: 33_000 },
        newlyDeclined: { count: 1, amount: 33_000 },
      },
    ],
    changes: [
      {
        publicToken: '4820117360',
        authorizationId: '0199a207-05bc-71f8-97ce-911aef6582b9',
        requestedAt: '2026-10-12T09:14:05.180Z',
        entryMode: 'chip',
        transactionType: 'purchase',
        amount: 33_000,
        currency: 'EUR',
        responseCode: '00',
        approved: false,
        objection: { declineReason: 'amount_over_limit', owner: 'card', control: 'limits.day' },
      },
    ],
  },
  getCurrentPin: { pin: '4821' },
  getPinStatus: pinStatus,
  getCardChip: {
    chipUpdate: 'none',
    chips: [{ panSequenceNumber: '00', highestAtc: 12, keyVersion: 1 }],
    commands: [
      {
        commandNumber: 7,
        command: 'unblock_pin',
        state: 'pending',
        queuedAt: '2026-11-20T08:00:00.000Z',
        sentCount: 0,
      },
    ],
  },
  queueChipCommand: { commandNumber: 8, command: 'block_application', state: 'pending' },
  getCvvStatus: cvvStatus,
  listCardHistory: [
    {
      publicToken,
      maskedPan: card.maskedPan,
      cardProduct: card.cardProduct,
      createdAt,
      retired: false,
      ...cardStatus,
      plastics: [
        {
          plasticNumber: 0,
          cardType: 'Virtual',
          reason: 'Issue',
          state: 'Current',
          ...validity,
          noticesGiven: 0,
          orderedAt: createdAt,
        },
      ],
    },
  ],
  listAttempts: [
    {
      at: createdAt,
      kind: 'pin',
      result: 'mismatch',
      remainingTries: 2,
      entryMode: 'chip',
      reference: '512345678901',
    },
  ],
  listAuthorizations: [authorization],
  listCardAuthorizations: [authorization],
  findAuthorization: authorization,
  listEvents: [
    {
      id: eventId,
      type: 'pin.blocked',
      timestamp: createdAt,
      data: { publicToken, sequence: 7, blockedBy: 'tries' },
    },
  ],
  findDecisionEndpoint: decisionEndpoint,
  setDecisionEndpoint: { ...decisionEndpoint, secret },
  activateDecisionEndpoint: decisionEndpoint,
  rollBackDecisionEndpoint: decisionEndpoint,
  rotateDecisionSecret: { signingKeys, secret },
  listDecisions: [recordedDecision],
  findDecision: decisionWithRequest,
  answerDecision: { decisionId, decision: 'decline' },
  replayDecision: { original: decisionWithRequest, replay: decisionWithRequest },
  createWebhook: { ...webhook, secret },
  listWebhooks: [webhook],
  findWebhook: webhook,
  updateWebhook: webhook,
  rotateWebhookSecret: { webhookId, secret },
  pingWebhook: { eventId },
  listDeliveries: [
    {
      deliveryId: '1042',
      eventId,
      type: 'pin.blocked',
      status: 'Delivered',
      createdAt,
      tries: [{ at: createdAt, durationMs: 42, outcome: 'delivered', statusCode: 204 }],
    },
  ],
  resendDelivery: { eventId },
  replayWebhook: { since: '2026-11-20T08:00:00Z' },
  getCardData: { jwe: 'eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSJ9..…' },
  listPayments: [payment],
  listCardPayments: [payment],
  findPayment: { ...payment, messages: [reversal] },
  simulateIncrement: {
    approved: true,
    responseCode: '00',
    publicToken,
    authorizationId: '01a207f1-05bc-71f8-97ce-911aef6582b9',
    reference: 'SIMULATOR',
    pin: { result: 'not_checked', remainingTries: 3 },
    cvv: { result: 'not_checked', remainingTries: 3 },
  },
  simulateReversal: moved('release'),
  simulateAdvice: moved('replace'),
  simulateClearing: moved('clearFinal'),
  simulateRefund: moved('refund'),
  makeVirtualChip: virtualChip,
  readVirtualChip: { ...virtualChip, atc: 2, remainingOfflineTries: 2 },
  startChipTransaction: {
    chip: { data: '9F2608E5C4A0B3D1F297869F2701809F360200019F3704A1B2C3D4' },
    atc: 1,
    decision: 'online',
    offlinePin: 'right',
    remainingOfflineTries: 3,
  },
  answerVirtualChip: {
    answerVerified: true,
    approved: true,
    commands: [{ number: 7, result: 'done' }],
  },
  simulateAuthorization: {
    approved: false,
    responseCode: '55',
    publicToken,
    authorizationId: '01a207f1-05bc-71f8-97ce-911aef6582b9',
    reference: 'SIMULATOR',
    pin: { result: 'mismatch', remainingTries: 2 },
    cvv: { result: 'not_checked', remainingTries: 3 },
  },
}
