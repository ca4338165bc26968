import type { Static } from 'typebox'
import type { decliners, retries } from '../../domain/decline-reason.ts'
import { describeDecline } from '../../domain/decline-words.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { RecordedAuthorizationSchema } from '../../listeners/private/schemas/card-authorizations.ts'
import { writeMoney } from '../amounts.ts'
import { cardLink, cardPlace, paymentPath } from '../card-links.ts'
import { badge, instant } from '../desk-parts.ts'
import { path, type Screen } from '../screen.ts'
import { checksWaterfall } from './checks-waterfall.ts'
import { merchantFacts, merchantName } from './payment-parts.ts'

type Authorization = Static<typeof RecordedAuthorizationSchema>

const approvedSaying =
  'We approved this payment. If it did not go through, the shop or its bank declined it: ' +
  'please ask there.'

/**
 * The reasons of an answer to a card network: what a cardholder may be told, and all checks in
 * order.
 */
export const authorizationScreen: Screen = {
  path: '/console/cards/:publicToken/authorizations/:authorizationId',
  access: 'support.read',
  navigation: null,
  async show(visit) {
    const { authorizationId = '', publicToken = '' } = visit.params
    const found = await visit.read(
      path`/cards/${publicToken}/authorizations/${authorizationId}`,
      RecordedAuthorizationSchema,
    )
    return {
      title: composeTitle(found),
      trail: {
        above: [
          { name: 'Authorizations', path: '/console/authorizations' },
          cardPlace(publicToken),
        ],
        name: found.reference,
      },
      body: html`${verdict(found)}
        <section aria-labelledby="checks">
          <h2 id="checks">Checks, in order</h2>
          ${checksWaterfall(found)}
        </section>
        <div class="columns">
          <section aria-labelledby="transaction">
            <h2 id="transaction">Transaction</h2>
            ${transactionFacts(found)}
          </section>
          <section aria-labelledby="answer">
            <h2 id="answer">Answer</h2>
            ${answerFacts(found)}
          </section>
        </div>`,
    }
  },
}

/** `24.50 USD at Corner Bakery: declined`. */
function composeTitle({ amount, approved, currency, merchant }: Authorization): string {
  const sum = formatSum(amount, currency) ?? 'Authorization'
  const place = merchant === undefined ? '' : ` at ${merchantName(merchant)}`
  return `${sum}${place}: ${approved ? 'approved' : 'declined'}`
}

/** The answer in one line, and what to say to the cardholder. */
function verdict(found: Authorization): Html {
  const { advice = approvedSaying, approved, declineReason, merchant, responseCode } = found
  const sum = formatSum(found.amount, found.currency)
  return html`<section class="answered ${approved ? 'yes' : 'no'}" aria-labelledby="say">
    <h2 id="say">
      ${approved ? `Approved (${responseCode})` : describeDecline(responseCode, declineReason)}
    </h2>
    <span>
      ${sum}${merchant && html` at <bdi>${merchantName(merchant)}</bdi>`}
    </span>
    ${instant(found.decidedAt)}
    <p>Say: “${advice}”</p>
  </section>`
}

const formatSum = (amount: number | undefined, currency: string | undefined): string | null =>
  amount === undefined || currency === undefined ? null : writeMoney({ amount, currency })

/** The words for who declined. */
export const declinerNames: Readonly<Record<(typeof decliners)[number], string>> = {
  card: 'The card',
  product_control: 'A control of the product',
  card_control: 'A control of the card',
  pin: 'The PIN',
  cvv2: 'The CVV',
  chip: 'The chip',
  client: 'The client',
  fallback: 'What stood in for the client',
  service: 'The service',
}

/** The words for whether another request may succeed. */
export const retryNames: Readonly<Record<(typeof retries)[number], string>> = {
  never: 'Never succeeds',
  with_other_data: 'May succeed with other data',
  later: 'May succeed later',
}

function answerFacts(found: Authorization): Content {
  const { approved, control, declinedBy, declineReason, publicToken, retry } = found
  return html`<dl class="facts">
    <dt>Card</dt>
    <dd>${cardLink(publicToken)}</dd>
    <dt>Answer</dt>
    <dd>
      ${badge(approved ? 'Approved' : 'Declined', approved ? 'good' : 'bad')}
      ${declineReason && html`<code>${declineReason}</code>`}
    </dd>
    ${declinedBy && html`<dt>Declined by</dt><dd>${declinerNames[declinedBy]}</dd>`}
    ${control && html`<dt>Control</dt><dd><code>${control}</code></dd>`}
    ${retry && html`<dt>Retry</dt><dd>${retryNames[retry]}</dd>`}
    <dt>Decided</dt><dd>${instant(found.decidedAt)}</dd>
    <dt>Network</dt><dd>${found.networkId}</dd>
    <dt>Reference</dt><dd><code>${found.reference}</code></dd>
    <dt>Request</dt><dd><code>${found.requestId}</code></dd>
    <dt>Authorization</dt><dd><code>${found.authorizationId}</code></dd>
  </dl>`
}

function transactionFacts(found: Authorization): Content {
  const { merchant, networkTransactionId, paymentId, publicToken } = found
  const billed = formatSum(found.billingAmount, found.billingCurrency)
  const part = formatSum(found.approvedAmount, found.currency)
  const cash = formatSum(found.cashbackAmount, found.currency)
  return html`<dl class="facts">
    <dt>Amount</dt><dd>${formatSum(found.amount, found.currency) ?? 'None'}</dd>
    ${part && html`<dt>Approved in part</dt><dd>${part}</dd>`}
    ${cash && html`<dt>Cash</dt><dd>${cash}</dd>`}
    ${billed && html`<dt>Charged</dt><dd>${billed}</dd>`}
    ${merchantFacts(merchant)}
    <dt>Transaction type</dt><dd>${found.transactionType}</dd>
    <dt>Entry mode</dt><dd>${found.entryMode}</dd>
    ${
      networkTransactionId &&
      html`<dt>Network’s transaction</dt><dd><code>${networkTransactionId}</code></dd>`
    }
    <dt>Payment</dt>
    <dd>
      ${
        paymentId === undefined
          ? 'None: nothing is held'
          : html`<a href="${paymentPath(publicToken, paymentId)}">What is held and has moved</a>`
      }
    </dd>
  </dl>`
}
