import type {
  AskOutcome,
  DecisionEndpoint,
  DecisionFacts,
  DecisionLimit,
} from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { Money } from '../../domain/money.ts'
import { findCharge, type Transaction } from '../../domain/transaction.ts'
import { findMetadata } from '../../storage/cards/record-changes.ts'
import { findPendingDecision, type WaitingDecision } from '../../storage/decisions/conclude.ts'
import { parseReserved, toReservation } from '../../storage/decisions/reserve.ts'
import { newEventId } from '../../storage/events/events.ts'
import type {
  ExternalDecisions,
  PreparedDecision,
  ProposedApproval,
} from '../authorizations/authorization.ts'
import { takesPart } from '../authorizations/controls.ts'
import { composePinfoldRequest, type DecisionRequest } from './compose-request.ts'
import { conclude, type FoundDecision } from './conclude.ts'
import { acceptAnswer, standIn } from './decided.ts'
import {
  type EndpointRegistry,
  type EndpointsInForce,
  isInSample,
  selectEndpoint,
} from './registry.ts'
import { applyRule } from './rule.ts'
import type { Shadows } from './shadow.ts'
import { concludeLost, isOverdue, type StandInContext } from './sweep.ts'
import { composeWaitingRequest } from './waiting-request.ts'

/** The dependencies of a decision. */
export interface DecisionContext extends StandInContext {
  readonly registry: Pick<EndpointRegistry, 'find'>
  /** Asks the card's client, and resolves at the deadline at the latest. */
  readonly ask: (endpoint: DecisionEndpoint, request: DecisionRequest) => Promise<AskOutcome>
  readonly shadows: Pick<Shadows, 'expect'>
  /** Whether the sandbox's simulator is this network. */
  readonly isSimulator: (networkId: string) => boolean
}

/** Lets clients decide the authorizations of their cards (docs/reference/decisions.md). */
export function createDecisions(context: DecisionContext): ExternalDecisions {
  return {
    async prepare(approval) {
      const { clientId, hasDecisionEndpoint, productId } = approval.card
      if (!hasDecisionEndpoint) return null
      const inForce = await context.registry.find(clientId, productId)
      return inForce && prepareInForce(context, approval, inForce)
    },
    async concludeOverdue(publicToken: PublicToken, claimId: string) {
      const waiting = await findPendingDecision(context.database, publicToken, claimId)
      if (waiting && isOverdue(waiting)) await concludeLost(context, waiting)
      return waiting !== null
    },
  }
}

/** Prepares the decision, and what the shadow version is asked once the network has its answer. */
async function prepareInForce(
  context: DecisionContext,
  approval: ProposedApproval,
  inForce: EndpointsInForce,
): Promise<PreparedDecision | null> {
  const { authorizationId, durationMs, hold } = approval.record
  const endpoint = selectEndpoint(inForce, authorizationId)
  const isShadowed = inForce.shadow !== null && isInSample(inForce.shadow, authorizationId)
  const shadow = isShadowed ? inForce.shadow : null
  if (!endpoint && !shadow) return null
  const arrivedAtMs = Date.now() - durationMs
  const metadata = await findMetadata(context.database, approval.card.publicToken)
  const facts = composeFacts(context, approval, metadata, arrivedAtMs)
  const expectShadow = (amount: number | null): void => {
    if (!shadow) return
    const held = amount === null || !hold ? null : { amount, currency: hold.currency }
    context.shadows.expect({ endpoint: shadow, facts, hold: held, isDecided: endpoint !== null })
  }
  if (endpoint) return prepareDecision(context, approval, { endpoint, facts, expectShadow })
  expectShadow(hold?.amount ?? null)
  return null
}

interface Question {
  readonly endpoint: DecisionEndpoint
  readonly facts: DecisionFacts
  /** @param amount what an approval holds. */
  expectShadow(amount: number | null): void
}

