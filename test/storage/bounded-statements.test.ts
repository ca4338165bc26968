import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { makeProductId } from '../../src/domain/identifiers.ts'
import {
  countApprovalsFor,
  countBrokenGlass,
  deleteOldApprovals,
  listApprovalRows,
  listLateApprovals,
} from '../../src/storage/approvals/approvals.ts'
import { claimApproval } from '../../src/storage/approvals/queue.ts'
import { lockAuditLog } from '../../src/storage/audit-log/log.ts'
import {
  listEventsToEnter,
  listUnansweredTries,
  takeRefusalsToEnter,
} from '../../src/storage/audit-log/sources.ts'
import {
  beginAuthorization,
  findCardReference,
  findTokenByPan,
  type NamedCard,
} from '../../src/storage/authorizations/begin.ts'
import { expireCounts, expireHourCounts } from '../../src/storage/authorizations/counts.ts'
import {
  findNextClient,
  listDecidedCards,
  listDecidedOfCard,
  listDecidedOfClient,
} from '../../src/storage/authorizations/decided-again.ts'
import { expireMistakes } from '../../src/storage/authorizations/mistakes.ts'
import { expireAuthorizations } from '../../src/storage/authorizations/records.ts'
import {
  answerAuthorization,
  answerUnknownCard,
  settleAuthorization,
  settleMatchAndSpend,
} from '../../src/storage/authorizations/settle.ts'
import { reportLostBlock } from '../../src/storage/authorizations/tries.ts'
import {
  acknowledgeBatch,
  findBatch,
  firstPlastic,
  listBatches,
  listOrders,
  listPlasticsOfBatch,
  newestBatch,
  takePlastics,
} from '../../src/storage/bureau/batches.ts'
import { cancelIdleOrder, findDelivery } from '../../src/storage/bureau/deliveries.ts'
import { findCard, findCardWithProduct } from '../../src/storage/cards/cards.ts'
import {
  expireCards,
  expirePinEnvelopes,
  restoreTries,
  spendAllTries,
  updateCardStatus,
  updatePin,
} from '../../src/storage/cards/changes.ts'
import { insertCard, type NewCardRow } from '../../src/storage/cards/create-card.ts'
import { recordDisclosure } from '../../src/storage/cards/disclosures.ts'
import { countCardsExpiring } from '../../src/storage/cards/expiries.ts'
import {
  deleteRetiredFingerprints,
  listChipsUnderKeys,
  listNeedsOfChipKeys,
  listPinsOfCommands,
} from '../../src/storage/cards/keys-of-cards.ts'
import { expireLimits } from '../../src/storage/cards/limits.ts'
import { findMetadata } from '../../src/storage/cards/record-changes.ts'
import { findRecord, listRecords } from '../../src/storage/cards/records.ts'
import { findTries } from '../../src/storage/cards/tries.ts'
import * as chipCommands from '../../src/storage/chips/commands.ts'
import { findChip } from '../../src/storage/chips/find-chip.ts'
import { expireAssertions } from '../../src/storage/clients/assertions.ts'
import { claimStream } from '../../src/storage/clients/streams.ts'
import { listCalledAnswers } from '../../src/storage/decisions/calls.ts'
import {
  concludeDecision,
  findPendingDecision,
  listOverdueDecisions,
  type NewConclusion,
} from '../../src/storage/decisions/conclude.ts'
import {
  countEndpointVersions,
  listClientEndpoints,
  listEndpointsInForce,
  listEndpointVersions,
} from '../../src/storage/decisions/endpoints.ts'
import {
  countDeciders,
  listFailedDecisions,
  measureDecisions,
} from '../../src/storage/decisions/figures.ts'
import { findDecision, listDecisions } from '../../src/storage/decisions/records.ts'
import { expireDecisions } from '../../src/storage/decisions/retention.ts'
import { expireSigningKeys } from '../../src/storage/decisions/signing-keys.ts'
import { listWaitingRequests } from '../../src/storage/decisions/streams.ts'
import type {
  Connection,
  Database,
  SqlScalar,
  SqlValue,
  Statement,
} from '../../src/storage/engine/database.ts'
import { readFunctionFiles } from '../../src/storage/engine/functions.ts'
import { splitStatements } from '../../src/storage/engine/statements.ts'
import {
  listUnpublishedEvents,
  markPublished,
  outboxStart,
  type UnpublishedEvent,
} from '../../src/storage/events/publish.ts'
import { expireFeed, expireOutbox } from '../../src/storage/events/retention.ts'
import { expireIdempotencyRecords } from '../../src/storage/idempotency/idempotency.ts'
import { expireAdvices, listAdviceRows } from '../../src/storage/links/advices.ts'
import {
  expireTransactions,
  hasReversalMark,
  reverseByElements,
  reverseTransaction,
} from '../../src/storage/links/transactions.ts'
import {
  expirePayment,
  listDueHolds,
  type PaymentMessage,
  recordPaymentMessage,
} from '../../src/storage/payments/messages.ts'
import { expirePayments } from '../../src/storage/payments/payments.ts'
import { listActorNames } from '../../src/storage/people/actor-names.ts'
import { listPersonRows } from '../../src/storage/people/people.ts'
import {
  endSession,
  expireSessions,
  findSession,
  listOpenSessions,
  seeSession,
} from '../../src/storage/people/sessions.ts'
import { findProductOfChipKeys } from '../../src/storage/products/products.ts'
import {
  findNextExpiry,
  hasPlasticOfJob,
  listCardsToRenew,
  listDueNotices,
} from '../../src/storage/renewals/due.ts'
import {
  deleteOldJob,
  findJob,
  listJobCards,
  listJobsToDo,
  lockJobCount,
} from '../../src/storage/renewals/jobs.ts'
import { recordTries } from '../../src/storage/webhooks/attempts.ts'
import { queueUndelivered } from '../../src/storage/webhooks/deliveries.ts'
import { failPending, listDueDeliveries } from '../../src/storage/webhooks/delivery-groups.ts'
import { expireDeliveries, removeDeliveries } from '../../src/storage/webhooks/retention.ts'
import { measureWebhooks } from '../../src/storage/webhooks/watched-webhooks.ts'
import { parsePublicToken } from '../support/identifiers.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerDatabase } from '../support/service.ts'
import { collectPlans, type Plan, rowsRead, tellPlans } from '../support/told-plans.ts'
import { bakery } from './authorizations/transaction.ts'
import {
  beliefs,
  clientId,
  earlierDay,
  productId,
  productVersion,
  rowsEach,
  today,
  webhookId,
} from './old-rows.ts'

