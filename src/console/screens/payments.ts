import type { Static } from 'typebox'
import { formatMoney } from '../../domain/money.ts'
import type { PaymentEffect } from '../../domain/payment.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { PaymentSchema, PaymentWithMessagesSchema } from '../../listeners/http/payment-schemas.ts'
import { instant } from '../desk-parts.ts'
import { list, listed, pages } from '../listing.ts'
import { path, type Screen } from '../screen.ts'
import { authorizationPath, merchantFacts, paymentsTable, stateBadge } from './payment-parts.ts'

type Payment = Static<typeof PaymentWithMessagesSchema>
type Message = Payment['messages'][number]

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
      body: html`<section aria-labelledby="payments">
        <h2 id="payments">
          Card <a href="${path`/console/cards/${publicToken}`}">${publicToken}</a>
        </h2>
        ${paymentsTable(entries, 'The card has no payments.')}
        ${pages(visit, next)}
      </section>`,
    }
  },
}

/** What a payment holds and has moved, and each message that changed it. */
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
      title: 'Payment',
      body: html`<div class="columns">
          <section aria-labelledby="sums">
            <h2 id="sums">${stateBadge(payment.state)}</h2>
            ${sums(payment)}
          </section>
          <section aria-labelledby="purchase">
            <h2 id="purchase">Transaction</h2>
            ${facts(payment)}
          </section>
        </div>
        <section aria-labelledby="messages">
          <h2 id="messages">Messages, in order</h2>
          ${listed(
            'Messages',
            [
              'Received',
              'Message',
              'Effect',
              { title: 'Amount', isNumber: true },
              { title: 'Applied', isNumber: true },
              'Reference',
            ],
            payment.messages.map((message) => messageRow(payment, message)),
            'No message has changed the payment since its authorization.',
          )}
          <p class="hint">
            Amount is what the message takes back, holds or moves. Applied is the amount by which
            the message changed the payment.
          </p>
        </section>`,
    }
  },
}

function sums(payment: Payment): Content {
  const { currency, holdExpiresAt, state } = payment
  const sum = (amount: number) => formatMoney({ amount, currency })
  const isHeld = state === 'open' || state === 'partlyCleared'
  return html`<dl>
    <dt>Open</dt><dd><b>${sum(payment.open)}</b></dd>
    <dt>Approved</dt><dd>${sum(payment.approved)}</dd>
    <dt>Taken back</dt><dd>${sum(payment.reversed)}</dd>
    <dt>Cleared</dt><dd>${sum(payment.cleared)}</dd>
    <dt>Paid back</dt><dd>${sum(payment.refunded)}</dd>
    ${
      holdExpiresAt &&
      html`<dt>${isHeld ? 'Hold expires' : 'Hold was to expire'}</dt>
        <dd>${instant(holdExpiresAt)}</dd>`
    }
  </dl>`
}

const openings: Readonly<Record<Payment['openedBy'], string>> = {
  authorization: 'By an authorization',
  increment: 'By an increment without an open payment',
  advice: 'By the network, with an advice',
  clearing: 'By a clearing, as a forced payment',
  refund: 'By a refund, as a credit payment',
}

function facts(payment: Payment): Content {
  const { flagged, merchant, networkTransactionId, openedBy, paymentId, publicToken } = payment
  // Only an authorization that is still on record describes the type of the transaction.
  const hasAuthorization = payment.transactionType !== undefined
  return html`<dl>
    ${merchantFacts(merchant)}
    ${
      hasAuthorization &&
      html`<dt>Authorization</dt>
        <dd><a href="${authorizationPath(publicToken, paymentId)}">Checks</a></dd>
        <dt>Transaction type</dt><dd>${payment.transactionType}</dd>`
    }
    <dt>Card</dt>
    <dd>
      <a href="${path`/console/cards/${publicToken}`}">${publicToken}</a>
      · <a href="${path`/console/cards/${publicToken}/payments`}">all payments</a>
    </dd>
    <dt>Opened</dt>
    <dd>${instant(payment.openedAt)} <p class="fine">${openings[openedBy]}</p></dd>
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

const messageNames: Readonly<Record<Message['message'], string>> = {
  increment: 'Increment',
  reversal: 'Reversal',
  advice: 'Advice',
  clearing: 'Clearing',
  refund: 'Refund',
  expiry: 'Expiry of the hold',
}

const effectNames: Readonly<Record<PaymentEffect, string>> = {
  open: 'Opened the payment',
  openFlagged: 'Opened the payment, flagged',
  openDecided: 'Opened the payment',
  raise: 'Raised the hold',
  remember: 'Came before its original',
  release: 'Took back',
  replace: 'Replaced the hold',
  reopen: 'Held again, flagged',
  clear: 'Moved money; the rest stays held',
  clearFinal: 'Moved money; nothing stays held',
  clearLate: 'Moved money, late',
  force: 'Opened a forced payment',
  forceFinal: 'Opened a forced payment',
  refund: 'Paid back',
  credit: 'Opened a credit payment',
  expire: 'Released the hold',
  close: 'Released the rest of the hold',
  record: 'No effect',
  ignore: 'No effect',
}

function messageRow({ currency, publicToken }: Payment, message: Message): Content {
  const { amount, applied, effect, messageId, reference } = message
  const name = messageNames[message.message]
  // An increment is an authorization, too, with the same id.
  const isDecided = message.message === 'increment'
  return html`<tr>
    <td>${instant(message.receivedAt)}</td>
    <th scope="row">
      ${isDecided ? html`<a href="${authorizationPath(publicToken, messageId)}">${name}</a>` : name}
    </th>
    <td>${effectNames[effect as PaymentEffect]}</td>
    <td class="number">${formatMoney({ amount, currency })}</td>
    <td class="number">${formatMoney({ amount: applied, currency })}</td>
    <td>${reference && html`<code>${reference}</code>`}</td>
  </tr>`
}
