import type { Decider } from '../../domain/decision.ts'
import { Problem } from '../../domain/problem.ts'
import { findClient } from '../../storage/clients/clients.ts'
import { listClientEndpoints, listDegradedEndpoints } from '../../storage/decisions/endpoints.ts'
import * as figures from '../../storage/decisions/figures.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { toFirstId } from '../authorizations/recorded-pages.ts'
import { describeEndpoint, type VersionedEndpoint } from './endpoint-record.ts'

/** The decision endpoints of a client, and how they did in the last hour, as operators see them. */
export interface WatchedEndpoints {
  /** The endpoint for all products first. */
  readonly endpoints: readonly VersionedEndpoint[]
  readonly lastHour: {
    readonly decisions: number
    readonly p50Ms: number | null
    readonly p99Ms: number | null
    readonly decidedBy: readonly { readonly decidedBy: Decider; readonly decisions: number }[]
  }
  /** The last ones of the hour that the endpoint did not make. */
  readonly failures: readonly WatchedFailure[]
}

interface WatchedFailure {
  readonly decisionId: string
  readonly publicToken: string
  readonly authorizationId: string
  readonly decidedBy: Decider
  readonly error: string | null
  readonly statusCode: number | null
  readonly durationMs: number | null
  readonly askedAt: string
  readonly productId: number | null
  readonly version: number
}

const endpointsMost = 100
/** A busy client has more decisions in an hour: its newest ones are read. */
const decisionsMost = 10_000
const failuresMost = 20
const hourMs = 3_600_000

/**
 * Reads the endpoints of a client, and its decisions of the last hour.
 * @throws `Problem` `not_found` for an unknown client.
 */
export async function watchEndpoints(
  { database }: { readonly database: Connection },
  clientId: string,
): Promise<WatchedEndpoints> {
  if (!(await findClient(database, clientId))) throw new Problem('not_found')
  const after = toFirstId(new Date(Date.now() - hourMs))
  const recent = { clientId, after, limit: decisionsMost }
  const endpoints = await listClientEndpoints(database, clientId, endpointsMost)
  const latency = await figures.measureDecisions(database, recent)
  const decidedBy = await figures.countDeciders(database, recent)
  const failures = await figures.listFailedDecisions(database, recent, failuresMost)
  return {
    endpoints: endpoints.map(describeEndpoint),
    lastHour: { ...latency, decidedBy },
    failures: failures.map(({ askedAt, ...failure }) => ({
      ...failure,
      askedAt: askedAt.toISOString(),
    })),
  }
}

/** Lists endpoints of all clients that do not answer, so that their fallbacks decide. */
export const listSilentEndpoints = ({ database }: { readonly database: Connection }) =>
  listDegradedEndpoints(database, endpointsMost)
