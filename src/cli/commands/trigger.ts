import { findNearestName } from '../../domain/nearest-name.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import type { ServiceConnection } from '../connection/requests.ts'

/** A request that causes an event; the path is relative to the client interface. */
type Request = readonly [
  method: string,
  path: (card: string) => string,
  body?: object | ((card: string) => object),
]

const newCard = {
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
}

/** Only physical cards have a chip and a delivery. */
const newPhysicalCard = { ...newCard, cardType: 'Physical', activateNow: true }

/** The types of events that only a physical card has. */
const isOfPlastic = (type: string): boolean =>
  ['chip.', 'card.renew', 'card.delivery'].some((start) => type.startsWith(start))

const renewPath = (card: string) => `/cards/${card}/renew`
const orderPlastic: Request = ['POST', renewPath, { renewStep: 'RenewWithSameExpiry' }]

const pinPath = (card: string) => `/card-pin/${card}/pin`
const cvvPath = (card: string) => `/card-cvv/${card}/cvv/status`
const setPin: Request = ['POST', pinPath, { pin: '4821' }]

const simulatorPath = '/simulator/authorizations'

const simulate = (tried: object): Request => [
  'POST',
  () => simulatorPath,
  (publicToken) => ({ publicToken, ...tried }),
]
/** The new card is virtual, and so active at once. */
const replaceCard: Request = ['POST', (card) => `/cards/${card}/replace`]
const unblockPin: Request = ['POST', (card) => `${pinPath(card)}/unblock`]
const useChip = simulate({ chip: true })
/** A data object that the virtual chip does not have. */
const putUnknownData: Request = [
  'POST',
  (card) => `/cards/${card}/chip/commands`,
  { command: 'put_data', tag: '9F7F', value: '00' },
]
const convertCard: Request = ['PUT', (card) => `/cards/${card}/card-type`, { cardType: 'Physical' }]
const shipPlastic: Request = ['POST', (card) => `/sandbox/plastics/${card}/0/ship`]
const tryWrongPin = simulate({ pin: '5937' })
const purchase = { amount: 1234, currency: 'EUR', networkTransactionId: 'TRIGGER' }

/** A message about the purchase of the new card. */
const sendMessage = (path: string, message: object): Request => [
  'POST',
  () => `/simulator/${path}`,
  (publicToken) => ({ publicToken, ...message }),
]

/** The requests with a new sandbox card for each type of event. */
const acts: Readonly<Record<string, readonly Request[]>> = {
  'card.created': [],
  'card.status_changed': [['PUT', (card) => `/cards/${card}/status`, { cardStatusCode: '62' }]],
  'card.controls_changed': [['PUT', (card) => `/cards/${card}/controls`, { version: 0 }]],
  'card.replaced': [replaceCard],
  'card.retired': [replaceCard],
  'card.delivery_changed': [shipPlastic],
  'card.renewal_ordered': [orderPlastic],
  'card.renewed': [['POST', renewPath, { renewStep: 'RenewWithSameExpiry', activateNow: true }]],
  'card.renewal_cancelled': [orderPlastic, ['DELETE', (card) => `/cards/${card}/renewal`]],
  'card.converted': [convertCard],
  'card.activated': [
    convertCard,
    ['PUT', (card) => `/cards/${card}/status`, { cardStatusCode: '00' }],
  ],
  // Of a card that expires this month. The service gives its notice within half a minute.
  'card.renewal_due': [],
  'card.changed': [['PATCH', (card) => `/cards/${card}`, { customerReference: 'trigger' }]],
  'pin.set': [setPin],
  'pin.revealed': [['GET', pinPath]],
  'pin.attempt_failed': [setPin, tryWrongPin],
  'pin.blocked': [setPin, tryWrongPin, tryWrongPin, tryWrongPin],
  'pin.unblocked': [unblockPin],
  'chip.command_queued': [unblockPin],
  'chip.command_sent': [unblockPin, useChip],
  'chip.command_done': [unblockPin, useChip, useChip],
  'chip.command_failed': [putUnknownData, useChip, useChip],
  // Four digits, which are always wrong.
  'cvv.attempt_failed': [simulate({ cvv: '0000' })],
  'cvv.blocked': [['PUT', cvvPath, { status: 'Blocked' }]],
  'cvv.unblocked': [['PUT', cvvPath, { status: 'Unblocked' }]],
  'authorization.approved': [simulate({})],
  'authorization.declined': [simulate({ expiryDate: '2099-12' })],
  'payment.changed': [
    simulate(purchase),
    sendMessage('reversals', { networkTransactionId: purchase.networkTransactionId }),
  ],
  'payment.forced': [sendMessage('clearings', purchase)],
  // A hold that is over. The service expires it within half a minute.
  'payment.expired': [
    sendMessage('advices', { ...purchase, holdExpiresAt: '2000-01-01T00:00:00Z' }),
  ],
}

export const triggerCommand: cli.Command = {
  words: 'events trigger',
  names: ['TYPE'],
  summary: 'makes an event occur on a new card, in the sandbox',
  description: ['TYPE is one of:', ...Object.keys(acts)].join('\n  '),
  connection: cli.clientConnection,
  example: 'pinfold events trigger pin.blocked',
  run: (call) => {
    const [type = ''] = call.names
    const requests = Object.hasOwn(acts, type) ? acts[type] : undefined
    if (!requests) {
      const nearest = findNearestName(type, Object.keys(acts))
      const hint = nearest === null ? '' : ` Did you mean ${nearest}?`
      throw new cli.UsageError(`TYPE must be one of ${Object.keys(acts).join(', ')}.${hint}`)
    }
    return asClient(call, async (service) => {
      await requireSandbox(service)
      const publicToken = await play(service, type, requests)
      const text = ['payment.expired', 'card.renewal_due'].includes(type)
        ? `${type} occurs on card ${publicToken} within 30 seconds.`
        : `${type} occurred on card ${publicToken}.`
      return { json: { type, publicToken }, text }
    })
  },
}

/** @throws UsageError when the service has no simulator, so that no production card is changed. */
async function requireSandbox({ ask, base }: ServiceConnection): Promise<void> {
  try {
    await ask('POST', base + simulatorPath, {})
  } catch (error) {
    if (!(error instanceof cli.Refused)) throw error
    if (error.status === 404) {
      throw new cli.UsageError('This service is not a sandbox. Run events trigger on a sandbox.')
    }
  }
}

async function play(
  { ask, base }: ServiceConnection,
  type: string,
  requests: readonly Request[],
): Promise<string> {
  const create = (members: object) =>
    ask<{ readonly publicToken: string; readonly startDate: string }>(
      'POST',
      `${base}/cards`,
      members,
    )
  const { publicToken, startDate } = await create(isOfPlastic(type) ? newPhysicalCard : newCard)
  if (type === 'card.renewal_due') {
    // The first card shows the service's date. A card cannot expire on the day of its creation, so
    // that the last day of a month needs the next month.
    const tomorrow = new Date(Date.parse(startDate) + 86_400_000).toISOString()
    return (await create({ ...newCard, expiryDate: tomorrow.slice(0, 7) })).publicToken
  }
  for (const [method, path, body] of requests) {
    const sent = typeof body === 'function' ? body(publicToken) : body
    await ask(method, base + path(publicToken), sent)
  }
  return publicToken
}
