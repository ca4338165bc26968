import { parseSettings } from '../../../packages/sdk/client/options.ts'
import type { Answer } from '../../../packages/sdk/client/transport/attempt.ts'
import { createExchange } from '../../../packages/sdk/client/transport/exchange.ts'
import {
  findSession,
  jsonAnswer,
  refusal,
  type Session,
  type Site,
  type SiteAnswer,
  type SiteRequest,
} from '../../../web/site/site.ts'
import { matchRoute, type RelayRoute } from './routes.ts'

/** The URL of the service and the client system's credentials. */
export interface ServiceAccess {
  /** The service's URL without a trailing slash. */
  readonly serviceUrl: string
  readonly processorPath: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A call of the specification. The path is written without `/thr/processor`. */
interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** JSON, sent unchanged. */
  readonly body?: string
  readonly idempotencyKey?: string
}

/**
 * The lower layer of the SDK's client, which returns answers unchanged so that they can be
 * forwarded.
 */
export interface ServiceClient {
  /** The prefix of every path. */
  readonly base: string
  /** @throws CallFailed when the service is unreachable or issues no token. */
  call(call: ServiceCall): Promise<Answer>
}

/** @param scope the minimum that this caller needs. */
export function createServiceClient(access: ServiceAccess, scope: string): ServiceClient {
  const { clientId, clientSecret, processorPath, serviceUrl } = access
  const settings = parseSettings({
    baseUrl: serviceUrl,
    processorPath,
    clientId,
    clientSecret,
    scope,
    tokenEndpoint: `${serviceUrl}/oauth/token`,
    timeoutMs: 10_000,
    retries: 0,
    // In the same network as the service, which names its own URL.
    allowHttp: true,
  })
  const exchange = createExchange(settings)
  return {
    base: `/thr/${processorPath}`,
    call: ({ body, idempotencyKey, method, path }) =>
      exchange.send({
        url: `${settings.base}${path}`,
        method,
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        body,
      }),
  }
}

/** The minimum scopes of the relay. It can neither read a PIN in clear nor try one. */
const scope =
  'cards.read cards.write cards.encrypted pin.encrypted pin.read pin.write cvv.read cvv.write'

interface Relay {
  readonly service: ServiceClient
  readonly journal: Journal
  readonly cards: OwnCards
}

/**
 * A minimal back end of a client system: it authenticates its cardholders, calls the service with
 * its own credentials, and forwards what the device and the service seal for each other. It holds
 * no key, so it can leak none of that data.
 * @param base path of the relay: `/demo/relay`.
 */
export function createRelay(access: ServiceAccess, base: string): Site {
  const service = createServiceClient(access, scope)
  const cards: OwnCards = { service, references: new Map() }
  const relay: Relay = { service, journal: createJournal(), cards }
  return {
    async answer(request) {
      const session = findSession(request)
      if (!session) return refusal(401, 'no_session', 'Open the page again to begin a session.')
      const path = request.path.slice(base.length)
      if (request.method === 'GET' && path === '/journal') {
        return jsonAnswer(200, relay.journal.read(session.reference))
      }
      return relayCall(relay, session, request, path)
    },
  }
}

async function relayCall(
  { cards, journal, service }: Relay,
  session: Session,
  request: SiteRequest,
  path: string,
): Promise<SiteAnswer> {
  const matched = matchRoute(request.method, path)
  if (!matched) return refusal(404, 'not_found', 'The address does not exist.')
  const { publicToken, route } = matched
  try {
    if (publicToken !== null && !(await isOwnCard(cards, publicToken, session))) {
      return refusal(404, 'card_not_found', 'Your client has no card with this publicToken.')
    }
    const call = createCall(route, request, session, publicToken ?? '')
    if (!call) return refusal(422, 'not_relayed', 'The relay does not forward this request.')
    const answer = await service.call(call)
    journal.write(session.reference, {
      method: call.method,
      path: `${service.base}${call.path}`,
      sent: call.body ?? '',
      status: answer.status,
      received: answer.text,
    })
    const retryAfter = answer.headers.get('retry-after')
    // Forwarded unchanged.
    return {
      status: answer.status,
      headers: {
        'content-type': answer.headers.get('content-type') ?? 'application/json',
        ...(retryAfter !== null && { 'retry-after': retryAfter }),
      },
      body: answer.text,
    }
  } catch {
    return refusal(502, 'service_unreachable', 'The card service did not answer.')
  }
}

function createCall(
  route: RelayRoute,
  { body, headers }: SiteRequest,
  session: Session,
  publicToken: string,
): Parameters<ServiceClient['call']>[0] | null {
  const sent = route.body === undefined ? undefined : route.body(body, session)
  if (sent === null) return null
  const key = headers['idempotency-key']
  return {
    method: route.to,
    path: route.path({ publicToken, reference: session.reference }),
    ...(sent !== undefined && { body: sent }),
    ...(typeof key === 'string' && { idempotencyKey: key }),
  }
}

/**
 * The owners of cards. The service knows its client systems, but only they know their cardholders.
 */
interface OwnCards {
  readonly service: ServiceClient
  /** The `customerReference` of cards that were read before: it never changes. */
  readonly references: Map<string, string>
}

const referencesKept = 10_000

/**
 * Whether a card belongs to the cardholder of the session. @throws Error when the service is
 * unavailable.
 */
async function isOwnCard(
  { references, service }: OwnCards,
  publicToken: string,
  { reference }: Session,
): Promise<boolean> {
  const known = references.get(publicToken)
  if (known !== undefined) return known === reference
  const { status, text } = await service.call({ method: 'GET', path: `/cards/${publicToken}` })
  if (status === 404) return false
  if (status !== 200) throw new Error(`The card could not be read: ${status}`)
  const { customerReference = '' } = JSON.parse(text) as { customerReference?: string }
  if (references.size >= referencesKept) references.clear()
  references.set(publicToken, customerReference)
  return customerReference === reference
}

/** One forwarded call: everything that the relay could read of it. */
export interface Exchange {
  /** Counts from 1 in each session. */
  readonly number: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly sent: string
  readonly status: number
  readonly received: string
}

/** The forwarded calls, in memory, for the relay's panel. A real client system has logs instead. */
interface Journal {
  write(session: string, exchange: Omit<Exchange, 'number' | 'at'>): void
  /** Newest first. */
  read(session: string): readonly Exchange[]
}

/** Status reads are stored separately, since they would soon displace all other calls. */
const readsKept = 10
const othersKept = 20
const sessionsKept = 50
const charactersKept = 4_096

function createJournal(): Journal {
  const sessions = new Map<string, readonly Exchange[]>()
  return {
    write(session, { method, path, received, sent, status }) {
      const earlier = sessions.get(session) ?? []
      const exchange: Exchange = {
        number: (earlier[0]?.number ?? 0) + 1,
        at: new Date().toISOString(),
        method,
        path,
        sent: sent.slice(0, charactersKept),
        status,
        received: received.slice(0, charactersKept),
      }
      // Inserted again, so that the session that was idle longest comes first.
      sessions.delete(session)
      sessions.set(session, keep([exchange, ...earlier]))
      const [idlest] = sessions.keys()
      if (sessions.size > sessionsKept && idlest !== undefined) sessions.delete(idlest)
    },
    read: (session) => sessions.get(session) ?? [],
  }
}

function keep(exchanges: readonly Exchange[]): readonly Exchange[] {
  const reads = exchanges.filter(({ method }) => method === 'GET').slice(0, readsKept)
  const others = exchanges.filter(({ method }) => method !== 'GET').slice(0, othersKept)
  return [...reads, ...others].sort((one, other) => other.number - one.number)
}
