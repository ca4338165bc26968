import type { Static } from 'typebox'
import type { Merchant } from '../../domain/merchant.ts'
import type { PaymentState } from '../../domain/payment.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { PaymentSchema } from '../../listeners/http/payment-schemas.ts'
import { writeMoney } from '../amounts.ts'
import { paymentPath } from '../card-links.ts'
import { badge, instantInRow, type Tone } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'

type Payment = Static<typeof PaymentSchema>

const states: Readonly<Record<PaymentState, readonly [string, Tone]>> = {
  open: ['Open', 'warn'],
  partlyCleared: ['Partly cleared', 'warn'],
  cleared: ['Cleared', 'good'],
  voided: ['Voided', 'plain'],
  expired: ['Expired', 'plain'],
}

/** Renders the state of a payment. */
export const stateBadge = (state: string): Html =>
  badge(...(states[state as PaymentState] ?? [state, 'plain']))

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
  html`<div class="latest">${renderTable({
    name: 'Payments',
    columns: [columns.merchant, columns.state, columns.approved, columns.open, columns.opened],
    rows: payments,
    empty,
  })}</div>`

/** Renders payments of a card. @param empty the advice for an empty list */
export const paymentsTable = (payments: readonly Payment[], empty: Content): Html =>
  renderTable({
    name: 'Payments',
    columns: [
      columns.merchant,
      columns.place,
      columns.state,
      columns.approved,
      columns.open,
      columns.cleared,
      columns.refunded,
      columns.opened,
    ],
    rows: payments,
    empty,
  })

const columns = {
  merchant: {
    title: 'Merchant',
    kind: 'name',
    cell({ merchant, paymentId, publicToken }) {
      const name = merchantName(merchant)
      return html`<a class="cut" href="${paymentPath(publicToken, paymentId)}" title="${name}">
        <bdi>${name}</bdi></a>`
    },
  },
  place: {
    title: 'Place',
    cell({ merchant }) {
      const category = merchant?.categoryCode && `MCC ${merchant.categoryCode}`
      const place = [merchant && describePlace(merchant), category].filter(Boolean).join(' · ')
      return html`<span class="cut" title="${place}">${place}</span>`
    },
  },
  state: { title: 'State', cell: ({ state }) => stateBadge(state) },
  approved: {
    title: 'Approved',
    kind: 'number',
    cell: ({ approved, currency }) => writeMoney({ amount: approved, currency }),
  },
  open: {
    title: 'Open',
    kind: 'number',
    cell: ({ currency, open }) => writeMoney({ amount: open, currency }),
  },
  cleared: {
    title: 'Cleared',
    kind: 'number',
    cell: ({ cleared, currency }) => writeMoney({ amount: cleared, currency }),
  },
  refunded: {
    title: 'Paid back',
    kind: 'number',
    cell: ({ currency, refunded }) => refunded > 0 && writeMoney({ amount: refunded, currency }),
  },
  opened: { title: 'Opened', cell: ({ openedAt }) => instantInRow(openedAt) },
} satisfies Readonly<Record<string, Column<Payment>>>
