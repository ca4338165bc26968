import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A disclosure that was refused. */
export interface RefusedDisclosure {
  readonly clientId: string
  /**
   * As it was asked for, whether or not it is the client's card; null where it can be no card's
   * token.
   */
  readonly publicToken: string | null
  readonly act: 'pin.revealed' | 'card_data.revealed' | 'cardholder.revealed' | 'pan.searched'
  readonly includesPin: boolean
  /** The thumbprint of the key that it was to be sealed to, where there was one. */
  readonly device: string | null
  /** `failed` where it may have been put on record as done before. */
  readonly outcome: 'refused' | 'failed'
  /** The code of the problem. */
  readonly reason: string
}

/** Several of them that say the same. */
export interface CountedRefusal extends RefusedDisclosure {
  readonly count: number
  /** Of the first. */
  readonly requestId: string
  /** How long ago the first was, in seconds. */
  readonly ageSeconds: number
}

const upsertRefusals = declare<{
  clientIds: readonly string[]
  publicTokens: readonly (string | null)[]
  acts: readonly string[]
  includesPin: readonly boolean[]
  devices: readonly (string | null)[]
  outcomes: readonly string[]
  reasons: readonly string[]
  counts: readonly number[]
  requestIds: readonly string[]
  agesSeconds: readonly number[]
}>('count_refused_disclosures')

/** Counts refusals, each given once, in the minute in which they came. */
export async function countRefusedDisclosures(
  connection: Connection,
  refusals: readonly CountedRefusal[],
): Promise<void> {
  await upsertRefusals(connection, {
    clientIds: refusals.map(({ clientId }) => clientId),
    publicTokens: refusals.map(({ publicToken }) => publicToken),
    acts: refusals.map(({ act }) => act),
    includesPin: refusals.map(({ includesPin }) => includesPin),
    devices: refusals.map(({ device }) => device),
    outcomes: refusals.map(({ outcome }) => outcome),
    reasons: refusals.map(({ reason }) => reason),
    counts: refusals.map(({ count }) => count),
    requestIds: refusals.map(({ requestId }) => requestId),
    agesSeconds: refusals.map(({ ageSeconds }) => ageSeconds),
  })
}
