import Type, { type Static } from 'typebox'
import { cardStatuses, isCardStatusCode } from '../../domain/card-status.ts'
import { toMembers } from '../../domain/members.ts'
import { formatMoney } from '../../domain/money.ts'
import { describeTransaction, type TransactionMembers } from '../../domain/transaction.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { TimelineEntrySchema } from '../../listeners/private/schemas/cards.ts'
import { badge, instant } from '../desk-parts.ts'
import { listed } from '../listing.ts'
import { path } from '../screen.ts'
import { authorizationPath, paymentPath, stateBadge } from './payment-parts.ts'

export const TimelineSchema = Type.Array(TimelineEntrySchema)
type Entry = Static<typeof TimelineEntrySchema>
type Act = NonNullable<Entry['act']>

/** The kinds that a timeline's filter can omit. */
export const timelineKinds = {
  change: 'Changes',
  disclosure: 'Disclosures',
  attempt: 'PIN and CVV tries',
  authorization: 'Authorizations',
} as const

/** The names of events and acts for people. */
const actNames: Readonly<Record<string, string>> = {
  'card.created': 'Card created',
  'card.status_changed': 'Status changed',
  'card.controls_changed': 'Spending controls changed',
  'card.changed': 'Card record changed',
  'card.renewal_ordered': 'Renewal ordered',
  'card.renewed': 'Card renewed',
  'card.renewal_cancelled': 'Renewal cancelled',
  'card.renewal_due': 'Renewal due',
  'card.delivery_changed': 'Delivery of the plastic',
  'card.converted': 'Virtual card converted to plastic',
  'card.replaced': 'Card replaced',
  'card.activated': 'Successor activated',
  'card.retired': 'Card retired by its successor',
  'card_data.revealed': 'Card data sealed to a device',
  'cardholder.revealed': 'Cardholder shown to an operator',
  'pan.searched': 'Card found by its number',
  'pin.set': 'PIN set',
  'pin.revealed': 'PIN shown to the client',
  'pin.attempt_failed': 'Wrong PIN',
  'pin.blocked': 'PIN blocked',
  'pin.unblocked': 'PIN unblocked',
  'cvv.attempt_failed': 'Wrong CVV',
  'cvv.blocked': 'CVV blocked',
  'cvv.unblocked': 'CVV unblocked',
  'authorization.approved': 'Authorization approved',
  'authorization.declined': 'Authorization declined',
  'decision.late': 'Answer of the client came too late',
  'decision_endpoint.degraded': 'Decision endpoint does not answer',
  'decision_endpoint.recovered': 'Decision endpoint answers again',
  'payment.changed': 'Payment changed',
  'payment.forced': 'Payment forced',
  'payment.expired': 'Hold expired',
  'chip.command_queued': 'Command to the chip queued',
  'chip.command_sent': 'Command sent to the chip',
  'chip.command_done': 'Command executed by the chip',
  'chip.command_failed': 'Command failed in the chip',
  'chip.command_unconfirmed': 'Command to the chip without a result',
}

export const actName = (type: string): string => actNames[type] ?? type

/** The subject of the timeline, and whether the viewer may open receipts. */
interface Shown {
  readonly publicToken: string
  readonly clientId: string
  readonly mayAudit: boolean
}

/** Renders the history of a card, newest first. @param empty the advice for an empty history */
export const timelineTable = (shown: Shown, entries: readonly Entry[], empty: Content): Html =>
  listed(
    'Everything',
    ['When', 'What', 'By', 'Details'],
    entries.map((entry) => timelineRow(shown, entry)),
    empty,
  )

function timelineRow(shown: Shown, { act, at, attempt, authorization, kind }: Entry): Content {
  const [what, by, details] = act
    ? [actName(act.type), describeActor(act.by), actDetails(shown, act, kind === 'disclosure')]
    : attempt
      ? [`${attempt.kind.toUpperCase()} tried`, 'Card network', attemptDetails(attempt)]
      : [
          'Authorization',
          `Network ${authorization?.networkId}`,
          authorization && authorizationDetails(shown, authorization),
        ]
  return html`<tr>
    <td>${instant(at)}</td>
    <th scope="row">${what}</th>
    <td>${by}</td>
    <td>${details}</td>
  </tr>`
}

export const describeActor = ({ id, kind, name }: Act['by']): string =>
  ({
    client: `Client ${name ?? id}`,
    operator: `Operator ${name ?? id}`,
    network: 'Card network',
    service: 'The service',
  })[kind]