const postgres = await openPostgres()
/**
 * Few rows of many, whatever is planned; and, as the service has its statements planned, so many
 * that the planner may think of reading all: a step of the service is 100 to 500, of thousands of
 * rows or of millions.
 */
const examinations = [
  [5, 'force_custom_plan'],
  [5, 'force_generic_plan'],
  [200, 'force_generic_plan'],
] as const
/**
 * A statement finds its rows, locks and changes them, and what hangs on them: so many times its
 * limit.
 */
const rowsEachMost = 12
/** A statement that reads a page for a client may read the largest one. */
const pageMost = 101
const reference = { clientId, webhookId }
const holder = '00000000-0000-4000-8000-000000000002'

const publishedUpTo = (limit: number) =>
  Array.from({ length: limit }, (_, at) => ({
    publicToken: String(1_000_000_001 + at),
    sequence: 1,
    occurredAt: '2026-01-01T00:00:00Z',
  })) as unknown as UnpublishedEvent[]

const triedUpTo = (limit: number) =>
  Array.from({ length: limit }, (_, at) => ({
    position: String(rowsEach + 1 + at),
    groupKey: String(1_000_000_000 + rowsEach + 1 + at),
    round: 1,
    failures: 0,
    status: 'Delivered' as const,
    dueInSeconds: 0,
    try: { at: '2026-01-01T00:00:00Z', durationMs: 1, outcome: 'delivered' },
  }))

const token = parsePublicToken('1000007900')
const tokensUpTo = (limit: number) =>
  Array.from({ length: limit }, (_, at) => parsePublicToken(String(1_000_000_001 + at)))
const allIds = {
  after: '00000000-0000-0000-0000-000000000000',
  until: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
}
/**
 * Ids that are hashes: a period of as many authorizations, or about that. It begins after the ids
 * of those that are undone here, whose entries in an index are read until a vacuum.
 */
const someIds = (limit: number) => ({
  after: allIds.after.replace(/^0/, '1'),
  until: allIds.until.replace(
    /^.{8}/,
    Math.floor(0x1000_0000 + (limit / rowsEach) * 0xffff_ffff)
      .toString(16)
      .padStart(8, '0'),
  ),
})
const newToken = parsePublicToken('2000007900')
const fingerprintOf = (n: number) => createHash('sha256').update(`${n}`).digest()
const fingerprint = fingerprintOf(7_900)
const md5Uuid = (text: string) =>
  createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
