import type {
  DecisionEndpoint,
  DecisionFormat,
  EndpointMode,
  EndpointSettings,
  FallbackKind,
} from '../../domain/decision.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** Identifies an endpoint; product null is for all products without an endpoint of their own. */
export interface EndpointReference {
  readonly clientId: string
  readonly productId: number | null
}

/** The versions of an endpoint that are in use; null for none. */
export interface EndpointVersions {
  /** Registered, and not activated yet. */
  readonly draftVersion: number | null
  readonly enforcedVersion: number | null
  readonly previousVersion: number | null
  readonly shadowVersion: number | null
}

export interface EndpointState extends EndpointVersions {
  readonly degradedSince: Date | null
  readonly changedAt: Date
}

/** A version, with the time of its registration. */
export interface RegisteredEndpoint extends DecisionEndpoint {
  readonly createdAt: Date
}

/** The key of an endpoint in the tables: product 0 stands for all products. */
interface EndpointKey {
  readonly clientId: string
  readonly productId: number
}

interface EndpointRow extends EndpointKey {
  readonly version: number
  readonly url: string | null
  readonly timeoutMs: number
  readonly maxInFlight: number
  readonly onTimeout: FallbackKind
  readonly onError: FallbackKind
  readonly rule: string | null
  readonly mode: EndpointMode
  readonly samplePercent: number
  readonly format: DecisionFormat
  readonly apiVersion: string
  readonly createdAt: Date
}

const declare = loadStatements(import.meta.url)

const toKey = ({ clientId, productId }: EndpointReference): EndpointKey => ({
  clientId,
  productId: productId ?? 0,
})

const toEndpoint = (row: EndpointRow): RegisteredEndpoint => ({
  clientId: row.clientId,
  productId: row.productId === 0 ? null : row.productId,
  version: row.version,
  url: row.url,
  timeoutMs: row.timeoutMs,
  maxInFlight: row.maxInFlight,
  fallback: { onTimeout: row.onTimeout, onError: row.onError, rule: row.rule },
  mode: row.mode,
  samplePercent: row.samplePercent,
  format: row.format,
  apiVersion: row.apiVersion,
  createdAt: row.createdAt,
})

const addState = declare<EndpointKey>('add_decision_endpoint_state')
const lockState = declare<EndpointKey, EndpointState>('lock_decision_endpoint_state')

/** Locks an endpoint until the transaction ends; one that does not exist is added, empty. */
export async function lockEndpoint(
  connection: Connection,
  reference: EndpointReference,
): Promise<EndpointState> {
  const key = toKey(reference)
  await addState(connection, key)
  const [state] = await lockState(connection, key)
  if (!state) throw new Error('A decision endpoint was not locked.')
  return state
}

const selectState = declare<EndpointKey, EndpointState>('find_decision_endpoint_state')

/** Returns the state of an endpoint, or null. */
export const findEndpointState = async (
  connection: Connection,
  reference: EndpointReference,
): Promise<EndpointState | null> => firstRow(await selectState(connection, toKey(reference)))

const updateState = declare<EndpointKey & EndpointVersions>('update_decision_endpoint_state')

/** Sets which versions are in use. Another enforced version is not degraded. */
export const updateEndpointState = async (
  connection: Connection,
  reference: EndpointReference,
  { draftVersion, enforcedVersion, previousVersion, shadowVersion }: EndpointVersions,
): Promise<void> => {
  const versions = { draftVersion, enforcedVersion, previousVersion, shadowVersion }
  await updateState(connection, { ...toKey(reference), ...versions })
}

/** The numbers that decide whether, and under which number, a version can be registered. */
interface VersionCount {
  readonly nextVersion: number
  /** At most the limit of the statement. */
  readonly recentVersions: number
  /** The seconds until the oldest of them is 24 hours old. */
  readonly waitSeconds: number
}

const countVersions = declare<EndpointKey & { limit: number }, VersionCount>(
  'count_decision_endpoint_versions',
)

