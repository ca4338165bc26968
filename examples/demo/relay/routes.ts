import type { Session } from '../../../web/site/site.ts'

interface PathParts {
  readonly publicToken: string
  readonly reference: string
}

/** A request that a page may send to the relay, and the resulting call of the service. */
export interface RelayRoute {
  readonly method: 'GET' | 'POST'
  /** `*` stands for a card's publicToken. */
  readonly pattern: string
  readonly to: 'GET' | 'POST' | 'PUT'
  path(parts: PathParts): string
  /**
   * Returns the body to send, or null to refuse the given one. Without this member, no body is
   * sent.
   */
  body?(given: string, session: Session): string | null
}

const read = (pattern: string, path: RelayRoute['path']): RelayRoute => ({
  method: 'GET',
  pattern,
  to: 'GET',
  path,
})

/** All routes. The relay forwards no other request. */
const routes: readonly RelayRoute[] = [
  read('/products', () => '/products'),
  read('/cards', ({ reference }) => `/cards?customerReference=${reference}&limit=1`),
  { method: 'POST', pattern: '/cards', to: 'POST', path: () => '/cards', body: newCardBody },
  read('/cards/*/pin-status', ({ publicToken }) => `/card-pin/${publicToken}/pin/status`),
  read('/cards/*/cvv-status', ({ publicToken }) => `/card-cvv/${publicToken}/cvv/status`),
  read('/cards/*/attempts', ({ publicToken }) => `/cards/${publicToken}/attempts?limit=8`),
  {
    method: 'POST',
    pattern: '/cards/*/encrypted',
    to: 'POST',
    path: ({ publicToken }) => `/cards/${publicToken}/encrypted`,
    body: (given) => given,
  },
  {
    method: 'POST',
    pattern: '/cards/*/pin',
    to: 'POST',
    path: ({ publicToken }) => `/card-pin/${publicToken}/pin`,
    body: sealedPinOnly,
  },
  {
    method: 'POST',
    pattern: '/cards/*/unblock-pin',
    to: 'POST',
    path: ({ publicToken }) => `/card-pin/${publicToken}/pin/unblock`,
  },
  {
    method: 'POST',
    pattern: '/cards/*/unblock-cvv',
    to: 'PUT',
    path: ({ publicToken }) => `/card-cvv/${publicToken}/cvv/status`,
    body: () => JSON.stringify({ status: 'Unblocked' }),
  },
]

export function matchRoute(
  method: string,
  path: string,
): { readonly route: RelayRoute; readonly publicToken: string | null } | null {
  const publicToken = /^\/cards\/([1-9][0-9]{9})\//.exec(path)?.[1] ?? null
  const pattern = publicToken === null ? path : path.replace(publicToken, '*')
  const route = routes.find((each) => each.method === method && each.pattern === pattern)
  return route ? { route, publicToken } : null
}

/** Refuses a PIN in clear, which only a broken page sends. */
function sealedPinOnly(given: string): string | null {
  const body = parse(given)
  return typeof body === 'object' && body !== null && Object.keys(body).join() === 'encryptedPin'
    ? given
    : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The page's request. The other data of a cardholder is invented, since this is a demo. */
interface NewCard {
  readonly cardProduct: number
  readonly firstName: string
  readonly lastName: string
}

/** Returns the body of Create Card, or null for a malformed request. */
function newCardBody(given: string, { reference }: Session): string | null {
  const card = parse(given)
  if (!isNewCard(card)) return null
  const { cardProduct, firstName, lastName } = card
  return JSON.stringify({
    cardType: 'Virtual',
    cardProduct,
    customerReference: reference,
    cardHolder: { firstName, lastName, dateOfBirth: '1990-04-17' },
    address: { addressLine1: 'Calle Mayor 1', city: 'Madrid', postCode: '28013', country: 'ESP' },
  })
}

const isNewCard = (card: unknown): card is NewCard =>
  typeof card === 'object' &&
  card !== null &&
  'cardProduct' in card &&
  typeof card.cardProduct === 'number' &&
  'firstName' in card &&
  typeof card.firstName === 'string' &&
  'lastName' in card &&
  typeof card.lastName === 'string'
