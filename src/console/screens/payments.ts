import { type Content, html } from '../../listeners/http/html.ts'
import { PaymentSchema, PaymentWithMessagesSchema } from '../../listeners/http/payment-schemas.ts'
import { writeMoney } from '../amounts.ts'
import { cardLink, cardPlace, cardsPlace, paymentsPath } from '../card-links.ts'
import { instant } from '../desk-parts.ts'
import { list, pages } from '../listing.ts'
import { path, type Screen } from '../screen.ts'
import { isHeld, messageLine, type Payment, sumsBar } from './payment-line.ts'
import { merchantFacts, merchantName, paymentsTable, stateBadge } from './payment-parts.ts'

const access = 'support.read'

/** All payments of a card, page by page. */
export const cardPaymentsScreen: Screen = {
  path: '/console/cards/:publicToken/payments',
  access,
  navigation: null,
  async show(visit) {
    const { publicToken = '' } = visit.params
    const address = path`/cards/${publicToken}/payments`
    const { entries, next } = await list(visit, address, PaymentSchema, 50)
    return {
      title: 'Payments of a card',
      trail: { above: [cardsPlace, cardPlace(publicToken)], name: 'Payments' },
      body: html`<section class="payments" aria-labelledby="payments">
        <h2 id="payments">
          Card ${cardLink(publicToken)}
        </h2>
        ${paymentsTable(entries, 'The card has no payments.')}
        ${pages(visit, next)}
      </section>`,
    }
  },
}

/** The held and the moved amounts of a payment, and each message that changed it. */
export const paymentScreen: Screen = {
  path: '/console/cards/:publicToken/payments/:paymentId',
  access,
  navigation: null,
  async show(visit) {
    const { paymentId = '', publicToken = '' } = visit.params
    const payment = await visit.read(
      path`/cards/${publicToken}/payments/${paymentId}`,
      PaymentWithMessagesSchema,
    )
    return {
      title: payment.merchant ? `Payment at ${merchantName(payment.merchant)}` : 'Payment',
      trail: {
        above: [
          cardsPlace,
          cardPlace(publicToken),
          { name: 'Payments', path: paymentsPath(publicToken) },
        ],
        name: 'Payment',
      },
      body: html`<section class="payment-sums" aria-labelledby="sums">
          <h2 id="sums">${stateBadge(payment.state)}</h2>
          ${sums(payment)}
          ${sumsBar(payment)}
        </section>
        <section aria-labelledby="messages">
          <h2 id="messages">Messages, in order</h2>
          ${messageLine(payment)}
        </section>
        <section aria-labelledby="purchase">
          <h2 id="purchase">Transaction</h2>
          ${facts(payment)}
        </section>`,
    }
  },
}

function sums(payment: Payment): Content {
  const { currency } = payment
  const sum = (amount: number) => writeMoney({ amount, currency })
  return html`<dl>
    <div class="whole"><dt>Approved</dt><dd>${sum(payment.approved)}</dd></div>
    <div class="moved"><dt>Cleared</dt><dd>${sum(payment.cleared)}</dd></div>
    <div class="held"><dt>Open</dt><dd>${sum(payment.open)}</dd></div>
    <div class="freed"><dt>Taken back</dt><dd>${sum(payment.reversed)}</dd></div>
    ${
      payment.refunded > 0 &&
      html`<div class="returned"><dt>Paid back</dt><dd>${sum(payment.refunded)}</dd></div>`
    }
  </dl>`
}

function facts(payment: Payment): Content {
  const { flagged, holdExpiresAt, merchant, networkTransactionId, paymentId } = payment
  const { publicToken, state, transactionType } = payment
  return html`<dl class="facts">
    ${merchantFacts(merchant)}
    ${transactionType !== undefined && html`<dt>Transaction type</dt><dd>${transactionType}</dd>`}
    <dt>Card</dt>
    <dd>
      ${cardLink(publicToken)}
      · <a href="${paymentsPath(publicToken)}">all payments</a>
    </dd>
    ${
      holdExpiresAt &&
      html`<dt>${isHeld(state) ? 'Hold expires' : 'Hold was to expire'}</dt>
        <dd>${instant(holdExpiresAt)}</dd>`
    }
    ${
      flagged &&
      html`<dt>Flagged</dt><dd>An increment opened it, or an advice held an amount again.</dd>`
    }
    ${payment.reference && html`<dt>Reference</dt><dd><code>${payment.reference}</code></dd>`}
    ${
      networkTransactionId &&
      html`<dt>Network’s transaction</dt><dd><code>${networkTransactionId}</code></dd>`
    }
    <dt>Payment</dt><dd><code>${paymentId}</code></dd>
  </dl>`
}
