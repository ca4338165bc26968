import type { Requester } from '../../domain/client.ts'
import type { EndpointSettings } from '../../domain/decision.ts'
import { generateDecisionKeys } from '../../domain/decision-keys.ts'
import type { ProductId } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { WebhookSecret } from '../../domain/webhook-secret.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import * as stored from '../../storage/decisions/endpoints.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { findGrantedProduct } from '../../storage/products/products.ts'
import { isSame, recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import { type EndpointRecord, readRecord } from './endpoint-record.ts'
import { type PingContext, pingEndpoint } from './ping.ts'
import type { EndpointRegistry } from './registry.ts'
import { storeFirstKeys } from './rotate-keys.ts'

export type { EndpointRecord }

/** The dependencies of the operations on decision endpoints. */
export interface EndpointContext extends PingContext {
  readonly hsm: Hsm
  readonly registry: EndpointRegistry
}

interface ActivationContext extends EndpointContext {
  /** Called before the wait for the endpoint begins. */
  readonly onWaiting: () => void
}

/** The settings of a version, and the version of the interface that it is registered by. */
interface Registration {
  readonly settings: EndpointSettings
  readonly apiVersion: string
}

/** An endpoint and, in the answer to the first registration only, the HMAC secret. */
interface RegisteredRecord extends EndpointRecord {
  readonly secret?: WebhookSecret
}

const noEndpoint = 'No decision endpoint is registered: PUT one first.'

/** Registrations of a client must not fill the table. */
const versionsMax = 100

/**
 * Registers the draft of an endpoint. Settings of the draft, or of the version in force, make no
 * version; those of the version in force remove the draft.
 * @throws `Problem` `product_not_available`; `rate_limited` after 100 versions in 24 hours.
 */
export async function registerEndpoint(
  context: EndpointContext,
  requester: Requester,
  productId: ProductId | null,
  registration: Registration,
  request: RepeatableRequest | null,
): Promise<Answer<RegisteredRecord>> {
  const { clientId } = requester
  // Before the transaction, which an embedded database runs alone.
  if (productId !== null) await requireProduct(context.database, clientId, productId)
  const generated = generateDecisionKeys()
  const answer = await once(context, request, async (connection) => {
    const reference = { clientId, productId }
    const hasNewKeys = await storeFirstKeys(connection, context.hsm, clientId, generated)
    await storeDraft(connection, requester, reference, registration)
    return { hasNewKeys, record: await requireRecord(connection, reference) }
  })
  const { hasNewKeys, record } = answer.result
  if (answer.replayed || !hasNewKeys) return { replayed: answer.replayed, result: record }
  context.signer.forget()
  return { replayed: false, result: { ...record, secret: generated.keys.hmacSecret } }
}

async function requireProduct(
  database: Database,
  clientId: string,
  productId: ProductId,
): Promise<void> {
  if (await findGrantedProduct(database, clientId, productId)) return
  throw new Problem('product_not_available', {
    errors: [
      { pointer: '/productId', parameter: 'productId', detail: 'is not granted to your client' },
    ],
  })
}

async function storeDraft(
  connection: Connection,
  requester: Requester,
  reference: stored.EndpointReference,
  { apiVersion, settings }: Registration,
): Promise<void> {
  const state = await stored.lockEndpoint(connection, reference)
  const versions = await stored.listEndpointVersions(connection, reference)
  const isRegistered = (version: number | null) =>
    versions.some((each) => each.version === version && isEqual(each, { apiVersion, settings }))
  if (isRegistered(state.draftVersion)) return
  const inForce = settings.mode === 'shadow' ? state.shadowVersion : state.enforcedVersion
  if (isRegistered(inForce)) {
    if (state.draftVersion === null) return
    await stored.updateEndpointState(connection, reference, { ...state, draftVersion: null })
    await recordEndpointAct(connection, requester, 'draft_removed', reference, {
      version: state.draftVersion,
    })
    return
  }
  const count = await stored.countEndpointVersions(connection, reference, versionsMax)
  if (count.recentVersions >= versionsMax) {
    throw new Problem('rate_limited', {
      detail: `The limit of ${versionsMax} versions in 24 hours is reached.`,
      retryAfterSeconds: count.waitSeconds,
    })
  }
  const version = count.nextVersion
  await stored.insertEndpointVersion(connection, reference, { version, apiVersion }, settings)
  await stored.updateEndpointState(connection, reference, { ...state, draftVersion: version })
  await recordEndpointAct(connection, requester, 'registered', reference, {
    version,
    ...describeSettings(settings),
  })
}

/** Whether a version has these settings. */
const isEqual = (
  version: stored.RegisteredEndpoint,
  { apiVersion, settings }: Registration,
): boolean =>
  version.apiVersion === apiVersion && isSame(pickSettings(version), pickSettings(settings))

const pickSettings = (settings: EndpointSettings): EndpointSettings => ({
  url: settings.url,
  timeoutMs: settings.timeoutMs,
  maxInFlight: settings.maxInFlight,
  fallback: {
    onTimeout: settings.fallback.onTimeout,
    onError: settings.fallback.onError,
    rule: settings.fallback.rule,
  },
  mode: settings.mode,
  samplePercent: settings.samplePercent,
  format: settings.format,
})

/** Describes a version for the audit log. The query of a URL may hold a secret of the client. */
const describeSettings = ({ fallback, mode, samplePercent, url }: EndpointSettings): object => ({
  host: url === null ? null : new URL(url).host,
  mode,
  sample: samplePercent,
  onTimeout: fallback.onTimeout,
  onError: fallback.onError,
})

/**
 * Returns the requester's endpoint.
 * @throws `Problem` `not_found` if it has neither a draft nor a version in force.
 */
export const findEndpoint = (
  { database }: Pick<EndpointContext, 'database'>,
  { clientId }: Requester,
  productId: ProductId | null,
): Promise<EndpointRecord> => requireRecord(database, { clientId, productId })

async function requireRecord(
  connection: Connection,
  reference: stored.EndpointReference,
): Promise<EndpointRecord> {
  const record = await readRecord(connection, reference)
  if (!record) throw new Problem('not_found', { detail: noEndpoint })
  return record
}

/**
 * Puts the draft in force, after a ping. The enforced version becomes the previous one, unless it
 * is a trial: a version with a sample below 100 percent.
 * @throws `Problem` `not_found`, `decision_version_conflict`, `decision_ping_failed`.
 */
export async function activateEndpoint(
  context: ActivationContext,
  requester: Requester,
  productId: ProductId | null,
  request: RepeatableRequest | null,
): Promise<Answer<EndpointRecord>> {
  const reference = { clientId: requester.clientId, productId }
  // A repeat gets the first answer, without another ping.
  const first = await recall<EndpointRecord>(context, request)
  if (first) return first
  const state = await requireState(context.database, reference)
  const draft = await requireVersion(context.database, reference, state.draftVersion, 'draft')
  context.onWaiting()
  await pingEndpoint(context, draft)
  const answer = await once(context, request, async (connection) => {
    const locked = await stored.lockEndpoint(connection, reference)
    if (locked.draftVersion !== draft.version) {
      throw refuseVersion('The draft has changed while it was pinged.')
    }
    const versions = await activatedVersions(connection, reference, locked, draft)
    await requireRest(connection, reference, versions, draft)
    await stored.updateEndpointState(connection, reference, versions)
    await recordEndpointAct(connection, requester, 'activated', reference, {
      version: draft.version,
      ...describeSettings(draft),
    })
    return requireRecord(connection, reference)
  })
  context.registry.forget()
  return answer
}

async function activatedVersions(
  connection: Connection,
  reference: stored.EndpointReference,
  state: stored.EndpointState,
  { mode, version }: stored.RegisteredEndpoint,
): Promise<stored.EndpointVersions> {
  if (mode === 'shadow') return { ...state, draftVersion: null, shadowVersion: version }
  const { enforcedVersion, previousVersion } = state
  const replaced =
    enforcedVersion === null
      ? null
      : await stored.findEndpointVersion(connection, reference, enforcedVersion)
  return {
    draftVersion: null,
    enforcedVersion: version,
    previousVersion: replaced?.samplePercent === 100 ? replaced.version : previousVersion,
    shadowVersion: null,
  }
}

/** @throws `Problem` `decision_version_conflict` if no version would decide outside the sample. */
async function requireRest(
  connection: Connection,
  { clientId, productId }: stored.EndpointReference,
  { previousVersion }: stored.EndpointVersions,
  { mode, samplePercent }: stored.RegisteredEndpoint,
): Promise<void> {
  if (mode === 'shadow' || samplePercent === 100 || previousVersion !== null) return
  const common =
    productId === null
      ? null
      : await stored.findEndpointState(connection, { clientId, productId: null })
  if (common && common.enforcedVersion !== null) return
  throw refuseVersion('Activate a version with sample 100 first: no version would decide the rest.')
}

/**
 * Puts the previous version in force at once. What it replaces becomes the draft, unless there is
 * one.
 * @throws `Problem` `not_found`, `decision_version_conflict`.
 */
export async function rollBackEndpoint(
  context: EndpointContext,
  requester: Requester,
  productId: ProductId | null,
  request: RepeatableRequest | null,
): Promise<Answer<EndpointRecord>> {
  const reference = { clientId: requester.clientId, productId }
  const answer = await once(context, request, async (connection) => {
    await requireState(connection, reference)
    const state = await stored.lockEndpoint(connection, reference)
    const previous = await requireVersion(connection, reference, state.previousVersion, 'previous')
    await stored.updateEndpointState(connection, reference, {
      ...state,
      draftVersion: state.draftVersion ?? state.enforcedVersion,
      enforcedVersion: previous.version,
      previousVersion: null,
    })
    await recordEndpointAct(connection, requester, 'rolled_back', reference, {
      version: previous.version,
      from: state.enforcedVersion,
      ...describeSettings(previous),
    })
    return requireRecord(connection, reference)
  })
  context.registry.forget()
  return answer
}

/** What a removal ends: everything, or the shadow only. */
export type RemovedPart = 'all' | 'shadow'

/**
 * Takes an endpoint out of force. Its versions stay on record.
 * @throws `Problem` `not_found` if nothing is there to remove.
 */
export async function removeEndpoint(
  context: EndpointContext,
  requester: Requester,
  productId: ProductId | null,
  part: RemovedPart,
): Promise<void> {
  const reference = { clientId: requester.clientId, productId }
  await context.database.transaction(async (connection) => {
    await requireState(connection, reference)
    const state = await stored.lockEndpoint(connection, reference)
    const { draftVersion, enforcedVersion, previousVersion, shadowVersion } = state
    const removed =
      part === 'shadow'
        ? [shadowVersion]
        : [draftVersion, enforcedVersion, previousVersion, shadowVersion]
    const versions = removed.filter((version) => version !== null)
    if (versions.length === 0) {
      const detail = part === 'shadow' ? 'The endpoint has no shadow version.' : noEndpoint
      throw new Problem('not_found', { detail })
    }
    await stored.updateEndpointState(connection, reference, {
      ...(part === 'shadow' ? state : noVersions),
      shadowVersion: null,
    })
    await recordEndpointAct(connection, requester, 'removed', reference, { versions })
  })
  context.registry.forget()
}

const noVersions: stored.EndpointVersions = {
  draftVersion: null,
  enforcedVersion: null,
  previousVersion: null,
  shadowVersion: null,
}

async function requireState(
  connection: Connection,
  reference: stored.EndpointReference,
): Promise<stored.EndpointState> {
  const state = await stored.findEndpointState(connection, reference)
  if (!state) throw new Problem('not_found', { detail: noEndpoint })
  return state
}

async function requireVersion(
  connection: Connection,
  reference: stored.EndpointReference,
  version: number | null,
  name: 'draft' | 'previous',
): Promise<stored.RegisteredEndpoint> {
  const found =
    version === null ? null : await stored.findEndpointVersion(connection, reference, version)
  if (found) return found
  throw refuseVersion(
    name === 'draft'
      ? 'The endpoint has no draft. Register the settings first (PUT).'
      : 'The endpoint has no previous version. Register the wanted settings, and activate them.',
  )
}

const refuseVersion = (detail: string): Problem =>
  new Problem('decision_version_conflict', { detail })

/** Records an act of the client on its endpoint, in the transaction of the change. */
const recordEndpointAct = (
  connection: Connection,
  requester: Requester,
  act: 'registered' | 'draft_removed' | 'activated' | 'rolled_back' | 'removed',
  { clientId, productId }: stored.EndpointReference,
  details: object,
): Promise<void> =>
  recordAct(connection, requester, {
    act: `decision_endpoint.${act}`,
    subjectKind: 'client',
    subject: clientId,
    details: { ...(productId !== null && { productId }), ...details },
  })