const fingerprintText = fingerprint.toString('hex')
const event = {
  publicToken: token,
  type: 'pin.set',
  requestId: null,
  details: {},
  note: null,
} as const
const act = { clientId, event, claim: null }
const sessionHash = createHash('sha256').update('7900').digest()
const personOf = (n: number) => `person-${String(n).padStart(40, '0')}`
const keyHash = createHash('sha256').update('a key').digest()
const keyText = keyHash.toString('hex')
const claimId = '00000000-0000-4000-8000-000000000003'
const answer = Buffer.from('answer')
const claim = {
  clientId,
  keyHashes: [keyHash] as const,
  requestFingerprint: answer,
  claimId,
  answer,
}
const keyedAct = { ...act, claim }
const envelope = { jtiHash: createHash('sha256').update('a jti').digest(), expiresAt: new Date(0) }
const creation = {
  card: {
    clientId,
    productId,
    cardType: 'Virtual',
    customerReference: null,
    designId: null,
    maskedPan: '400000******0000',
    encryptedPan: answer,
    personalData: answer,
    startDate: today,
    expiryDate: today,
    statusCode: '00',
    pinBlock: null,
    pvv: '1234',
    pinKey: 'pvk/1',
    cvk: 'cvk/1',
    pinTryLimit: 3,
    cvvTryLimit: 3,
  } as unknown as NewCardRow,
  event: { ...event, publicToken: newToken },
  panFingerprints: [{ fingerprint: keyHash, keyVersion: 1 }],
  productVersion,
}
const chipResults = {
  publicToken: token,
  panSequenceNumber: '00',
  atc: 101,
  sent: [1001],
  done: [1002],
  failed: [],
  unconfirmed: [],
  remainingOfflineTries: 3,
}
const advisedChip = {
  publicToken: token,
  networkId: 'network',
  chip: JSON.stringify({ panSequenceNumber: '00', atc: 102, keyVersion: 1, atcWindow: 16 }),
}
const requestedCommand = {
  publicToken: token,
  number: 2,
  command: 'block_card',
  dataObject: null,
  panSequenceNumber: null,
  clientId,
  requestId: 'r',
  operatorId: null,
} as const
const chipPin = { pinBlock: Buffer.alloc(16), pinKey: 'pin-storage/1' }
const newPin = { pinBlock: null, pvv: '1234', pinKey: 'pvk/1', chipPin: null, envelope: null }
const unblocks = { limitName: 'unblock-pin', purpose: 'unblocks', uses: 10, windowSeconds: 86_400 }
const origin = {
  entryMode: 'chip',
  reference: 'R-1',
  networkId: 'network',
  requestId: 'r',
  transaction: bakery,
}
const spent = { publicToken: token, kind: 'pin', tryNumber: 1, epoch: 1, remaining: 2 } as const
const decided = {
  ...origin,
  publicToken: token,
  clientId,
  authorizationId: claimId,
  responseCode: '55',
  checks: '[]',
  durationMs: 1,
  now: new Date(),
  eventType: 'authorization.declined',
  details: '{}',
  hold: null,
  increment: null,
  spending: null,
} as const
/** An approval that its client decides. */
const decision = JSON.stringify({
  decisionId: claimId,
  endpointProductId: 0,
  endpointVersion: 1,
  facts: '{}',
  deadline: new Date().toISOString(),
  pending: { answer: {} },
})
const conclusion: NewConclusion = {
  publicToken: token,
  decisionId: md5Uuid('waiting 7900'),
  calledAnswer: null,
  isReversed: false,
  isTaken: false,
  isApproved: true,
  responseCode: '00',
  approvedAmount: null,
  heldAmount: null,
  holdExpiresAt: null,
  checks: '[]',
  details: '{}',
  durationMs: 1,
  answer: null,
  flaggedAnswer: null,
  decidedBy: 'endpoint',
  verdict: 'approve',
  reason: null,
  error: null,
  statusCode: 200,
  decisionMs: 1,
  requestHash: null,
  answerHash: null,
  metadata: null,
  now: new Date(),
}
const waitingUpTo = (limit: number) =>
  Array.from({ length: limit }, (_, at) => md5Uuid(`waiting ${1 + at}`))