/** Counts the versions of a locked endpoint of the last 24 hours, up to a limit. */
export async function countEndpointVersions(
  connection: Connection,
  reference: EndpointReference,
  limit: number,
): Promise<VersionCount> {
  const [count] = await countVersions(connection, { ...toKey(reference), limit })
  if (!count) throw new Error('The versions of a decision endpoint were not counted.')
  return count
}

const insertVersion = declare<Omit<EndpointRow, 'createdAt'>>('insert_decision_endpoint')

/** Adds a version of a locked endpoint. */
export const insertEndpointVersion = async (
  connection: Connection,
  reference: EndpointReference,
  { apiVersion, version }: Pick<DecisionEndpoint, 'apiVersion' | 'version'>,
  { fallback, format, maxInFlight, mode, samplePercent, timeoutMs, url }: EndpointSettings,
): Promise<void> => {
  await insertVersion(connection, {
    ...toKey(reference),
    version,
    apiVersion,
    url,
    timeoutMs,
    maxInFlight,
    onTimeout: fallback.onTimeout,
    onError: fallback.onError,
    rule: fallback.rule,
    mode,
    samplePercent,
    format,
  })
}

const selectVersions = declare<EndpointKey, EndpointRow>('list_decision_endpoint_versions')

/** Lists the draft of an endpoint, and its versions in force. */
export const listEndpointVersions = async (
  connection: Connection,
  reference: EndpointReference,
): Promise<RegisteredEndpoint[]> =>
  (await selectVersions(connection, toKey(reference))).map(toEndpoint)

/** An endpoint with its draft and its versions in force. */
export interface EndpointWithVersions {
  readonly productId: number | null
  readonly state: EndpointState
  readonly versions: readonly RegisteredEndpoint[]
}

const selectOfClient = declare<{ clientId: string; limit: number }, EndpointRow & EndpointState>(
  'list_decision_endpoints_of_client',
)

/** Lists the endpoints of a client that have versions: the one for all products first. */
export async function listClientEndpoints(
  connection: Connection,
  clientId: string,
  limit: number,
): Promise<EndpointWithVersions[]> {
  const rows = await selectOfClient(connection, { clientId, limit })
  return [...Map.groupBy(rows, ({ productId }) => productId)].flatMap(([productId, some]) => {
    const [state] = some
    if (!state) return []
    return [
      { productId: productId === 0 ? null : productId, state, versions: some.map(toEndpoint) },
    ]
  })
}

/** A decision endpoint that does not answer. */
interface DegradedEndpoint {
  readonly clientId: string
  /** Null: for all products without an endpoint of their own. */
  readonly productId: number | null
  readonly degradedSince: Date
}

const selectDegraded = declare<{ limit: number }, DegradedEndpoint>('list_degraded_endpoints')

/** Lists endpoints of all clients that do not answer, the longest first. */
export const listDegradedEndpoints = (
  connection: Connection,
  limit: number,
): Promise<DegradedEndpoint[]> => selectDegraded(connection, { limit })

const selectVersion = declare<EndpointKey & { version: number }, EndpointRow>(
  'find_decision_endpoint_version',
)

/** Returns a version of an endpoint, in force or not, or null. */
export const findEndpointVersion = async (
  connection: Connection,
  reference: EndpointReference,
  version: number,
): Promise<RegisteredEndpoint | null> => {
  const row = firstRow(await selectVersion(connection, { ...toKey(reference), version }))
  return row && toEndpoint(row)
}

/** The part of a version that is in force. */
export type EndpointRole = 'enforced' | 'previous' | 'shadow'

const selectInForce = declare<EndpointKey, EndpointRow & { role: EndpointRole }>(
  'list_decision_endpoints_in_force',
)

/** Lists what is in force for a product of a client, its own and that for all products. */
export const listEndpointsInForce = async (
  connection: Connection,
  clientId: string,
  productId: number,
): Promise<(RegisteredEndpoint & { readonly role: EndpointRole })[]> =>
  (await selectInForce(connection, { clientId, productId })).map((row) => ({
    ...toEndpoint(row),
    role: row.role,
  }))
