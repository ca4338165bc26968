/**
 * How each decline is caused: what happens to a card and what is then asked about it, or what its
 * client decides.
 */
import { randomBytes } from 'node:crypto'
import {
  type ClientDeclineReason,
  clientDeclineCodes,
  type DecisionReason,
} from '../../../src/domain/decision.ts'
import {
  type DeclineReason,
  decisionReasons,
  declineReasons,
} from '../../../src/domain/decline-reason.ts'
import { blockPin, expireCard } from '../../support/builders.ts'
import type { DecisionBehaviour } from '../../support/decision-endpoint.ts'
import { cvvTry, type IssuedCard, otherDigits, pinBlock, pinTry } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { cardNotPresent, purchase } from '../../support/switch.ts'

/** Fields of a message of ISO 8583. */
type Fields = Record<string, string>

/** The reasons of the service's own checks. */
type CheckedReason = Exclude<
  DeclineReason,
  (typeof decisionReasons)[number] | (typeof chipReasons)[number]
>

/** The reasons of chips and stripes, which test/operations/chips causes. */
const chipReasons = [
  'chip_data_missing',
  'chip_data_disagrees',
  'invalid_chip_data',
  'chip_declined',
  'fallback_not_allowed',
  'cryptogram_replayed',
  'wrong_cryptogram',
  'wrong_card_value',
  'wrong_cavv',
  'chip_pin_blocked',
] as const satisfies readonly DeclineReason[]

export const checkedReasons = declineReasons.filter(
  (reason): reason is CheckedReason =>
    ![...decisionReasons, ...chipReasons].some((name) => name === reason),
)

/** A decline by the card's client, or by what stands in for its answer. */
export interface DecisionCause {
  readonly answer: DecisionBehaviour
  readonly declineReason: DeclineReason
  readonly responseCode: string
  readonly declinedBy: 'client' | 'fallback'
}

const decideDecline = (
  members: object,
  declineReason: DecisionReason,
  responseCode: string,
): DecisionCause => ({
  answer: () => ({ decision: 'decline', ...members }),
  declineReason,
  responseCode,
  declinedBy: 'client',
})

const unavailable = {
  declineReason: 'decision_unavailable',
  responseCode: '91',
  declinedBy: 'fallback',
} as const

/** Lists the causes of all declines by a decision. */
export const decisionCauses: Readonly<Record<string, DecisionCause>> = {
  ...Object.fromEntries(
    (Object.keys(clientDeclineCodes) as ClientDeclineReason[]).map((reason) => [
      reason,
      decideDecline({ reason }, reason, clientDeclineCodes[reason]),
    ]),
  ),
  'no reason': decideDecline({}, 'do_not_honor', '05'),
  'a response code alone': decideDecline({ responseCode: '51' }, 'insufficient_funds', '51'),
  'a reason with another response code': decideDecline(
    { reason: 'suspected_fraud', responseCode: '05' },
    'suspected_fraud',
    '05',
  ),
  'a challenge': {
    answer: () => ({ decision: 'challenge' }),
    declineReason: 'authentication_required',
    responseCode: '1A',
    declinedBy: 'client',
  },
  'an error': { answer: () => 500, ...unavailable },
  'a time-out': { answer: () => undefined, ...unavailable },
}

export interface DeclineCause {
  /** What happens to the card before. */
  readonly befall?: (card: IssuedCard) => Promise<unknown>
  /** The request of a network. */
  readonly request: (card: IssuedCard) => object | Promise<object>
  /** The same request as the fields of a purchase. */
  readonly fields: (card: IssuedCard) => Fields | Promise<Fields>
}

const merchant = { id: 'BAKERY', country: 'ESP', categoryCode: '5462' }
const merchantFields = {
  18: merchant.categoryCode,
  42: merchant.id.padEnd(15),
  43: `${'Bakery'.padEnd(25)}${'Madrid'.padEnd(13)}ES`,
}
const money = { amount: 1_000, currency: 'EUR' }
const limits = [{ period: 'day', maximumAmount: 999 }]

