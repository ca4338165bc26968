import { type Session, sessionOf } from '../site/session.ts'
import { jsonAnswer, refusal, type Site, type SiteAnswer, type SiteRequest } from '../site/site.ts'
import { createJournal, type Journal } from './journal.ts'
import { isOwnCard, type OwnCards, ownCards } from './own-cards.ts'
import { matchRoute, type RelayRoute } from './routes.ts'
import {
  createServiceClient,
  type ServiceAccess,
  type ServiceAnswer,
  type ServiceCall,
  type ServiceClient,
} from './service-client.ts'

/** The least that the relay's work needs. It cannot read a PIN in clear, nor try one. */
const scope =
  'cards.read cards.write cards.encrypted pin.encrypted pin.read pin.write cvv.read cvv.write'

interface Relay {
  readonly service: ServiceClient
  readonly journal: Journal
  readonly cards: OwnCards
}

/**
 * The back end of a client system, as small as it can be: it knows its cardholders, calls the service
 * with its own credentials, and passes on what the device and the service seal for each other. It
 * holds no key, and what it cannot read it cannot lose.
 *
 * @param base path of the relay: `/demo/relay`.
 */
export function createRelay(access: ServiceAccess, base: string): Site {
  const service = createServiceClient(access, scope)
  const relay: Relay = { service, journal: createJournal(), cards: ownCards(service) }
  return {
    async answer(request) {
      const session = sessionOf(request)
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
  if (!matched) return refusal(404, 'not_found', 'There is nothing here.')
  const { publicToken, route } = matched
  try {
    if (publicToken !== null && !(await isOwnCard(cards, publicToken, session))) {
      return refusal(404, 'card_not_found', 'No such card.')
    }
    const call = callOf(route, request, session, publicToken ?? '')
    if (!call) return refusal(422, 'not_relayed', 'The relay does not pass this on.')
    const answer = await service.call(call)
    journal.write(session.reference, {
      method: call.method,
      path: `${service.base}${call.path}`,
      sent: call.body ?? '',
      status: answer.status,
      received: answer.text,
    })
    return passOn(answer)
  } catch {
    return refusal(502, 'service_unreachable', 'The card service gave no answer.')
  }
}

function callOf(
  route: RelayRoute,
  { body, headers }: SiteRequest,
  session: Session,
  publicToken: string,
): ServiceCall | null {
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

/** As it came: the relay has nothing to add to it. */
const passOn = ({ retryAfter, status, text, type }: ServiceAnswer): SiteAnswer => ({
  status,
  headers: { 'content-type': type, ...(retryAfter !== null && { 'retry-after': retryAfter }) },
  body: text,
})
