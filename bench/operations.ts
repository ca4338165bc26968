/** The operations that are measured on few cards and on many. */
import type pg from 'pg'
import { type Card, question } from './network.ts'
import { type BenchService, newCard } from './support.ts'

/** A service with its cards. */
export interface Subject {
  readonly service: BenchService
  readonly database: pg.Client
  readonly headers: Readonly<Record<string, string>>
  readonly networkHeaders: Readonly<Record<string, string>>
  /** Those that calls go round. */
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
    body: (card, { service }) => question(service, card),
    isOfNetwork: true,
  },
]

function pinPath(end: string) {
  return ({ publicToken }: Card): string => `/card-pin/${publicToken}/pin${end}`
}