/** Lists the causes of all declines by their reasons. */
export function listCauses(service: TestService): Readonly<Record<CheckedReason, DeclineCause>> {
  const put = async (path: string, body: object) => {
    const answer = await service.call('PUT', path, { body })
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
  }
  const named = ({ publicToken }: IssuedCard) => ({ publicToken })
  /** A purchase without a PIN. */
  const withoutPin = (card: IssuedCard, changed: Fields = {}): Fields => {
    const { 52: _, 53: __, ...others } = purchase(service, card)
    return { ...others, ...changed }
  }
  const setStatus = (cardStatusCode: string): DeclineCause => ({
    befall: ({ publicToken }) => put(`/cards/${publicToken}/status`, { cardStatusCode }),
    request: named,
    fields: (card) => withoutPin(card),
  })
  const restrict = (controls: object): DeclineCause => ({
    befall: ({ publicToken }) => put(`/cards/${publicToken}/controls`, { version: 0, ...controls }),
    request: (card) => ({ ...named(card), merchant, ...money }),
    fields: (card) => withoutPin(card, merchantFields),
  })
  const tryWrongPin = (members: object, changed: Fields): DeclineCause => ({
    request: (card) => ({ ...pinTry(service, card, otherDigits(card.pin)), ...members }),
    fields: (card) => purchase(service, card, { ...changed, pin: otherDigits(card.pin) }),
  })
  const tryCvv2 = (choose: (card: IssuedCard) => string): Omit<DeclineCause, 'befall'> => ({
    request: (card) => cvvTry(card, choose(card)),
    fields: (card) => cardNotPresent(service, card, choose(card)),
  })
  /** Reverses a transaction before its authorization. @returns the network's id of it. */
  const reverseEarly = async ({ publicToken }: IssuedCard): Promise<string> => {
    const networkTransactionId = `X${randomBytes(7).toString('hex')}`
    const body = { reversalId: networkTransactionId, publicToken, networkTransactionId }
    const options = { as: 'network', listener: 'private', body } as const
    const { status, text } = await service.call('POST', '//network/reversals', options)
    if (status !== 200) throw new Error(text)
    return networkTransactionId
  }
  const tryPin: Omit<DeclineCause, 'befall'> = {
    request: (card) => pinTry(service, card),
    fields: (card) => purchase(service, card),
  }

  return {
    // The card is issued without an activation.
    card_not_activated: { request: named, fields: withoutPin },
    plastic_not_activated: {
      befall: ({ publicToken }) => put(`/cards/${publicToken}/card-type`, { cardType: 'Physical' }),
      request: named,
      fields: (card) => withoutPin(card),
    },
    plastic_retired: {
      // The plastic that waits keeps the card from expiring.
      befall: ({ publicToken }) =>
        sql(
          service.database,
          `update card
           set start_date = '2019-01-01', expiry_date = '2019-12-31',
             waiting_expiry_date = '2099-12-31'
           where public_token = $1`,
          [publicToken],
        ),
      request: named,
      fields: (card) => withoutPin(card, { 14: '1912' }),
    },
    card_restricted: setStatus('62'),
    card_lost: setStatus('41'),
    card_stolen: setStatus('43'),
    card_closed: setStatus('46'),
    card_expired: {
      befall: ({ publicToken }) => expireCard(service.database, publicToken),
      request: named,
      fields: (card) => withoutPin(card),
    },
    wrong_expiry_date: {
      request: (card) => ({ ...named(card), expiryDate: '2031-01' }),
      fields: (card) => withoutPin(card, { 14: '3101' }),
    },
    inquiry_not_supported: tryWrongPin({ transactionType: 'inquiry' }, { 3: '310000' }),
    currency_not_supported: tryWrongPin({ amount: 1234, currency: 'USD' }, { 49: '840' }),
    pin_missing: {
      request: (card) => ({ ...named(card), entryMode: 'atm' }),
      fields: (card) => withoutPin(card, { 3: '010000', 18: '6011' }),
    },
    invalid_pin_block: {
      request: (card) => ({
        ...named(card),
        pinBlock: { ...pinBlock(service, card), data: '00' },
      }),
      fields: (card) => purchase(service, card, { 52: '0'.repeat(16) }),
    },
    wrong_pin: tryWrongPin({}, {}),
    pin_blocked: { befall: (card) => blockPin(service, card), ...tryPin },
    wrong_cvv2: tryCvv2(({ cvv2 }) => otherDigits(cvv2)),
    cvv2_blocked: {
      befall: ({ publicToken }) =>
        put(`/card-cvv/${publicToken}/cvv/status`, { status: 'Blocked' }),
      ...tryCvv2(({ cvv2 }) => cvv2),
    },
    transaction_reversed: {
      async request(card) {
        const networkTransactionId = await reverseEarly(card)
        return { ...named(card), networkTransactionId, amount: 1234, currency: 'EUR' }
      },
      fields: async (card) => withoutPin(card, { 63: await reverseEarly(card) }),
    },
    merchant_category_not_allowed: restrict({ merchantCategories: { blocked: ['5462'] } }),
    merchant_not_allowed: restrict({ merchants: { allowed: ['HOTEL'] } }),
    country_not_allowed: restrict({ countries: { blocked: ['ESP'] } }),
    channel_not_allowed: restrict({ channels: { blocked: ['chip'] } }),
    invalid_amount: {
      ...restrict({ limits }),
      request: (card) => ({ ...named(card), merchant }),
      fields(card) {
        const { 4: _, 49: __, ...others } = withoutPin(card, merchantFields)
        return others
      },
    },
    amount_over_limit: restrict({ limits }),
    count_over_limit: restrict({ limits: [{ period: 'day', maximumCount: 0 }] }),
    service_unavailable: {
      // The HSM lacks the key of the PIN.
      befall: ({ publicToken }) =>
        sql(service.database, `update card set pin_key = 'pvk/99' where public_token = $1`, [
          publicToken,
        ]),
      ...tryPin,
    },
  }
}