function actDetails(shown: Shown, act: Act, isDisclosure: boolean): Content {
  const { deliveries, details, entryId, reason, requestId } = act
  const { amount, billingAmount, billingCurrency, currency, from, merchant, to, ...others } =
    toMembers(details)
  const transaction = describeTransaction({
    amount,
    billingAmount,
    billingCurrency,
    currency,
    merchant,
  } as TransactionMembers)
  const { publicToken } = shown
  const known =
    describePayment(publicToken, { ...others, currency }) ??
    describeAuthorization(publicToken, others)
  const facts = known
    ? []
    : Object.entries(others)
        .filter(([name]) => !(name in otherCards))
        .map(([name, value]) => describeFact(name, value))
  return html`${to !== undefined && html`<p>${statusName(from)} → ${statusName(to)}</p>`}
    ${reason && html`<p class="reason">“${reason}”</p>`}
    ${transaction && html`<p>${transaction}</p>`}
    ${known}
    ${describeOtherCard(others)}
    ${facts.length > 0 && html`<p>${facts.join(' · ')}</p>`}
    ${deliveries.map((each) => deliveryLine(shown, each))}
    ${
      isDisclosure &&
      shown.mayAudit &&
      html`<a href="${path`/console/disclosures/${entryId}`}">Receipt</a>`
    }
    <details class="fine">
      <summary>Ids</summary>
      Entry <code>${entryId}</code>${requestId && html`<br>Request <code>${requestId}</code>`}
    </details>`
}

type EventFacts = Readonly<Record<string, unknown>>

/** The members of events that name another card of the line. */
const otherCards: Readonly<Record<string, string>> = {
  replacementFor: 'Replaces card',
  replacedBy: 'Replaced by card',
  currentCard: 'Current card',
}

const describeOtherCard = (event: EventFacts): Content =>
  Object.entries(otherCards).map(([name, words]) => {
    const token = event[name]
    return (
      typeof token === 'string' &&
      html`<p>${words} <a href="${path`/console/cards/${token}`}">${token}</a></p>`
    )
  })

/** Describes the payment of an event after its change; null for other events. */
function describePayment(publicToken: string, event: EventFacts): Html | null {
  const { cleared, currency, message, open, paymentId, state } = event
  if (typeof message !== 'string' || typeof paymentId !== 'string') return null
  const sum = (amount: unknown) =>
    formatMoney({ amount: Number(amount), currency: String(currency) })
  return html`<p>
      <a href="${paymentPath(publicToken, paymentId)}">Payment</a> ${stateBadge(String(state))}
    </p>
    <p class="fine">${message} · open ${sum(open)} · cleared ${sum(cleared)}</p>`
}

/** Describes the authorization of an event; null for other events. */
function describeAuthorization(publicToken: string, event: EventFacts): Html | null {
  const { authorizationId, control, declineReason, paymentId } = event
  if (typeof authorizationId !== 'string') return null
  const reason = [declineReason, control].filter((text) => typeof text === 'string').join(' · ')
  return html`<p>
    <a href="${authorizationPath(publicToken, authorizationId)}">Checks</a>
    ${
      typeof paymentId === 'string' &&
      html`<a href="${paymentPath(publicToken, paymentId)}">Payment</a>`
    }
    ${reason && html`<code>${reason}</code>`}
  </p>`
}

/** Describes a fact of an event for people. */
function describeFact(name: string, value: unknown): string {
  const facts: Readonly<Record<string, string>> = {
    blockedBy: value === 'tries' ? 'Tries used up' : 'By the client',
    cardProduct: `Product ${value}`,
    cardStatusCode: statusName(value),
    cardType: String(value),
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
  }
  return facts[name] ?? String(value)
}

const deliveryLine = (
  { clientId }: Shown,
  { deliveryId, lastTry, status, tries, webhookId }: Act['deliveries'][number],
): Content =>
  html`<p>
    <a href="${path`/console/webhooks/${clientId}/${webhookId}`}#delivery-${deliveryId}">Webhook</a>
    ${badge(status, status === 'Delivered' ? 'good' : status === 'Failed' ? 'bad' : 'warn')}
    ${tries === 1 ? '1 try' : `${tries} tries`}${
      lastTry && html`, the last ${lastTry.outcome.replaceAll('_', ' ')} ${lastTry.statusCode}`
    }
  </p>`

const statusName = (code: unknown): string =>
  isCardStatusCode(String(code)) ? cardStatuses[String(code) as '00'].description : String(code)

const results = {
  match: ['Right', 'good'],
  mismatch: ['Wrong', 'bad'],
  unresolved: ['Not compared', 'warn'],
} as const

function attemptDetails(attempt: NonNullable<Entry['attempt']>): Content {
  const { entryMode, reference, remainingTries, restored, result, tryNumber } = attempt
  const [word, tone] = results[result]
  return html`${badge(word, tone)} ${left(remainingTries)}
    <p class="fine">
      Try ${tryNumber}${restored && ', given back'} · ${entryMode} · Reference ${reference}
    </p>`
}

export const left = (tries: number): string => (tries === 1 ? '1 try left' : `${tries} tries left`)

function authorizationDetails(
  { publicToken }: Shown,
  authorization: NonNullable<Entry['authorization']>,
): Content {
  const { approved, authorizationId, entryMode, reference, responseCode } = authorization
  const { advice, declineReason } = authorization
  const transaction = describeTransaction(authorization)
  const address = authorizationPath(publicToken, authorizationId)
  return html`${approved ? badge('Approved', 'good') : badge(`Declined ${responseCode}`, 'bad')}
    <a href="${address}">${approved ? 'Checks' : 'Reason'}</a>
    ${transaction && html`<p>${transaction}</p>`}
    ${declineReason && html`<p><code>${declineReason}</code> ${advice}</p>`}
    <p class="fine">${entryMode} · Reference ${reference}</p>`
}