/** Of the decisions by an endpoint, none has the purpose `replay`. */
const decisionFilters = [
  { publicToken: null, purpose: null, decidedBy: null },
  { publicToken: null, purpose: 'authorize', decidedBy: null },
  { publicToken: null, purpose: 'replay', decidedBy: null },
  { publicToken: null, purpose: 'replay', decidedBy: 'endpoint' },
  { publicToken: null, purpose: null, decidedBy: 'endpoint' },
  { publicToken: token, purpose: 'replay', decidedBy: 'endpoint' },
] as const
/** The payment of a card whose hold is due. */
const dueHold = md5Uuid('open 7900')
const reversal: PaymentMessage = {
  publicToken: token,
  networkId: 'network',
  requestId: 'r',
  messageId: claimId,
  kind: 'reversal',
  messageKey: 'a key',
  paymentId: null,
  networkTransactionId: 'T-unknown',
  money: null,
  isRemaining: false,
  isFinal: false,
  holdExpiresAt: new Date(),
  networkExpiresAt: null,
  now: new Date(),
  merchant: null,
  reference: null,
}
const original = { messageClass: '1', trace: '007900', transmittedAt: '1122170000', acquirer: '' }

const originalClaim = { ...claim, original: { ...original, transactionHashes: [fingerprint] } }

const chipRead = { read: { panSequenceNumber: '00', atc: 7 }, networkId: null }
const stripeRead = { read: null, networkId: 'network' }

const chipUse = JSON.stringify({
  panSequenceNumber: '00',
  atc: 7,
  contactAtc: 7,
  keyVersion: 1,
  atcWindow: 16,
  remainingOfflineTries: 3,
})
const stripeUse = JSON.stringify({ panSequenceNumber: null, atc: 7, atcWindow: 16 })

const begin = (
  database: Database,
  card: NamedCard,
  claimed: typeof claim | null,
  chip: string | null = null,
) =>
  beginAuthorization(
    database,
    {
      ...origin,
      authorizationId: claimId,
      card,
      kind: 'pin',
      currentMonth: '2020-01',
      expiryMonth: null,
      zoneKey: null,
      chip,
    },
    claimed,
    // Nothing is answered here.
  ).catch(() => null)

/** Finds what the next statement of a call needs: a job that is to be deleted, or plastics. */
const withRows = (database: Database, limit: number): Connection => ({
  ...database,
  async query<Row>(statement: Statement, values: readonly SqlValue[] = []) {
    await database.query(statement, values)
    const found: Readonly<Record<string, readonly object[]>> = {
      find_old_job: [{ jobId: md5Uuid('job 41') }],
      list_cards_of_old_job: tokensUpTo(limit).map((publicToken) => ({ publicToken })),
      list_orders: tokensUpTo(limit).map((publicToken) => ({ publicToken })),
    }
    return (found[statement.name] ?? []) as Row[]
  },
})

/**
 * Every statement that changes a bounded number of rows, and those that read some together, by how
 * the service calls it.
 */
