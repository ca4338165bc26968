import type { Static } from 'typebox'
import type { Merchant } from '../../domain/merchant.ts'
import type { PaymentState } from '../../domain/payment.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { PaymentSchema } from '../../listeners/http/payment-schemas.ts'
import { writeMoney } from '../amounts.ts'
import { badge, instant } from '../desk-parts.ts'
import { listed } from '../listing.ts'
import { path } from '../screen.ts'

type Payment = Static<typeof PaymentSchema>

const states: Readonly<Record<PaymentState, readonly [string, 'good' | 'warn' | 'plain']>> = {
  open: ['Open', 'warn'],
  partlyCleared: ['Partly cleared', 'warn'],
  cleared: ['Cleared', 'good'],
  voided: ['Voided', 'plain'],
  expired: ['Expired', 'plain'],
}

/** Renders the state of a payment. */
export const stateBadge = (state: string): Html =>
  badge(...(states[state as PaymentState] ?? [state, 'plain']))

/** Returns the address of a payment's page. */
export const paymentPath = (publicToken: string, paymentId: string): string =>
  path`/console/cards/${publicToken}/payments/${paymentId}`

/** Returns the address of an authorization's page. */
export const authorizationPath = (publicToken: string, authorizationId: string): string =>
  path`/console/cards/${publicToken}/authorizations/${authorizationId}`

/** Returns the name of a merchant for a link. */
export const merchantName = ({ id, name }: Merchant = {}): string =>
  name ?? id ?? 'Unknown merchant'

const describePlace = ({ city, country }: Merchant): string =>
  [city, country].filter(Boolean).join(', ')

/** Renders what the network said of a merchant, as terms of a description list. */
export const merchantFacts = (merchant: Merchant | undefined): Content =>
  merchant &&
  html`<dt>Merchant</dt>
    <dd>
      ${merchantName(merchant)}
      ${describePlace(merchant) && html`<p class="fine">${describePlace(merchant)}</p>`}
    </dd>
    ${merchant.categoryCode && html`<dt>Category</dt><dd>MCC ${merchant.categoryCode}</dd>`}
    ${
      (merchant.id || merchant.terminalId) &&
      html`<dt>Merchant’s ids</dt>
        <dd>
          ${merchant.id && html`<code>${merchant.id}</code>`}
          ${merchant.terminalId && html`<span class="fine">Terminal ${merchant.terminalId}</span>`}
        </dd>`
    }`

/** Renders the latest payments of a card. @param empty the advice for an empty list */
export const latestPayments = (payments: readonly Payment[], empty: Content): Html =>
  html`<div class="latest">${listed(
    'Payments',
    [
      'Merchant',
      'State',
      { title: 'Approved', isNumber: true },
      { title: 'Open', isNumber: true },
      'Opened',
    ],
    payments.map(latestRow),
    empty,
  )}</div>`

function latestRow(payment: Payment): Content {
  const { approved, currency, merchant, open, openedAt, paymentId, publicToken, state } = payment
  const name = merchantName(merchant)
  return html`<tr>
    <th scope="row">
      <a class="cut" href="${paymentPath(publicToken, paymentId)}" title="${name}">
        <bdi>${name}</bdi></a>
    </th>
    <td>${stateBadge(state)}</td>
    <td class="number">${writeMoney({ amount: approved, currency })}</td>
    <td class="number">${writeMoney({ amount: open, currency })}</td>
    <td>${instant(openedAt)}</td>
  </tr>`
}

/** Renders payments of a card. @param empty the advice for an empty list */
export const paymentsTable = (payments: readonly Payment[], empty: Content): Html =>
  listed(
    'Payments',
    [
      'Merchant',
      'Place',
      'State',
      { title: 'Approved', isNumber: true },
      { title: 'Open', isNumber: true },
      { title: 'Cleared', isNumber: true },
      { title: 'Paid back', isNumber: true },
      'Opened',
    ],
    payments.map(paymentRow),
    empty,
  )

function paymentRow(payment: Payment): Content {
  const { currency, merchant, openedAt, paymentId, publicToken, state } = payment
  const sum = (amount: number) => writeMoney({ amount, currency })
  const name = merchantName(merchant)
  const category = merchant?.categoryCode && `MCC ${merchant.categoryCode}`
  const place = [merchant && describePlace(merchant), category].filter(Boolean).join(' · ')
  return html`<tr>
    <th scope="row">
      <a class="cut" href="${paymentPath(publicToken, paymentId)}" title="${name}">
        <bdi>${name}</bdi></a>
    </th>
    <td><span class="cut" title="${place}">${place}</span></td>
    <td>${stateBadge(state)}</td>
    <td class="number">${sum(payment.approved)}</td>
    <td class="number">${sum(payment.open)}</td>
    <td class="number">${sum(payment.cleared)}</td>
    <td class="number">${payment.refunded > 0 && sum(payment.refunded)}</td>
    <td>${instant(openedAt)}</td>
  </tr>`
}
