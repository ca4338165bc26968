import { setTimeout as wait } from 'node:timers/promises'
import type { Pan } from '../../domain/pan.ts'
import { Problem } from '../../domain/problem.ts'
import type { ResponseCode } from '../../domain/response-code.ts'
import type { Secret } from '../../domain/secret.ts'
import { hasReversalMark, type OriginalElements } from '../../storage/links/transactions.ts'
import type {
  Authorization,
  AuthorizationContext,
  AuthorizationRequest,
} from '../authorizations/authorization.ts'
import { authorize } from '../authorizations/authorize.ts'
import * as transactions from './transactions.ts'

/** An authorization request that a network sends on a link, and may repeat. */
export interface NetworkRequest extends Omit<AuthorizationRequest, 'card' | 'increment'> {
  /** How it raises a payment; null if it is no increment. */
  readonly raise: Raise | null
  /** Null if the message has no readable PAN. */
  readonly pan: Pan | null
  /** Identifies the request: a repeat has the same key, and no other request has it. */
  readonly key: string
  /** The content of the request in canonical form. */
  readonly content: Secret<string>
  readonly numbers: transactions.TransactionNumbers
  readonly original: OriginalElements
}

/** Whether the amount of an increment is added to the payment's, or is its new total. */
export type Raise = 'added' | 'total'

/** The answer to a request: the authorization, or the reason for its absence. */
export interface NetworkAnswer {
  /**
   * `94`: another request has its key, or a reversal came first. `91`: the database is unavailable.
   */
  readonly outcome: ResponseCode | '91' | '94'
  /** Null without an authorization. */
  readonly authorization: Authorization | null
  readonly replayed: boolean
}

export interface LinkAuthorizer {
  authorize(request: NetworkRequest): Promise<NetworkAnswer>
}

/** A first request without an answer after this time was lost with its process. */
const lostAfterMs = 35_000
const lookEveryMs = 50

/** Authorizes requests by the operation that `POST /network/authorizations` uses. */
export function createLinkAuthorizer(given: AuthorizationContext): LinkAuthorizer {
  const context = { ...given, hsm: transactions.distinguishOutages(given) }
  return {
    authorize: (request) =>
      authorizeSent(context, request).catch((error: unknown) =>
        refuse(transactions.selectFaultOutcome(error)),
      ),
  }
}

async function authorizeSent(
  context: AuthorizationContext,
  sent: NetworkRequest,
): Promise<NetworkAnswer> {
  const { networkId, numbers, pan } = sent
  const hashed = pan && (await transactions.hashTransaction(context.hsm, networkId, pan, numbers))
  const hashes = hashed?.transactionHashes ?? []
  const until = performance.now() + lostAfterMs
  for (;;) {
    const answer = await tryOnce(context, sent, hashed)
    if (answer) return answer
    if (await hasReversalMark(context.database, networkId, hashes)) return refuse('94')
    if (performance.now() > until) return refuse('96')
    await wait(lookEveryMs)
  }
}

/**
 * Returns the answer; null while the first request under its key has none, or when a reversal has
 * overtaken it.
 */
async function tryOnce(
  context: AuthorizationContext,
  { content, key, numbers, original, pan, raise, transaction, ...sent }: NetworkRequest,
  hashed: transactions.HashedTransaction | null,
): Promise<NetworkAnswer | null> {
  const { networkId } = sent
  const request = {
    clientId: networkId,
    idempotencyKey: key,
    request: content,
    bearsSecret: true,
    ...(hashed && {
      original: { ...original, transactionHashes: hashed.transactionHashes },
    }),
  }
  const asked = {
    ...sent,
    card: pan && hashed && { pan, panFingerprints: hashed.panFingerprints },
    transaction: {
      ...transaction,
      networkTransactionId:
        transaction.networkTransactionId ?? transactions.composeTransactionId(networkId, numbers),
    },
    ...(raise && { increment: { paymentId: null, isNewTotal: raise === 'total' } }),
  }
  const answer = await authorize(context, asked, request).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'idempotency_key_in_use') return null
    throw error
  })
  if (!answer) return null
  const { replayed, result } = answer
  return { outcome: result.responseCode, authorization: result, replayed }
}

const refuse = (outcome: NetworkAnswer['outcome']): NetworkAnswer => ({
  outcome,
  authorization: null,
  replayed: false,
})
