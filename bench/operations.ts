/** The operations that are measured with few and many cards, and profiled individually. */
import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'
import { type Card, composeRequest } from './network.ts'
import { type BenchService, newCard } from './support.ts'

/** A service with its cards. */
export interface Subject {
  readonly service: BenchService
  readonly headers: Readonly<Record<string, string>>
  readonly networkHeaders: Readonly<Record<string, string>>
  /** The cards that calls cycle through. */
  readonly cards: readonly Card[]
}

export interface Scenario {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT'
  path(card: Card): string
  body?(card: Card, subject: Subject, number: number): string
  readonly isKeyed?: boolean
  readonly isOfNetwork?: boolean
}

export const scenarios: readonly Scenario[] = [
  { name: 'Get PIN status', method: 'GET', path: pinPath('/status') },
  {
    name: 'Get CVV status',
    method: 'GET',
    path: ({ publicToken }) => `/card-cvv/${publicToken}/cvv/status`,
  },
  { name: 'Read a card', method: 'GET', path: ({ publicToken }) => `/cards/${publicToken}` },
  { name: 'List 100 cards', method: 'GET', path: () => '/cards' },
  { name: 'Read 100 events', method: 'GET', path: () => '/events' },
  {
    name: 'List attempts',
    method: 'GET',
    path: ({ publicToken }) => `/cards/${publicToken}/attempts`,
  },
  { name: 'Get current PIN', method: 'GET', path: pinPath('') },
  {
    name: 'Set PIN',
    method: 'POST',
    path: pinPath(''),
    body: ({ pin }) => JSON.stringify({ pin }),
  },
  {
    name: 'Set PIN, with a key',
    method: 'POST',
    path: pinPath(''),
    body: ({ pin }) => JSON.stringify({ pin }),
    isKeyed: true,
  },
  { name: 'Unblock PIN', method: 'POST', path: pinPath('/unblock') },
  {
    name: 'Change status',
    method: 'PUT',
    path: ({ publicToken }) => `/cards/${publicToken}/status`,
    body: (_, __, number) => `{"cardStatusCode":"${number % 2 === 0 ? '62' : '00'}"}`,
  },
  { name: 'Create Card', method: 'POST', path: () => '/cards', body: () => newCard },
  {
    name: 'Create Card, with a key',
    method: 'POST',
    path: () => '/cards',
    body: () => newCard,
    isKeyed: true,
  },
  {
    name: 'Authorization with a PIN',
    method: 'POST',
    path: () => '',
    body: (card, { service }) => composeRequest(service, card),
    isOfNetwork: true,
  },
]

const connections = 32

/**
 * Calls an operation for a number of seconds, over a cycle of cards.
 * @throws Error for an answer other than 2xx.
 */
export async function callFor(
  seconds: number,
  scenario: Scenario,
  subject: Subject,
): Promise<autocannon.Result> {
  const { cards, headers, networkHeaders, service } = subject
  const { body, isKeyed, isOfNetwork, method, path } = scenario
  const { 'content-type': contentType = '', ...others } = isOfNetwork ? networkHeaders : headers
  const base = isOfNetwork ? '/network/authorizations' : new URL(service.base).pathname
  let asked = 0
  // All connections share one cycle of cards, since calls on one card wait for each other.
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    const number = asked
    asked += 1
    const card = cards[(number * 7) % cards.length]
    if (!card) throw new Error('There is no card.')
    return {
      ...request,
      path: `${base}${path(card)}`,
      headers: {
        ...others,
        ...(body && { 'content-type': contentType }),
        ...(isKeyed && { 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: body(card, subject, Math.floor(number / cards.length)) }),
    }
  }
  const result = await autocannon({
    url: isOfNetwork ? service.privateUrl : service.sandbox.baseUrl,
    requests: [{ method: method as 'GET', setupRequest }],
    connections,
    duration: seconds,
  })
  if (result.non2xx + result.errors > 0)
    throw new Error(
      `${scenario.name}: ${result.non2xx} not 2xx, ${result.errors} without an answer`,
    )
  return result
}

function pinPath(end: string) {
  return ({ publicToken }: Card): string => `/card-pin/${publicToken}/pin${end}`
}
