import { createHash } from 'node:crypto'
import type { Pan } from '../../domain/pan.ts'
import { Problem } from '../../domain/problem.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { AuthorizationContext } from '../authorizations/authorization.ts'

/** The network's numbers of a transaction, by which a reversal finds it. */
export interface TransactionNumbers {
  readonly reference: string
  readonly terminal: string
  readonly merchant: string
}

/** A transaction as the database stores it, without the network's texts. */
export interface HashedTransaction {
  /** The fingerprints for finding the card, one for each version of their key. */
  readonly panFingerprints: readonly Uint8Array[]
  /** The identifiers of the transaction, one for each of the fingerprints. */
  readonly transactionHashes: readonly Uint8Array[]
}

/** @throws HsmSilent */
export async function hashTransaction(
  hsm: Pick<Hsm, 'fingerprintPan'>,
  networkId: string,
  pan: Pan,
  { merchant, reference, terminal }: TransactionNumbers,
): Promise<HashedTransaction> {
  const known = await hsm.fingerprintPan(pan)
  const panFingerprints = known.map(({ fingerprint }) => fingerprint)
  const numbers = JSON.stringify([networkId, reference, terminal, merchant])
  const transactionHashes = panFingerprints.map((fingerprint) =>
    createHash('sha256').update(fingerprint).update(numbers).digest(),
  )
  return { panFingerprints, transactionHashes }
}

/**
 * Composes an id by which the later messages of a transaction name its payment, where the network
 * sends no id of its own: 15 letters and digits, the same for the same numbers.
 * @returns null without a reference, which several transactions could lack.
 */
export function composeTransactionId(
  networkId: string,
  { merchant, reference, terminal }: TransactionNumbers,
): string | null {
  if (reference.trim() === '') return null
  const numbers = JSON.stringify([networkId, reference, terminal, merchant])
  const hash = createHash('sha256').update(numbers).digest('hex')
  return BigInt(`0x${hash}`).toString(36).toUpperCase().slice(0, 15)
}

/** The HSM gave no answer, which is not an outcome of the request. */
class HsmSilent extends Error {}

/** Wraps an HSM: its outages are reported, and distinguishable from those of the database. */
export function distinguishOutages({
  hsm,
  observe,
}: Pick<AuthorizationContext, 'hsm' | 'observe'>): Hsm {
  const silent = (cause: unknown): never => {
    observe.hsmFaulted(cause)
    throw new HsmSilent('The HSM gave no answer.', { cause })
  }
  return {
    ...hsm,
    fingerprintRequest: (given) => hsm.fingerprintRequest(given).catch(silent),
    fingerprintPan: (pan) => hsm.fingerprintPan(pan).catch(silent),
    sealRecord: (...given) => hsm.sealRecord(...given).catch(silent),
    revealRecord: (...given) => hsm.revealRecord(...given).catch(silent),
  }
}

/** Selects the answer to an outage. @throws any other error unchanged. */
export function selectFaultOutcome(error: unknown): '91' | '94' | '96' {
  if (error instanceof HsmSilent) return '96'
  if (error instanceof Problem && error.code === 'unavailable') return '91'
  if (error instanceof Problem && error.code === 'idempotency_key_reused') return '94'
  throw error
}