const calls: readonly ((database: Database, limit: number) => Promise<unknown>)[] = [
  (database, limit) => expireCards(database, today, limit),
  ...(['Physical', 'Virtual'] as const).flatMap((cardType) =>
    (['', 'Automatic'] as const).map((renewalType) => (database: Database, limit: number) => {
      const cards = { productId: makeProductId(productId), cardType, renewalType, limit }
      const from = { until: today, afterValidUntil: '0001-01-01', afterToken: '' }
      return listCardsToRenew(database, { ...cards, ...from })
    }),
  ),
  (database) => findNextExpiry(database),
  (database, limit) =>
    countCardsExpiring(database, { from: earlierDay, until: '2099-12-31' }, limit),
  ...[0, 1].map((noticesGiven) => (database: Database, limit: number) => {
    const from = { until: today, afterExpiryDate: '0001-01-01', afterToken: '' }
    return listDueNotices(database, { ...from, noticesGiven, limit })
  }),
  (database) => hasPlasticOfJob(database, token, md5Uuid('job 40')),
  (database) => findMetadata(database, token),
  (database, limit) => listJobsToDo(database, limit),
  (database, limit) => lockJobCount(database, clientId, limit),
  (database, limit) => listJobCards(database, md5Uuid('job 40'), limit),
  (database) => findJob(database, md5Uuid('job 40'), clientId),
  (database, limit) => deleteOldJob(withRows(database, limit), new Date(), limit),
  (database, limit) => listOrders(withRows(database, limit), today, limit),
  (database) => findBatch(database, { batchId: md5Uuid('batch 7'), clientId }),
  ...[true, false].map(
    (isUnacknowledged) => (database: Database, limit: number) =>
      listBatches(withRows(database, limit), {
        clientId,
        isUnacknowledged,
        position: newestBatch,
        limit,
      }),
  ),
  ...[firstPlastic, [token, 0] as const].map(
    (after) => (database: Database, limit: number) =>
      listPlasticsOfBatch(database, md5Uuid('batch 39'), after, limit),
  ),
  (database, limit) =>
    takePlastics(
      database,
      { batchId: claimId, clientId },
      tokensUpTo(limit).map((publicToken) => ({ publicToken, plasticNumber: 0 })),
      new Date(),
    ),
  (database) => acknowledgeBatch(database, { batchId: md5Uuid('batch 7'), clientId }, new Date()),
  (database) => cancelIdleOrder(database, { publicToken: token, plasticNumber: 0 }, today),
  (database) => findDelivery(database, { publicToken: token, plasticNumber: 0 }),
  (database, limit) => expireIdempotencyRecords(database, limit),
  (database, limit) => expireAssertions(database, new Date(), limit),
  (database, limit) => expirePinEnvelopes(database, new Date(), limit),
  (database, limit) => expireLimits(database, 'card', limit),
  (database, limit) => expireLimits(database, 'client', limit),
  (database, limit) => expireMistakes(database, limit),
  (database, limit) => expireTransactions(database, limit),
  (database, limit) => expireAdvices(database, limit),
  (database, limit) => expireSessions(database, limit),
  (database) => listEndpointsInForce(database, clientId, productId),
  (database) => listEndpointVersions(database, { clientId, productId }),
  (database, limit) => listClientEndpoints(database, clientId, limit),
  (database, limit) =>
    countEndpointVersions(database, { clientId, productId }, limit).catch(() => null),
  (database, limit) => measureDecisions(database, { clientId, after: allIds.after, limit }),
  (database, limit) => countDeciders(database, { clientId, after: allIds.after, limit }),
  (database, limit) =>
    listFailedDecisions(database, { clientId, after: allIds.after, limit }, limit),
  (database) => findSession(database, sessionHash),
  (database) => seeSession(database, sessionHash),
  (database) => endSession(database, sessionHash),
  (database) => listOpenSessions(database, personOf(7_900)),
  (database, limit) =>
    listActorNames(
      database,
      Array.from({ length: limit }, (_, at) => personOf(1 + at)),
    ),
  (database, limit) => listPersonRows(database, personOf(7_900), limit),
  (database, limit) => deleteOldApprovals(database, limit),
  (database, limit) => listLateApprovals(database, limit),
  (database, limit) => listApprovalRows(database, { state: null, requesterId: null }, null, limit),
  (database, limit) =>
    listApprovalRows(database, { state: 'done', requesterId: null }, null, limit),
  (database, limit) =>
    listApprovalRows(database, { state: null, requesterId: 'client-7900' }, null, limit),
  (database) => countBrokenGlass(database),
  (database, limit) =>
    countApprovalsFor(database, { viewerId: 'client-1', scopes: ['admin'], limit }),
  (database) => claimApproval(database, claimId),
  (database) => reverseByElements(database, 'client-1', original),
  (database) =>
    reverseTransaction(database, { networkId: 'client-1', transactionHash: fingerprint }),
  (database) => hasReversalMark(database, 'client-1', [fingerprint]),
  (database, limit) => listAdviceRows(database, 'link', null, limit),
  (database, limit) => expireOutbox(database, 30, limit),
  (database, limit) =>
    expireFeed(database, clientId, { days: 30, limit, after: '0', beforeDay: null }),
  (database, limit) => expireAuthorizations(database, 30, limit),
  (database, limit) => expirePayments(database, 30, limit),
  (database, limit) => expireDecisions(database, 30, limit),
  (database, limit) => expireSigningKeys(database, limit),
  (database, limit) => listOverdueDecisions(database, 0, null, limit),
  (database) => findPendingDecision(database, token, claimId),
  ...decisionFilters.map(
    (filter) => (database: Database, limit: number) =>
      listDecisions(database, clientId, { ...filter, before: null, limit }),
  ),
  (database) => findDecision(database, clientId, md5Uuid('over 7900')),
  (database, limit) => listWaitingRequests(database, [clientId], limit),
  (database, limit) => listCalledAnswers(database, waitingUpTo(limit)),
  ...[true, false].map(
    (isApproved) => (database: Database) =>
      concludeDecision(database, { ...conclusion, isApproved }).catch(() => null),
  ),
  (database) =>
    answerAuthorization(database, { ...decided, responseCode: '00', decision }, null).catch(
      () => null,
    ),
  (database) => listDecidedOfCard(database, token, allIds),
  (database, limit) => listDecidedOfClient(database, clientId, someIds(limit)),
  (database) => findNextClient(database, 'client-7'),
  (database, limit) => listDecidedCards(database, tokensUpTo(limit)),
  (database, limit) => listDueHolds(database, new Date(), limit),
  (database) =>
    expirePayment(database, { publicToken: token, paymentId: dueHold }, claimId, new Date()),
  (database) => recordPaymentMessage(database, reversal).catch(() => null),
  (database, limit) => expireCounts(database, 30, limit),
  (database, limit) => expireHourCounts(database, 30, limit),
  (database) => lockAuditLog(database),
  (database, limit) => listUnansweredTries(database, { after: '0', until: '0' }, limit),
  (database, limit) => takeRefusalsToEnter(database, limit),
  ...[true, false].map(
    (isCluster) => (database: Database, limit: number) =>
      listEventsToEnter(database, [{ clientId, entered: '0', last: '1' }], { isCluster, limit }),
  ),
  (database, limit) => listUnpublishedEvents(database, outboxStart, [], limit),
  (database, limit) => expireDeliveries(database, reference, 30, limit),
  (database, limit) => removeDeliveries(database, reference, limit),
  (database, limit) => measureWebhooks(database, clientId, [webhookId], limit),
  (database, limit) => failPending(database, reference, null, limit),
  (database, limit) => queueUndelivered(database, reference, limit),
  (database, limit) => listDueDeliveries(database, reference, [], limit),
  (database, limit) => recordTries(database, reference, triedUpTo(limit)),
  (database) =>
    claimStream(database, {
      clientId: 'client-7',
      scope: 'events.read',
      holder,
      slots: 10,
      seconds: 60,
    }),
  (database, limit) => deleteRetiredFingerprints(database, 1, 0, limit),
  (database, limit) => markPublished(database, publishedUpTo(limit)),
  // What changes a single card.
  (database) => updateCardStatus(database, act, { from: '00', to: '62' }),
  (database) => updatePin(database, act, earlierDay, newPin),
  (database) => updatePin(database, act, earlierDay, { ...newPin, chipPin }),
  (database) => chipCommands.recordChipResults(database, chipResults),
  (database) => chipCommands.recordAdvisedChip(database, advisedChip),
  (database) => chipCommands.recordAdvisedChip(database, { ...advisedChip, chip: null }),
  (database) => chipCommands.queueRequestedCommand(database, requestedCommand, claim),
  (database) => chipCommands.findChippedCard(database, token, clientId),
  (database, limit) => chipCommands.countWaitingCommands(database, token, null, limit),
  (database, limit) => chipCommands.countWaitingCommands(database, token, '01', limit),
  (database, limit) => chipCommands.listWaitingChipCommands(database, token, limit),
  (database, limit) => chipCommands.listChips(database, token, limit),
  (database, limit) => chipCommands.listChipCommands(database, token, limit),
  (database) => findProductOfChipKeys(database, 1),
  (database) => findProductOfChipKeys(database, 2),
  (database, limit) =>
    listChipsUnderKeys(database, { publicToken: '', panSequenceNumber: '' }, limit),
  (database, limit) =>
    listNeedsOfChipKeys(database, {
      keyVersion: 1,
      createdBefore: new Date(),
      afterToken: '',
      limit,
    }),
  (database, limit) => listPinsOfCommands(database, { publicToken: '', number: 0 }, limit),
  (database) => restoreTries(database, act, { kind: 'pin', limit: null, today: earlierDay }),
  (database) => restoreTries(database, act, { kind: 'pin', limit: unblocks, today: earlierDay }),
  (database) => spendAllTries(database, act, 'cvv', earlierDay),
  (database) => reportLostBlock(database, { publicToken: token, kind: 'pin' }),
  (database) =>
    recordDisclosure(database, act.event, {
      clientId,
      today: earlierDay,
      includesPin: true,
      eventId: claimId,
      limits: null,
    }),
  (database) => updateCardStatus(database, keyedAct, { from: '00', to: '62' }),
  (database) => updatePin(database, keyedAct, earlierDay, newPin),
  (database) => updatePin(database, keyedAct, earlierDay, { ...newPin, envelope }),
  (database) =>
    restoreTries(database, keyedAct, { kind: 'pin', limit: unblocks, today: earlierDay }),
  (database) => insertCard(database, { ...creation, claim: null }),
  (database) => insertCard(database, { ...creation, claim }),
  ...[null, claim, originalClaim].flatMap((claimed) =>
    [{ publicToken: token }, { panFingerprints: [fingerprint] }].map(
      (card) => (database: Database) => begin(database, card, claimed),
    ),
  ),
  ...[null, originalClaim].flatMap((claimed) =>
    [{ publicToken: token }, { panFingerprints: [fingerprint] }].map(
      (card) => (database: Database) => begin(database, card, claimed, chipUse),
    ),
  ),
  ...[null, claim].map(
    (claimed) => (database: Database) =>
      begin(database, { publicToken: token }, claimed, stripeUse),
  ),
  ...(['match', 'mismatch', 'unresolved'] as const).flatMap((comparison) =>
    [null, { clientId, keyHash, claimId, answer, remaining: 2 }].map(
      (keyed) => (database: Database) =>
        // It misses the row that nobody answers here.
        settleAuthorization(database, { spent, comparison }, decided, keyed).catch(() => null),
    ),
  ),
  (database) =>
    settleMatchAndSpend(
      database,
      { spent, authorizationId: claimId },
      { clientId, kind: 'cvv', authorizationId: holder },
      origin,
    ).catch(() => null),
  ...[null, claim, originalClaim].flatMap((claimed) =>
    [null, { kind: 'expiry', mistakes: 10, windowSeconds: 86_400 } as const].map(
      (mistake) => (database: Database) =>
        answerAuthorization(database, decided, claimed, mistake).catch(() => null),
    ),
  ),
  ...[null, originalClaim].map(
    (claimed) => (database: Database) =>
      answerAuthorization(database, { ...decided, chip: chipUse }, claimed).catch(() => null),
  ),
  (database) =>
    answerAuthorization(database, { ...decided, chip: stripeUse }, claim).catch(() => null),
  (database) => answerUnknownCard(database, 'network', originalClaim),
  // What many ask for in one turn.
  (database) => findTries(database, token, 'pin', clientId),
  (database) => findCard(database, token, clientId),
  (database) => findRecord(database, token, clientId),
  (database, limit) => listRecords(database, tokensUpTo(limit)),
  (database) => findCardWithProduct(database, token, clientId),
  (database) => findCardReference(database, token),
  (database) => findTokenByPan(database, [fingerprint]),
  ...[{ publicToken: token }, { panFingerprints: [fingerprint] }].flatMap((card) =>
    [chipRead, stripeRead, { ...chipRead, networkId: 'network' }].map(
      (key) => (database: Database) => findChip(database, card, key),
    ),
  ),
]

