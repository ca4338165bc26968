import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A refused disclosure. */
export interface RefusedDisclosure {
  readonly clientId: string
  /**
   * The token in the request, whether or not it is the client's card; null if it cannot be a card's
   * token.
   */
  readonly publicToken: string | null
  readonly act: 'pin.revealed' | 'card_data.revealed' | 'cardholder.revealed' | 'pan.searched'
  readonly includesPin: boolean
  /** The thumbprint of the key in the request, if there was one. */
  readonly device: string | null
  /** `failed` if it may have been recorded as done before. */
  readonly outcome: 'refused' | 'failed'
  /** The code of the problem. */
  readonly reason: string
}

/** Several equal refusals. */
export interface CountedRefusal extends RefusedDisclosure {
  readonly count: number
  /** The request id of the first one. */
  readonly requestId: string
  /** The age of the first one, in seconds. */
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

/** Counts refusals, each given once, by the minute of their arrival. */
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
