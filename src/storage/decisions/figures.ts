import type { Decider } from '../../domain/decision.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The newest decisions of a client. */
interface RecentDecisions {
  readonly clientId: string
  /** A UUID before those of the period (version 7). */
  readonly after: string
  /** The maximum number of decisions that are read. */
  readonly limit: number
}

/** How many decisions there were, and how long they took; null without any. */
interface DecisionLatency {
  readonly decisions: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

const measure = declare<RecentDecisions, DecisionLatency>('measure_decisions')

/** Measures the decisions that were concluded. */
export const measureDecisions = async (
  connection: Connection,
  { after, clientId, limit }: RecentDecisions,
): Promise<DecisionLatency> =>
  firstRow(await measure(connection, { after, clientId, limit })) ?? {
    decisions: 0,
    p50Ms: null,
    p99Ms: null,
  }

interface DeciderShare {
  readonly decidedBy: Decider
  readonly decisions: number
}

const count = declare<RecentDecisions, DeciderShare>('count_deciders')

/** Counts who decided, the most frequent one first. */
export const countDeciders = (
  connection: Connection,
  { after, clientId, limit }: RecentDecisions,
): Promise<DeciderShare[]> => count(connection, { after, clientId, limit })

/** A decision that its endpoint did not make. */
interface FailedDecision {
  readonly decisionId: string
  readonly publicToken: string
  readonly authorizationId: string
  readonly decidedBy: Decider
  readonly error: string | null
  readonly statusCode: number | null
  readonly durationMs: number | null
  readonly askedAt: Date
  readonly productId: number | null
  readonly version: number
}

const selectFailed = declare<RecentDecisions & { failuresMost: number }, FailedDecision>(
  'list_failed_decisions',
)

/** Lists the decisions that their endpoint did not make, newest first. */
export const listFailedDecisions = (
  connection: Connection,
  { after, clientId, limit }: RecentDecisions,
  failuresMost: number,
): Promise<FailedDecision[]> => selectFailed(connection, { after, clientId, limit, failuresMost })