/** Nobody is twice in one statement, and no key or transaction. */
const ofOther = (value: SqlScalar, at: number): SqlScalar => {
  if (value === token || value === newToken) return String(Number(value) - at)
  if (typeof value === 'string' && value.endsWith(fingerprintText)) {
    return value.replace(fingerprintText, fingerprintOf(7_900 - at).toString('hex'))
  }
  if (value === claimId) return claimId.replace(/.{6}$/, String(at).padStart(6, '9'))
  const hash = createHash('sha256').update(`key ${at}`).digest()
  if (value === keyHash) return hash
  return typeof value === 'string' ? value.replace(keyText, hash.toString('hex')) : value
}

type Recorded = Statement & { values: readonly SqlValue[] }

/** What a call sends, without anything being done. */
const record = async (call: (typeof calls)[number], limit: number): Promise<Recorded[]> => {
  const recorded: Recorded[] = []
  const connection: Connection = {
    query: async ({ name, text }, values = []) => {
      recorded.push({ name, text, values })
      return []
    },
    script: async () => undefined,
  }
  const database: Database = {
    ...connection,
    async readRow({ several }, key) {
      recorded.push({ ...several, values: key.map((part) => Array(limit).fill(part)) })
      return null
    },
    async change({ one, several }, _, values) {
      recorded.push({ ...one, values })
      const lists = values.map((value) =>
        Array.from({ length: limit }, (_, other) => ofOther(value, other)),
      )
      recorded.push({ ...several, values: lists })
      return null
    },
    transaction: (work) => work(connection),
    isCluster: () => false,
    requireRoom: async () => undefined,
    isShared: false,
    load: null,
    close: async () => undefined,
  }
  await call(database, limit)
  return recorded
}

