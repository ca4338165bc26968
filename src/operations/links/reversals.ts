import { createHash } from 'node:crypto'
import type { Pan } from '../../domain/pan.ts'
import { holdsPan } from '../../domain/pan.ts'
import { Problem } from '../../domain/problem.ts'
import { findTokenByPan } from '../../storage/authorizations/begin.ts'
import * as storedAdvices from '../../storage/links/advices.ts'
import { findLink } from '../../storage/links/links.ts'
import {
  type OriginalElements,
  reverseByElements,
  reverseTransaction,
} from '../../storage/links/transactions.ts'
import type { AuthorizationContext } from '../authorizations/authorization.ts'
import type { LinkContext } from './links.ts'
import * as transactions from './transactions.ts'

/** An advice: a network reports its own decision, or a reversal. It never changes tries. */
export interface NetworkAdvice
  extends Omit<storedAdvices.NewAdvice, 'adviceHash' | 'publicToken' | 'isMatched'> {
  /** Equal for the same advice, and different for every other one. */
  readonly key: string
  /** Null if the field is empty or invalid. */
  readonly pan: Pan | null
  readonly transaction: transactions.TransactionNumbers
}

/** A reversal, with everything that identifies its original. */
export interface NetworkReversal extends NetworkAdvice {
  /** Null if it names no original; an unknown part is an empty text. */
  readonly original: OriginalElements | null
}

export interface LinkAdvices {
  /** Records an advice, once. */
  take(advice: NetworkAdvice): Promise<'00' | AdviceFault>
  /**
   * Handles a reversal: marks its original, and nothing else. A reversal that precedes its original
   * leaves a mark for it, under the lock of one row.
   * @returns `25` if the original is unknown.
   */
  reverse(reversal: NetworkReversal): Promise<'00' | '25' | AdviceFault>
}

type AdviceFault = ReturnType<typeof transactions.selectFaultOutcome>

/** The dependencies of advices and reversals. */
type AdviceContext = Pick<AuthorizationContext, 'database' | 'hsm' | 'observe'>

export function createAdvices({ database, hsm: asked, observe }: AdviceContext): LinkAdvices {
  const hsm = transactions.distinguishOutages({ hsm: asked, observe })
  const hashed = async ({ networkId, pan, transaction }: NetworkAdvice) =>
    pan
      ? transactions.hashTransaction(hsm, networkId, pan, transaction)
      : { panFingerprints: [], transactionHashes: [] }

  async function record(
    { key, pan: _, reference, transaction: __, ...advice }: NetworkAdvice,
    panFingerprints: readonly Uint8Array[],
    isMatched: boolean,
  ): Promise<void> {
    await storedAdvices.recordAdvice(database, {
      ...advice,
      publicToken: await findTokenByPan(database, panFingerprints),
      // The sender may have put a card number into the field of the network's number.
      reference: reference !== null && holdsPan(reference) ? null : reference,
      adviceHash: createHash('sha256').update(key).digest(),
      isMatched,
    })
  }

  return {
    async take(advice) {
      try {
        const { panFingerprints } = await hashed(advice)
        await record(advice, panFingerprints, false)
        return '00'
      } catch (error) {
        return transactions.selectFaultOutcome(error)
      }
    },
    async reverse({ original, ...advice }) {
      const { networkId, pan } = advice
      try {
        const { panFingerprints, transactionHashes } = await hashed(advice)
        // Many terminals use the same trace number; the other numbers are needed to identify the
        // original.
        const isNamed = original !== null && (original.transmittedAt !== '' || pan === null)
        let isMatched = isNamed && (await reverseByElements(database, networkId, original))
        if (!isMatched) {
          for (const transactionHash of transactionHashes) {
            const reversed = await reverseTransaction(database, { networkId, transactionHash })
            isMatched = reversed || isMatched
          }
        }
        await record(advice, panFingerprints, isMatched)
        return isMatched ? '00' : '25'
      } catch (error) {
        return transactions.selectFaultOutcome(error)
      }
    },
  }
}

/** Lists the advices and reversals on a link, newest first. @throws `Problem` `not_found`. */
export async function listAdvices(
  { database }: Pick<LinkContext, 'database'>,
  linkName: string,
  before: storedAdvices.AdvicePosition | null,
  limit: number,
): Promise<storedAdvices.KnownAdvice[]> {
  if (!(await findLink(database, linkName))) throw new Problem('not_found')
  return storedAdvices.listAdviceRows(database, linkName, before, limit)
}
