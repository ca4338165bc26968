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

/** What a network asks on a link, which it may send again. */
export interface NetworkRequest extends Omit<AuthorizationRequest, 'card'> {
  /** Null: what stands in its place is none. */
  readonly pan: Pan | null
  /** The same for the same question, and for no other. */
  readonly key: string
  /** All that is asked, in one spelling. */
  readonly content: Secret<string>
  readonly transaction: transactions.TransactionNumbers
  readonly original: OriginalElements
}

/** What a question came to: as an authorization answers, or why it was not asked. */
export interface NetworkAnswer {
  /**
   * `94`: another question under its key, or reversed before it came. `91`: the database is away.
   */
  readonly outcome: ResponseCode | '91' | '94'
  /** Null where nothing was asked. */
  readonly authorization: Authorization | null
  readonly replayed: boolean
}

export interface LinkAuthorizer {
  ask(question: NetworkRequest): Promise<NetworkAnswer>
}

/**
 * A first request that has not answered by then was lost with its process, and answers so itself.
 */
const lostAfterMs = 35_000
const lookEveryMs = 50

/** Asks what `POST /network/authorizations` asks, by the same operation. */
export function createLinkAuthorizer(context: AuthorizationContext): LinkAuthorizer {
  const hsm = transactions.tellingSilence(context)
  const asking = { ...context, hsm }

  /**
   * The answer; null where the first question under its key is not answered yet, or a reversal has
   * overtaken it.
   */
  async function askOnce(
    { content, key, original, pan, transaction: _, ...asked }: NetworkRequest,
    hashed: transactions.HashedTransaction | null,
  ): Promise<NetworkAnswer | null> {
    const request = {
      clientId: asked.networkId,
      idempotencyKey: key,
      request: content,
      bearsSecret: true,
      ...(hashed && {
        original: { ...original, transactionHashes: hashed.transactionHashes },
      }),
    }
    const card = pan && hashed && { pan, panFingerprints: hashed.panFingerprints }
    const answer = await authorize(asking, { ...asked, card }, request).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'idempotency_key_in_use') return null
      throw error
    })
    if (!answer) return null
    const { replayed, result } = answer
    return { outcome: result.responseCode, authorization: result, replayed }
  }

  async function ask(question: NetworkRequest): Promise<NetworkAnswer> {
    const { networkId, pan, transaction } = question
    const hashed = pan && (await transactions.hashTransaction(hsm, networkId, pan, transaction))
    const hashes = hashed?.transactionHashes ?? []
    const until = performance.now() + lostAfterMs
    for (;;) {
      const answer = await askOnce(question, hashed)
      if (answer) return answer
      if (await hasReversalMark(context.database, networkId, hashes)) return unasked('94')
      if (performance.now() > until) return unasked('96')
      await wait(lookEveryMs)
    }
  }

  return {
    ask: (question) =>
      ask(question).catch((error: unknown) => unasked(transactions.selectFaultOutcome(error))),
  }
}

const unasked = (outcome: NetworkAnswer['outcome']): NetworkAnswer => ({
  outcome,
  authorization: null,
  replayed: false,
})