function prepareDecision(
  context: DecisionContext,
  approval: ProposedApproval,
  { endpoint, expectShadow, facts }: Question,
): PreparedDecision {
  const { answer, claim, record } = approval
  const arrivedAtMs = Date.parse(facts.requestedAt)
  const decisionId = newEventId()
  const deadline = new Date(Date.now() + endpoint.timeoutMs)
  const reservation = toReservation({
    decisionId,
    endpoint,
    facts,
    deadline,
    pending: {
      answer,
      holdExpiresAt: record.hold?.expiresAt.toISOString() ?? null,
      increment: record.increment,
      fallback: endpoint.fallback,
      format: endpoint.format,
      arrivedAtMs,
    },
    claim,
  })
  return {
    reservation,
    async decide(text, answerChip) {
      approval.request.onWaiting?.()
      const { heldAmount, pending, sequence } = parseReserved(text)
      expectShadow(heldAmount)
      const waiting: WaitingDecision = {
        publicToken: record.publicToken,
        decisionId,
        clientId: record.clientId,
        sequence,
        facts,
        pending,
        endpointProductId: endpoint.productId ?? 0,
        endpointVersion: endpoint.version,
        heldAmount,
        heldCurrencyCode: record.hold?.currency ?? null,
        deadline,
        calledAnswer: null,
      }
      const found = await askClient(context, endpoint, waiting)
      return conclude(context, waiting, found, answerChip)
    },
  }
}

async function askClient(
  { ask, ruleFailed }: DecisionContext,
  endpoint: DecisionEndpoint,
  waiting: WaitingDecision,
): Promise<FoundDecision> {
  const request = composeWaitingRequest(waiting)
  const { answer, ...asked } = await ask(endpoint, request)
  if (answer) return { decided: acceptAnswer(answer), asked }
  const cause = asked.error === null ? 'timeout' : 'error'
  const decided = standIn(
    waiting.pending.fallback,
    cause,
    (rule) => applyRule(rule, composePinfoldRequest(request)),
    (error) => ruleFailed(waiting, error),
  )
  return { decided, asked }
}

function composeFacts(
  { isSimulator }: DecisionContext,
  { answer, card, record, request, spending }: ProposedApproval,
  metadata: ReadonlyMap<string, string>,
  arrivedAtMs: number,
): DecisionFacts {
  const { checks, entryMode, increment, networkId, reference, transaction } = record
  const paymentId = increment?.paymentId ?? answer.paymentId
  const { networkTransactionId } = transaction
  return {
    card: {
      publicToken: card.publicToken,
      productId: card.productId,
      lastFour: card.lastFour,
      ...(card.customerReference !== null && { customerReference: card.customerReference }),
      ...(metadata.size > 0 && { metadata: Object.fromEntries(metadata) }),
    },
    authorizationId: record.authorizationId,
    ...(paymentId !== undefined && { paymentId }),
    step: increment ? 'increment' : 'authorization',
    transactionType: transaction.transactionType,
    amounts: composeAmounts(transaction),
    partialAllowed: takesPart(request),
    entryMode,
    cardPresent: entryMode !== 'ecommerce' && entryMode !== 'moto',
    ...(transaction.merchant && { merchant: transaction.merchant }),
    network: {
      networkId,
      reference,
      ...(networkTransactionId !== null && { transactionId: networkTransactionId }),
    },
    checks: (JSON.parse(checks) as DecisionFacts['checks']).map(({ check, result }) => ({
      check,
      result,
    })),
    limits: listLimits(card, spending),
    simulated: isSimulator(networkId),
    requestedAt: new Date(arrivedAtMs).toISOString(),
  }
}

function composeAmounts(transaction: Transaction): DecisionFacts['amounts'] {
  const { cashbackAmount, money } = transaction
  const billing = findCharge(transaction)
  const cashback: Money | null =
    cashbackAmount === null || !money ? null : { amount: cashbackAmount, currency: money.currency }
  return {
    ...(billing && { billing }),
    ...(money && { transaction: money }),
    ...(cashback && { cashback }),
  }
}

/** The limits that an approval meets, with what was spent under them when the card was read. */
function listLimits(
  { controls }: ProposedApproval['card'],
  spending: ProposedApproval['spending'],
): readonly DecisionLimit[] {
  const limits = spending?.limits.filter(({ isShadow }) => !isShadow) ?? []
  return limits.map(({ control, maximumAmount, maximumCount, owner, startsOn, window }) => {
    const spent = controls?.spending?.windows[window]
    const isPresent = spent !== undefined && spent.startsOn >= startsOn
    return {
      owner,
      control,
      ...(maximumAmount !== null && { maximumAmount }),
      ...(maximumCount !== null && { maximumCount }),
      spentAmount: isPresent ? spent.amount : 0,
      spentCount: isPresent ? spent.count : 0,
    }
  })
}
