import type { DecisionFormat, DecisionPurpose } from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { DecisionKey } from './calls.ts'

/** A request that no stream of its client has taken yet. */
export interface OfferedRequest extends DecisionKey {
  readonly clientId: string
  readonly sequence: number
  readonly purpose: DecisionPurpose
  /** `DecisionFacts`, as JSON. */
  readonly facts: string
  readonly heldAmount: number | null
  readonly heldCurrencyCode: string | null
  readonly deadline: Date
  /** 0 for the endpoint of all products. */
  readonly endpointProductId: number
  readonly endpointVersion: number
  readonly format: DecisionFormat
  readonly apiVersion: string
  /** How long it has waited. */
  readonly ageMs: number
  /** The whole time for its answer. */
  readonly timeoutMs: number
}

const declare = loadStatements(import.meta.url)

const selectWaiting = declare<{ clientIds: readonly string[]; limit: number }, OfferedRequest>(
  'list_waiting_requests',
)

/**
 * Lists requests that wait for a stream of one of these clients, for each client the most urgent
 * first. A client with many of them does not keep out those of another client.
 */
export async function listWaitingRequests(
  connection: Connection,
  clientIds: readonly string[],
  limit: number,
): Promise<readonly OfferedRequest[]> {
  const rows = await selectWaiting(connection, { clientIds, limit })
  if (rows.length < limit || clientIds.length === 1) return rows
  // A cluster cannot limit the rows of each client in one statement. Those that have their share
  // keep it, and the others are listed without them.
  const byClient = Map.groupBy(rows, ({ clientId }) => clientId)
  const share = rows.length / byClient.size
  const served = new Map([...byClient].filter(([, some]) => some.length >= share))
  const others = clientIds.filter((clientId) => !served.has(clientId))
  const rest = others.length === 0 ? [] : await listWaitingRequests(connection, others, limit)
  return [...[...served.values()].flat(), ...rest]
}

interface RequestKeys {
  readonly publicTokens: readonly PublicToken[]
  readonly decisionIds: readonly string[]
  readonly holder: string
}

const toKeys = (requests: readonly DecisionKey[], holder: string): RequestKeys => ({
  publicTokens: requests.map(({ publicToken }) => publicToken),
  decisionIds: requests.map(({ decisionId }) => decisionId),
  holder,
})

const takeRows = declare<RequestKeys, { decisionId: string }>('take_requests')

/**
 * Takes requests for a stream. Of several streams that take one, one gets it.
 * @returns the ids of those that it got.
 */
export async function takeRequests(
  connection: Connection,
  requests: readonly DecisionKey[],
  holder: string,
): Promise<ReadonlySet<string>> {
  const rows = await takeRows(connection, toKeys(requests, holder))
  return new Set(rows.map(({ decisionId }) => decisionId))
}

const returnRows = declare<RequestKeys>('give_requests_back')

/** Leaves the unanswered requests of a stream to another one. */
export async function giveRequestsBack(
  connection: Connection,
  requests: readonly DecisionKey[],
  holder: string,
): Promise<void> {
  await returnRows(connection, toKeys(requests, holder))
}

interface RequestProgress {
  /** Whether a stream has taken the request. */
  readonly isTaken: boolean
  /** Whether an answer came by a call. */
  readonly isAnswered: boolean
}

const selectProgress = declare<DecisionKey, RequestProgress>('find_request_progress')

/** Returns how far a request has come that goes to a stream. */
export const findRequestProgress = async (
  connection: Connection,
  { decisionId, publicToken }: DecisionKey,
): Promise<RequestProgress> =>
  firstRow(await selectProgress(connection, { publicToken, decisionId })) ?? {
    isTaken: false,
    isAnswered: false,
  }
