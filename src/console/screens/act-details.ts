import type { Static } from 'typebox'
import { cardStatuses, isCardStatusCode } from '../../domain/card-status.ts'
import { declineWords, isDeclineReason } from '../../domain/decline-words.ts'
import { toMembers } from '../../domain/members.ts'
import { describeTransaction, type TransactionMembers } from '../../domain/transaction.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { TimelineEntrySchema } from '../../listeners/private/schemas/cards.ts'
import { writeMoney } from '../amounts.ts'
import { authorizationPath, cardLink, paymentPath } from '../card-links.ts'
import { badge } from '../desk-parts.ts'
import { path, type Visit } from '../screen.ts'
import { stateBadge } from './payment-parts.ts'
import { left } from './tries-left.ts'

export type Act = NonNullable<Static<typeof TimelineEntrySchema>['act']>

/** The subject of a timeline and its reader. */
export interface Shown {
  readonly visit: Visit
  readonly publicToken: string
  readonly clientId: string
}

const disclosing = /\.(revealed|searched)$/

/** Describes what an act did, in one line. */
export function describeAct({ publicToken, visit }: Shown, act: Act): Content {
  const { details, entryId, type } = act
  const { amount, billingAmount, billingCurrency, currency, from, merchant, to, ...others } =
    toMembers(details)
  const transaction = describeTransaction(
    {
      amount,
      billingAmount,
      billingCurrency,
      currency,
      merchant,
    } as TransactionMembers,
    writeMoney,
  )
  const known =
    describePayment(publicToken, { ...others, currency }) ??
    describeAuthorization(publicToken, others)
  const facts = known
    ? []
    : Object.entries(others)
        .filter(([name]) => !(name in otherCards))
        .map(([name, value]) => describeFact(name, value))
  return [
    to !== undefined && `${statusName(from)} → ${statusName(to)}`,
    transaction,
    known,
    describeOtherCard(others),
    facts.length > 0 && html`<span title="${facts.join(' · ')}">${facts.join(' · ')}</span>`,
    disclosing.test(type) &&
      visit.scopes.has('audit.read') &&
      html`<a href="${path`/console/disclosures/${entryId}`}">Receipt</a>`,
  ]
    .filter(Boolean)
    .map((part, at) => [at > 0 && ' · ', part])
}

/** Lists what each webhook got of an act. */
export const listDeliveries = ({ clientId }: Shown, { deliveries }: Act): Content =>
  deliveries.map(
    ({ deliveryId, lastTry, status, tries, webhookId }) =>
      html`<p>
        <a href="${path`/console/webhooks/${clientId}/${webhookId}`}#delivery-${deliveryId}">
          Webhook</a>
        ${badge(status, status === 'Delivered' ? 'good' : status === 'Failed' ? 'bad' : 'warn')}
        ${tries === 1 ? '1 attempt' : `${tries} attempts`}${
          lastTry && html`, the last ${lastTry.outcome.replaceAll('_', ' ')} ${lastTry.statusCode}`
        }
      </p>`,
  )

/** Lists the ids of an act, for the audit log. */
export const listIds = ({ entryId, requestId, type }: Act): Html =>
  html`<p>
    <code>${type}</code> · Entry <code>${entryId}</code>${
      requestId && html` · Request <code>${requestId}</code>`
    }
  </p>`

type EventFacts = Readonly<Record<string, unknown>>

/** The members of events that name another card of the line. */
const otherCards: Readonly<Record<string, string>> = {
  replacementFor: 'Replaces card',
  replacedBy: 'Replaced by card',
  currentCard: 'Current card',
}

function describeOtherCard(event: EventFacts): Content {
  const links = Object.entries(otherCards).flatMap(([name, words]) => {
    const token = event[name]
    return typeof token === 'string' ? [html`${words} ${cardLink(token)} `] : []
  })
  return links.length > 0 && links
}

/** Describes the payment of an event after its change; null for other events. */
function describePayment(publicToken: string, event: EventFacts): Html | null {
  const { cleared, currency, message, open, paymentId, state } = event
  if (typeof message !== 'string' || typeof paymentId !== 'string') return null
  const sum = (amount: unknown) =>
    writeMoney({ amount: Number(amount), currency: String(currency) })
  return html`<a href="${paymentPath(publicToken, paymentId)}">Payment</a>
    ${stateBadge(String(state))} ${message} · open ${sum(open)} · cleared ${sum(cleared)}`
}

/** Describes the authorization of an event; null for other events. */
function describeAuthorization(publicToken: string, event: EventFacts): Html | null {
  const { authorizationId, control, declineReason, paymentId } = event
  if (typeof authorizationId !== 'string') return null
  const words = isDeclineReason(declineReason) && declineWords[declineReason]
  const reason = [words, control].filter((text) => typeof text === 'string').join(' · ')
  return html`<a href="${authorizationPath(publicToken, authorizationId)}">Checks</a>
    ${
      typeof paymentId === 'string' &&
      html`<a href="${paymentPath(publicToken, paymentId)}">Payment</a>`
    }
    ${reason}`
}

/** Describes a fact of an event for people. */
function describeFact(name: string, value: unknown): string {
  const facts: Readonly<Record<string, string>> = {
    blockedBy: value === 'tries' ? 'Tries used up' : 'By the client',
    cardProduct: `Product ${value}`,
    cardStatusCode: statusName(value),
    cardType: String(value),
    command: String(value).replaceAll('_', ' '),
    commandNumber: `Number ${value}`,
    daysLeft: `${value} days left`,
    deliveryStatus: `Delivery ${String(value).toLowerCase()}`,
    device: `Device ${value}`,
    expiryDate: `Expires ${value}`,
    form: value === 'deviceKey' ? 'Sealed to a device key' : 'Sealed with a session key',
    includePin: value === true ? 'With the PIN' : 'Without the PIN',
    members: Array.isArray(value) ? value.join(', ') : String(value),
    pinMoved: value === true ? 'With the same PIN' : 'With a new PIN',
    plasticNumber: `Plastic ${String(value).padStart(2, '0')}`,
    reference: `Reference ${value}`,
    remainingTries: left(Number(value)),
    version: `Version ${value}`,
  }
  return facts[name] ?? String(value)
}

const statusName = (code: unknown): string =>
  isCardStatusCode(String(code)) ? cardStatuses[String(code) as '00'].description : String(code)
