import type { DecisionFacts, DecisionPurpose, ReservedDecision } from '../../domain/decision.ts'
import type { Money } from '../../domain/money.ts'

/** A request to a client. */
export interface DecisionRequest {
  readonly facts: DecisionFacts
  readonly reserved: ReservedDecision
  readonly purpose: DecisionPurpose
}

/**
 * Composes the body of a request in the format `pinfold`. The same request has the same bytes at a
 * retry, in another process, and years later: so each member is named here, in this order.
 */
export function composePinfoldRequest({ facts, purpose, reserved }: DecisionRequest): string {
  const { amounts, card, merchant, network } = facts
  return JSON.stringify({
    decisionId: reserved.decisionId,
    purpose,
    simulated: facts.simulated,
    deadline: reserved.deadline.toISOString(),
    requestedAt: facts.requestedAt,
    sequence: reserved.sequence,
    card: {
      publicToken: card.publicToken,
      productId: card.productId,
      customerReference: card.customerReference,
      lastFour: card.lastFour,
      metadata: card.metadata,
    },
    authorizationId: facts.authorizationId,
    paymentId: facts.paymentId,
    step: facts.step,
    transactionType: facts.transactionType,
    amounts: {
      billing: composeMoney(amounts.billing),
      transaction: composeMoney(amounts.transaction),
      cashback: composeMoney(amounts.cashback),
      hold: composeMoney(reserved.hold ?? undefined),
    },
    partialAllowed: facts.partialAllowed,
    entryMode: facts.entryMode,
    cardPresent: facts.cardPresent,
    merchant: merchant && {
      id: merchant.id,
      terminalId: merchant.terminalId,
      name: merchant.name,
      city: merchant.city,
      country: merchant.country,
      categoryCode: merchant.categoryCode,
    },
    network: {
      networkId: network.networkId,
      reference: network.reference,
      transactionId: network.transactionId,
    },
    checks: facts.checks.map(({ check, result }) => ({ check, result })),
    limits: facts.limits.map((limit) => ({
      owner: limit.owner,
      control: limit.control,
      maximumAmount: limit.maximumAmount,
      maximumCount: limit.maximumCount,
      spentAmount: limit.spentAmount,
      spentCount: limit.spentCount,
    })),
  })
}

const composeMoney = (money: Money | undefined) =>
  money && { amount: money.amount, currency: money.currency }
