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

/** Where a client system finds the service, and what it shows to get a token. */
export interface ServiceAccess {
  /** Where the service is called, without a slash at the end. */
  readonly serviceUrl: string
  readonly processorPath: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A call of the specification. The path is written without `/thr/processor`. */
interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** JSON, as it is sent. */
  readonly body?: string
  readonly idempotencyKey?: string
}

/** The client of the SDK as far down as answers come back as they were: they are passed on. */
export interface ServiceClient {
  /** What stands before every path. */
  readonly base: string
  /** @throws CallFailed when the service cannot be reached or gives no token. */
  call(call: ServiceCall): Promise<Answer>
}

/** @param scope the least that this caller needs. */
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
    // Beside the service, which says by which address it is called.
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

/** The least that the relay's work needs. It cannot read a PIN in clear, nor try one. */
const scope =
  'cards.read cards.write cards.encrypted pin.encrypted pin.read pin.write cvv.read cvv.write'

interface Relay {
  readonly service: ServiceClient
  readonly journal: Journal
  readonly cards: OwnCards
}

/**
 * The back end of a client system, as small as it can be: it knows its cardholders, calls the
 * service with its own credentials, and passes on what the device and the service seal for each
 * other. It holds no key, and what it cannot read it cannot lose.
 *
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
    // As it came: the relay has nothing to add to it.
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
 * Whose cards are whose. The service knows its client systems; their cardholders only they know.
 */
interface OwnCards {
  readonly service: ServiceClient
  /** The `customerReference` of cards that were asked for before: it never changes. */
  readonly references: Map<string, string>
}

const referencesKept = 10_000

/** Whether a card belongs to the cardholder who asks. @throws Error when the service is away. */
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

/** One call that the relay passed on: everything of it that the relay could read. */
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

/** What the relay saw, in memory, for its own panel. A real client system has logs instead. */
interface Journal {
  write(session: string, exchange: Omit<Exchange, 'number' | 'at'>): void
  /** Newest first. */
  read(session: string): readonly Exchange[]
}

/** What only reads a status is kept apart: it would soon push out all else. */
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
      // Put in anew, so that the session that was idle longest comes first.
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
