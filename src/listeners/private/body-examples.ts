const publicToken = '4820117360'
const reason = 'The cardholder called and was identified.'
const act = { reason }
const audited = 'Ticket 4711: the yearly rotation.'

const zoneKey = {
  family: 'zone',
  key: 'zone-a',
  clientId: 'demo-network',
  pinBlockFormats: ['ISO_FORMAT_0'],
}
const keyCheckValue = '08D7B4'

/** A body for each operation that takes one, by `operationId`. */
export const bodyExamples: Readonly<Record<string, object>> = {
  authorize: { publicToken, entryMode: 'chip', reference: '512345678901' },
  reversePayment: {
    reversalId: '20261127-000042',
    publicToken,
    networkTransactionId: '123456789012345',
    amount: 400,
    currency: 'EUR',
  },
  advisePayment: {
    adviceId: '20261127-000043',
    publicToken,
    networkTransactionId: '123456789012345',
    amount: 3150,
    currency: 'EUR',
    merchant: { name: 'Fuel Stop', categoryCode: '5542' },
  },
  clearPayments: {
    clearings: [
      {
        clearingId: '20261127-000044',
        publicToken,
        networkTransactionId: '123456789012345',
        amount: 1234,
        currency: 'EUR',
      },
    ],
  },
  searchCards: { panLastFour: '1234' },
  freezeCard: act,
  unfreezeCard: act,
  unblockPinAsOperator: act,
  unblockCvvAsOperator: act,
  activateCardAsOperator: act,
  renewCardAsOperator: { reason, renewStep: 'Renew' },
  cancelRenewalAsOperator: act,
  convertCardAsOperator: act,
  changeDeliveryAddressAsOperator: {
    reason,
    fulfilment: { addressLine1: 'Gran Via 2', postCode: '28013', country: 'ESP' },
  },
  replaceCardAsOperator: { reason, replacementReason: 'Lost' },
  unblockCards: { publicTokens: [publicToken], kind: 'pin', reason },
  revealCardholder: {},
  takeBatch: { limit: 100 },
  acknowledgeBatch: {},
  reportDelivery: { deliveryStatus: 'Shipped' },
  generateKey: { ...zoneKey, algorithm: 'AES', lengthBytes: 16 },
  rotateKey: {},
  rotateMasterKey: { reason: audited },
  importKey: {
    ...zoneKey,
    zoneMasterKey: 'zone-master-a',
    // The example of X9.143.
    keyBlock:
      'D0112P0AE00E0000B82679114F470F540165EDFBF7E250FCEA43F810D215F8D2' +
      '07E2E417C07156A27E8E31DA05F7425509593D03A457DC34',
    keyCheckValue,
  },
  exportKey: {
    key: 'zone-a',
    clientId: 'demo-network',
    zoneMasterKey: 'zone-master-a',
    reason: audited,
  },
  retireKey: { reason: audited },
  deleteKey: { reason: audited },
  retireZoneKey: { key: 'zone-a', clientId: 'demo-network', reason: audited },
  openComponentEntry: {
    family: 'zone-master',
    key: 'zone-master-a',
    clientId: 'demo-network',
    algorithm: 'AES',
    lengthBytes: 16,
    componentCount: 2,
    keyCheckValue,
  },
  enterComponent: {
    person: 'Kim Keys',
    component: '0123456789ABCDEFFEDCBA9876543210',
    keyCheckValue,
  },
  createProduct: {
    productId: 2001,
    productName: 'Travel Debit',
    schemeName: 'Visa',
    bin: '400001',
    currencyCode: 'EUR',
    cardTypes: ['Virtual'],
  },
  replaceProductControls: {
    version: 0,
    timeZone: 'Europe/Madrid',
    countries: { blocked: ['PRK'] },
    limits: [{ period: 'month', maximumAmount: 500_000 }],
  },
  backTestProductControls: {
    from: '2026-10-01T00:00:00Z',
    to: '2026-11-01T00:00:00Z',
    countries: { blocked: ['PRK'] },
    limits: [{ period: 'month', maximumAmount: 500_000 }],
  },
  changeProduct: { productName: 'Travel Debit Plus' },
  createClient: {
    clientId: 'client-1',
    clientName: 'Example back end',
    kind: 'client',
    scopes: ['cards.read', 'cards.write'],
    productIds: [1001],
  },
  changeClient: { scopes: ['cards.read'], reason: 'Ticket 4713: it no longer issues cards.' },
  rotateClientSecret: { overlapHours: 24 },
  confirmClient: { credentialsVersion: 1 },
  grantProduct: {},
  createZone: { clientId: 'network-1', clientName: 'Example network' },
  retireZone: { reason: 'Ticket 4712: the contract has ended.' },
  createLink: {
    linkName: 'switch-1',
    networkId: 'demo-network',
    direction: 'listen',
    host: '127.0.0.1',
    port: 8590,
    profile: 'ascii-1987',
  },
  changeLink: { active: false },
  signPersonOut: {},
  approveApproval: {
    payloadHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  },
  refuseApproval: act,
  withdrawApproval: {},
  breakGlass: act,
  resendAnyDelivery: act,
  replayAnyWebhook: { since: '2026-11-20T08:00:00Z', reason },
  disableAnyWebhook: act,
  enableAnyWebhook: act,
  succeedAuditLog: { reason: 'The database was restored from a backup.' },
  requestAuditErasure: { publicToken, reason: 'The retention period has ended.' },
  moveClock: { now: '2030-12-01T00:00:00Z' },
  simulateAnyAuthorization: { publicToken, pin: '1357' },
  takeSnapshot: {},
  restoreSnapshot: {},
  settleSandbox: {},
}