const recordAll = async (limit: number): Promise<Recorded[]> =>
  (await Promise.all(calls.map((call) => record(call, limit)))).flat()

const textOf = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value)
}

const literal = (value: SqlValue): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) {
    const texts = value.map((each) => (each === null ? 'null' : JSON.stringify(textOf(each))))
    return pg.escapeLiteral(`{${texts}}`)
  }
  return pg.escapeLiteral(textOf(value))
}

/** What was executed for a statement: itself, and what the functions do that it calls. */
const explain = async (
  client: pg.Client,
  { text, values }: Recorded,
  mode: string,
): Promise<Plan[]> => {
  await client.query('begin')
  try {
    await client.query(`set local plan_cache_mode = ${mode}`)
    await client.query(`prepare examined as ${text}`)
    const given = values.length > 0 ? `(${values.map(literal).join(', ')})` : ''
    return await collectPlans(client, () => client.query(`execute examined${given}`))
  } finally {
    await client.query('rollback')
    await client.query('deallocate all')
  }
}

/**
 * The statements that a file of `src/storage` holds, by their names; `.+` where a name is put
 * together.
 */
const statementsOf = (file: string, source: string): (readonly [string, string])[] =>
  file.endsWith('.sql')
    ? [...splitStatements(source)]
    : [...source.matchAll(/statement\(\s*['`]([^'`]+)['`],\s*(`[^`]*`)/g)].map(
        ([, name = '', text = '']) => [name.replace(/\$\{[^}]*\}/g, '.+'), text],
      )

const isBounded = (text: string): boolean =>
  /\b(insert into|(?<!for (?:no key )?)update|delete from)\b/.test(text) &&
  /\blimit (?:\$?\d|:\w|p_\w)/.test(text)

/**
 * Names of the statements of `src/storage` that change rows which a `limit` bounds, by themselves
 * or by a function.
 */
const boundedNames = async (): Promise<string[]> => {
  const functions = (await readFunctionFiles()).filter(({ text }) => isBounded(text))
  const calls = new RegExp(`\\b(?:${functions.map((each) => each.functionName).join('|')})\\(`)
  const folder = new URL('../../src/storage/', import.meta.url)
  const files = (await readdir(folder, { recursive: true })).filter((file) =>
    /\.(?:ts|sql)$/.test(file),
  )
  const names: string[] = []
  for (const file of files) {
    for (const [name, text] of statementsOf(file, await readFile(new URL(file, folder), 'utf8'))) {
      if (isBounded(text) || (functions.length > 0 && calls.test(text))) names.push(name)
    }
  }
  return names
}

test('every statement that changes rows up to a limit is among those examined', async () => {
  const examined = (await recordAll(1)).map(({ name }) => name)
  const names = await boundedNames()
  assert.ok(names.length >= 12, `${names}`)
  for (const name of names) {
    assert.ok(
      examined.some((each) => new RegExp(`^${name}$`).test(each)),
      name,
    )
  }
})

/**
 * Until version 17 an array behind other columns of an index is a filter to a planner that takes
 * what they name for nearly nothing: then at most the rows of one endpoint, or of one client's
 * feed, are read. And of a table that it takes for a single row every index costs the same: then a
 * wrong one may be walked, until the table is analyzed.
 */
const isExamined = ({ name }: Recorded, belief: string, version: number): boolean =>
  version >= 170_000 ||
  (!(/ empty$| one row$/.test(belief) && /feed|deliver/.test(name)) &&
    !(belief.endsWith(' one row') && /^(?:expire_cards|find_tries_several)$/.test(name)))

for (const [belief, bring] of Object.entries(beliefs)) {
  suite(`over a table ${belief}`, { skip: postgres.leftOut }, () => {
    let client: pg.Client
    let version: number
    before(async () => {
      const { url } = await openServerDatabase(postgres, 1)
      client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('set session_replication_role = replica')
      await bring(client)
      await client.query(tellPlans)
      const { rows } = await client.query('show server_version_num')
      version = Number(rows[0].server_version_num)
    })
    after(() => client.end())

    const readTooMuch = async (limit: number, mode: string): Promise<string[]> => {
      const tooMany: string[] = []
      for (const statement of await recordAll(limit)) {
        if (!isExamined(statement, belief, version)) continue
        const plans = await explain(client, statement, mode)
        const rows = plans.reduce((sum, plan) => sum + rowsRead(plan), 0)
        const most = /^list_decisions_/.test(statement.name) ? Math.max(limit, pageMost) : limit
        if (rows > rowsEachMost * most) tooMany.push(`${statement.name}: ${rows} rows`)
      }
      return tooMany
    }

    test('the statements of a new PIN and of an unblock queue a command for the chip here', async () => {
      const queueing = new Set<string>()
      for (const statement of await recordAll(5)) {
        if (!/^(?:set_pin|restore_tries)(?:_several)?$/.test(statement.name)) continue
        const plans = await explain(client, statement, 'force_generic_plan')
        const isQueued = plans.some(
          (plan) => plan['Node Type'] === 'ModifyTable' && plan['Relation Name'] === 'chip_command',
        )
        if (isQueued) queueing.add(statement.name)
      }
      const names = ['restore_tries', 'restore_tries_several', 'set_pin', 'set_pin_several']
      assert.deepEqual([...queueing].sort(), names)
    })

    for (const [limit, mode] of examinations) {
      test(`a statement up to ${limit} rows reads no more than that asks for (${mode})`, async () => {
        assert.deepEqual(await readTooMuch(limit, mode), [])
      })
    }
  })
}
