import type { DecisionEndpoint, DecisionFacts } from '../../../src/domain/decision.ts'
import { isPublicToken, type PublicToken } from '../../../src/domain/identifiers.ts'
import type { DecisionRequest } from '../../../src/operations/decisions/compose-request.ts'

/** Requests and endpoints for tests that need no stored ones. */

const publicToken = (text: string): PublicToken => {
  if (!isPublicToken(text)) throw new Error('no public token')
  return text
}

export const someFacts = (members: Partial<DecisionFacts> = {}): DecisionFacts => ({
  card: { publicToken: publicToken('1234567890'), productId: 1001, lastFour: '7899' },
  authorizationId: '0193b1a0-0000-7000-8000-000000000001',
  step: 'authorization',
  transactionType: 'purchase',
  amounts: {
    billing: { amount: 1_250, currency: 'EUR' },
    transaction: { amount: 1_250, currency: 'EUR' },
  },
  partialAllowed: true,
  entryMode: 'chip',
  cardPresent: true,
  merchant: { id: 'SHOP-1', name: 'Corner Shop', country: 'DEU', categoryCode: '5411' },
  network: { networkId: 'test-network', reference: '000000000001' },
  checks: [{ check: 'card', result: 'passed' }],
  limits: [
    {
      owner: 'card',
      control: 'limits.day',
      maximumAmount: 50_000,
      spentAmount: 4_000,
      spentCount: 2,
    },
  ],
  simulated: false,
  requestedAt: '2026-11-28T12:00:00.000Z',
  ...members,
})

export const someRequest = (
  facts: Partial<DecisionFacts> = {},
  reserved: Partial<DecisionRequest['reserved']> = {},
): DecisionRequest => ({
  facts: someFacts(facts),
  reserved: {
    decisionId: '0193b1a0-0000-7000-8000-000000000002',
    sequence: 7,
    hold: { amount: 1_250, currency: 'EUR' },
    deadline: new Date('2026-11-28T12:00:01.500Z'),
    ...reserved,
  },
  purpose: 'authorize',
})

export const someEndpoint = (members: Partial<DecisionEndpoint> = {}): DecisionEndpoint => ({
  clientId: 'client-1',
  productId: null,
  version: 3,
  apiVersion: '2026-11-20',
  url: 'http://127.0.0.1:9/decide',
  timeoutMs: 1_500,
  maxInFlight: 100,
  fallback: { onTimeout: 'decline', onError: 'decline', rule: null },
  mode: 'enforce',
  samplePercent: 100,
  format: 'pinfold',
  ...members,
})
