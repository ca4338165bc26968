import type { CreatedCard, TestService } from '../../support/service.ts'

/** Every operation of the public listener that needs a token, as a table for tests to walk. */

export type Operation = {
  name: string
  method: 'GET' | 'PATCH' | 'POST' | 'PUT'
  /** Without `/thr/processor`. */
  path: (publicToken: string) => string
  scope: string
  /** A body that is accepted. */
  body?: Record<string, unknown>
  status: 200 | 201 | 204
  /** Whether it is about one card. */
  onCard: boolean
}

const cardBody = {
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
}

/** The PIN that Set PIN sets. */
const newPin = '7193'

/** The eight operations of the specification, in its order. */
export const specified: readonly Operation[] = [
  {
    name: 'List Products',
    method: 'GET',
    path: () => '/products',
    scope: 'cards.read',
    status: 200,
    onCard: false,
  },
  {
    name: 'Create Card',
    method: 'POST',
    path: () => '/cards',
    scope: 'cards.write',
    body: cardBody,
    status: 201,
    onCard: false,
  },
  {
    name: 'Set PIN',
    method: 'POST',
    path: (token) => `/card-pin/${token}/pin`,
    scope: 'pin.write',
    body: { pin: newPin },
    status: 204,
    onCard: true,
  },
  {
    name: 'Get CVV status',
    method: 'GET',
    path: (token) => `/card-cvv/${token}/cvv/status`,
    scope: 'cvv.read',
    status: 200,
    onCard: true,
  },
  {
    name: 'Unblock CVV',
    method: 'PUT',
    path: (token) => `/card-cvv/${token}/cvv/status`,
    scope: 'cvv.write',
    body: { status: 'Unblocked' },
    status: 204,
    onCard: true,
  },
  {
    name: 'Get current PIN',
    method: 'GET',
    path: (token) => `/card-pin/${token}/pin`,
    scope: 'pin.reveal',
    status: 200,
    onCard: true,
  },
  {
    name: 'Get PIN status',
    method: 'GET',
    path: (token) => `/card-pin/${token}/pin/status`,
    scope: 'pin.read',
    status: 200,
    onCard: true,
  },
  {
    name: 'Unblock PIN',
    method: 'POST',
    path: (token) => `/card-pin/${token}/pin/unblock`,
    scope: 'pin.write',
    status: 204,
    onCard: true,
  },
]

/** Those beside them: the card record, its list and its status. */
export const operations: readonly Operation[] = [
  ...specified,
  {
    name: 'Read a card',
    method: 'GET',
    path: (token) => `/cards/${token}`,
    scope: 'cards.read',
    status: 200,
    onCard: true,
  },
  {
    name: 'List cards',
    method: 'GET',
    path: () => '/cards',
    scope: 'cards.read',
    status: 200,
    onCard: false,
  },
  {
    name: "Change a card's record",
    method: 'PATCH',
    path: (token) => `/cards/${token}`,
    scope: 'cards.write',
    body: { renewalType: 'Manual' },
    status: 204,
    onCard: true,
  },
  {
    name: "Read a card's status",
    method: 'GET',
    path: (token) => `/cards/${token}/status`,
    scope: 'cards.read',
    status: 200,
    onCard: true,
  },
  {
    name: 'List authorizations',
    method: 'GET',
    path: () => '/authorizations',
    scope: 'payments.read',
    status: 200,
    onCard: false,
  },
  {
    name: "List a card's authorizations",
    method: 'GET',
    path: (token) => `/cards/${token}/authorizations`,
    scope: 'payments.read',
    status: 200,
    onCard: true,
  },
  {
    name: "Change a card's status",
    method: 'PUT',
    path: (token) => `/cards/${token}/status`,
    scope: 'cards.write',
    body: { cardStatusCode: '62' },
    status: 204,
    onCard: true,
  },
]

/** Issues a card for which the PIN of Set PIN is not weak. */
export const createUsualCard = async (service: TestService): Promise<CreatedCard> => {
  const card = await service.createCard()
  return card.maskedPan.endsWith(newPin) ? createUsualCard(service) : card
}

/** The operations that change something. */
export const changes = operations.filter(({ method }) => method !== 'GET')
