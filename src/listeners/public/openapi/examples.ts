import type { Static } from 'typebox'
import { makeProductId } from '../../../domain/identifiers.ts'
import type { AskedSimulation } from '../routes/simulator.ts'
import type { GetCardDataBody } from '../schemas/card-data.ts'
import type * as cardSchemas from '../schemas/cards.ts'
import type * as controlSchemas from '../schemas/controls.ts'
import type { PutDecisionEndpointBody } from '../schemas/decision-endpoint.ts'
import type { DecisionAnswerBody } from '../schemas/decisions.ts'
import type { RequestRenewalsSchema } from '../schemas/renewals.ts'
import type { CreateWebhookBody, ReplaySchema, UpdateWebhookBody } from '../schemas/webhooks.ts'

const createCard: cardSchemas.CreateCardBody = {
  cardType: 'Virtual',
  cardProduct: makeProductId(1001),
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: {
    addressLine1: 'Calle Mayor 1',
    city: 'Madrid',
    postCode: '28013',
    country: 'ESP',
  },
  customerReference: 'C-1',
}
const changeCard: Static<typeof cardSchemas.ChangeCardSchema> = {
  customerReference: 'C-2',
  metadata: { costCentre: '4711', project: null },
}
const requestRenewals: Static<typeof RequestRenewalsSchema> = {
  productId: 1001,
  expiringBefore: '2026-12-31',
  dryRun: true,
}
const setPin: cardSchemas.SetPinBody = { pin: '4821' }
const updateCvvStatus: Static<typeof cardSchemas.UpdateCvvStatusSchema> = { status: 'Unblocked' }
const unblockPin: Static<typeof cardSchemas.UnblockPinSchema> = {}
const getCardData: GetCardDataBody = {
  deviceKey: {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  },
  nonce: 'm2T9xkQ0wZ5bYc7Rr4hVJg',
}
const simulateAuthorization: AskedSimulation = { publicToken: '4820117360', pin: '1357' }
const changeCardStatus: Static<typeof cardSchemas.ChangeCardStatusSchema> = { cardStatusCode: '62' }
const replaceCard: Static<typeof cardSchemas.ReplaceCardSchema> = { reason: 'Damaged' }
const replaceCardControls: Static<typeof controlSchemas.ReplaceCardControlsSchema> = {
  version: 2,
  merchantCategories: { blocked: ['7995'] },
  channels: { blocked: ['magstripe'] },
  limits: [
    { period: 'day', maximumAmount: 50_000, maximumCount: 20 },
    { period: 'day', channel: 'cash', maximumAmount: 20_000 },
  ],
}
const explainControls: Static<typeof controlSchemas.ExplainControlsSchema> = {
  entryMode: 'chip',
  amount: 60_000,
  currency: 'EUR',
  merchant: { id: '000000012345678', country: 'ESP', categoryCode: '7995' },
}
const backTestCardControls: Static<typeof controlSchemas.BackTestCardControlsSchema> = {
  from: '2026-10-01T00:00:00Z',
  to: '2026-11-01T00:00:00Z',
  merchantCategories: { blocked: ['7995'] },
  limits: [{ period: 'day', maximumAmount: 30_000 }],
}
const answerDecision: DecisionAnswerBody = { decision: 'decline', reason: 'insufficient_funds' }
const setDecisionEndpoint: PutDecisionEndpointBody = {
  url: 'https://client.example/decide',
  timeoutMs: 1_000,
  fallback: { onTimeout: 'decline', onError: 'decline' },
}
const createWebhook: CreateWebhookBody = {
  url: 'https://client.example/pinfold',
  events: ['pin.blocked', 'cvv.blocked'],
}
const updateWebhook: UpdateWebhookBody = { ...createWebhook, status: 'Enabled' }
const replayWebhook: Static<typeof ReplaySchema> = { since: '2026-11-20T08:00:00Z' }

const named = { publicToken: '4820117360', networkTransactionId: '123456789012345' }

/** A working example for each operation with a body, by `operationId`. */
export const bodyExamples: Readonly<Record<string, object>> = {
  createCard,
  changeCard,
  requestRenewals,
  setPin,
  updateCvvStatus,
  unblockPin,
  changeCardStatus,
  replaceCard,
  completeReplacement: {},
  replaceCardControls,
  explainControls,
  backTestCardControls,
  queueChipCommand: { command: 'block_application' },
  getCardData,
  simulateAuthorization,
  simulateIncrement: { ...named, amount: 500, currency: 'EUR' },
  simulateReversal: named,
  simulateAdvice: { ...named, amount: 3150, currency: 'EUR' },
  simulateClearing: { ...named, amount: 1234, currency: 'EUR' },
  simulateRefund: { ...named, amount: 1234, currency: 'EUR' },
  makeVirtualChip: {},
  startChipTransaction: { amount: 1234, currency: 'EUR', pin: '1357' },
  answerVirtualChip: { chip: { data: '91081122334400800000' }, approved: true },
  setDecisionEndpoint,
  activateDecisionEndpoint: {},
  rollBackDecisionEndpoint: {},
  rotateDecisionSecret: {},
  answerDecision,
  replayDecision: {},
  createWebhook,
  updateWebhook,
  rotateWebhookSecret: {},
  pingWebhook: {},
  resendDelivery: {},
  replayWebhook,
}
