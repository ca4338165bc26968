import type { Static } from 'typebox'
import { cardStatuses, isCardStatusCode } from '../../domain/card-status.ts'
import type { ChipFinding } from '../../domain/chip-findings.ts'
import type { decliners, retries } from '../../domain/decline-reason.ts'
import { formatMoney } from '../../domain/money.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { RecordedAuthorizationSchema } from '../../listeners/private/schemas/card-authorizations.ts'
import { badge, instant } from '../desk-parts.ts'
import { path, type Screen } from '../screen.ts'
import { merchantFacts, paymentPath } from './payment-parts.ts'
import { left } from './tries-left.ts'

type Authorization = Static<typeof RecordedAuthorizationSchema>
type Check = Authorization['checks'][number]

const approvedSaying =
  'We approved this payment. If it did not go through, the shop or its bank declined it: ' +
  'please ask there.'

const checkNames: Readonly<Record<Check['check'], string>> = {
  card: 'Card exists',
  postal_code: 'Postal code (decides nothing)',
  address_line: 'Address line (decides nothing)',
  status: 'Status of the card',
  expiry: 'Expiry date',
  plastic: 'Plastic in use',
  transaction_type: 'Type of the transaction',
  currency: 'Currency',
  shadow: 'Shadow controls',
  controls: 'Spending controls',
  chip: 'Chip data',
  cryptogram: 'Cryptogram of the chip',
  card_value: 'Verification value of the stripe',
  cavv: '3-D Secure value',
  offline_pin: 'PIN in the chip',
  pin_block: 'PIN block can be read',
  pin: 'PIN',
  cvv2: 'CVV2',
  limits: 'Spending limits',
  decision: 'Decision of the client',
  answer: 'Answer to the first request',
}

const verdicts: Readonly<
  Record<Check['result'], readonly [string, 'good' | 'bad' | 'warn' | 'plain']>
> = {
  passed: ['Passed', 'good'],
  failed: ['Failed', 'bad'],
  blocked: ['Blocked', 'bad'],
  not_given: ['Not given', 'plain'],
  unresolved: ['No answer', 'warn'],
}

/**
 * The reasons of an answer to a card network: all checks in order, and what a cardholder may be
 * told.
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
    const { advice = approvedSaying, approved, checks, reference, responseCode } = found
    const tone = approved ? 'good' : 'bad'
    return {
      title: `Authorization ${reference}`,
      body: html`<section aria-labelledby="say">
          <h2 id="say">What to say to the cardholder</h2>
          <p>
            ${badge(approved ? 'Approved' : `Declined ${responseCode}`, tone)}
            “${advice}”
          </p>
        </section>
        <div class="columns">
          <section aria-labelledby="answer">
            <h2 id="answer">Answer</h2>
            ${answerFacts(found)}
          </section>
          <section aria-labelledby="transaction">
            <h2 id="transaction">Transaction</h2>
            ${transactionFacts(found)}
          </section>
        </div>
        <section aria-labelledby="checks">
          <h2 id="checks">Checks, in order</h2>
          <div class="scroll">
            <table>
              <thead><tr>
                <th scope="col">Check</th>
                <th scope="col">Result</th>
                <th scope="col">Details</th>
                <th scope="col" class="number">Time</th>
              </tr></thead>
              <tbody>${checks.map(checkRow)}</tbody>
            </table>
          </div>
          <p class="hint">
            Checks after the first objection did not run, and spent no try.
          </p>
        </section>
        <section aria-labelledby="asked">
          <h2 id="asked">Request</h2>
          <dl>
            <dt>Card</dt>
            <dd><a href="${path`/console/cards/${publicToken}`}">${publicToken}</a></dd>
            <dt>Network</dt><dd>${found.networkId}</dd>
            <dt>Reference</dt><dd><code>${reference}</code></dd>
            <dt>Request</dt><dd><code>${found.requestId}</code></dd>
            <dt>Authorization</dt><dd><code>${authorizationId}</code></dd>
          </dl>
        </section>`,
    }
  },
}

const declinerNames: Readonly<Record<(typeof decliners)[number], string>> = {
  card: 'The card',
  product_control: 'A control of the product',
  card_control: 'A control of the card',
  pin: 'The PIN',
  cvv2: 'The CVV2',
  chip: 'The chip',
  client: 'The client',
  fallback: 'What stood in for the client',
  service: 'The service',
}

const retryNames: Readonly<Record<(typeof retries)[number], string>> = {
  never: 'Never succeeds',
  with_other_data: 'May succeed with other data',
  later: 'May succeed later',
}

function answerFacts(found: Authorization): Content {
  const { approved, control, declinedBy, declineReason, responseCode, retry } = found
  return html`<dl>
    <dt>Answer</dt>
    <dd>
      ${badge(approved ? 'Approved' : 'Declined', approved ? 'good' : 'bad')}
      <code>${responseCode}</code>
    </dd>
    ${declineReason && html`<dt>Decline reason</dt><dd><code>${declineReason}</code></dd>`}
    ${
      declinedBy &&
      html`<dt>Declined by</dt>
        <dd>${declinerNames[declinedBy]} <code>${declinedBy}</code></dd>`
    }
    ${control && html`<dt>Control</dt><dd><code>${control}</code></dd>`}
    ${retry && html`<dt>Retry</dt><dd>${retryNames[retry]} <code>${retry}</code></dd>`}
    <dt>Decided</dt><dd>${instant(found.decidedAt)}</dd>
    <dt>Duration</dt><dd>${found.durationMs} ms</dd>
  </dl>`
}

function transactionFacts(found: Authorization): Content {
  const { amount, billingAmount, billingCurrency, currency, merchant } = found
  const { networkTransactionId, paymentId, publicToken } = found
  const money = (sum: number | undefined, of: string | undefined) =>
    sum !== undefined && of !== undefined && formatMoney({ amount: sum, currency: of })
  const billed = money(billingAmount, billingCurrency)
  const part = money(found.approvedAmount, currency)
  const cash = money(found.cashbackAmount, currency)
  return html`<dl>
    <dt>Amount</dt><dd>${money(amount, currency) || 'none'}</dd>
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
          ? 'none: nothing is held'
          : html`<a href="${paymentPath(publicToken, paymentId)}">What is held and has moved</a>`
      }
    </dd>
  </dl>`
}

const deciderNames: Readonly<Record<NonNullable<Check['decidedBy']>, string>> = {
  endpoint: 'The endpoint of the client decided',
  'fallback:timeout': 'The client did not answer in time',
  'fallback:error': 'The client gave no usable answer',
  'rule:timeout': 'The client did not answer in time: its rule decided',
  'rule:error': 'The client gave no usable answer: its rule decided',
}

const findingNames: Readonly<Record<ChipFinding, string>> = {
  chip_declined: 'the chip itself declined',
  atc_jump: 'the transaction counter jumped',
  cryptogram_replayed: 'the transaction counter was used before or is too old',
  offline_pin_failed: 'the chip rejected a PIN',
  offline_pin_blocked: 'the tries of the PIN in the chip are used up',
  command_failed: 'the chip refused a command',
  data_disagreement: 'the chip data differ from the message, or the track from the card',
  data_missing: 'the message has no chip data',
  key_unknown: 'the key that the chip names does not exist',
  fallback: 'the stripe of a card with a chip was read',
  guessing: 'not compared after too many wrong values',
  wrong_card_value: 'wrong verification value',
  wrong_cavv: 'wrong 3-D Secure value',
}

function checkRow(check: Check): Content {
  const [word, tone] = verdicts[check.result]
  const { afterMs, cardStatusCode = '', remainingTries, responseCode, tryNumber } = check
  const { control, decidedBy, findings = [], owner, reason } = check
  const details = [
    decidedBy !== undefined && deciderNames[decidedBy],
    reason,
    control !== undefined && `${control} of the ${owner}`,
    isCardStatusCode(cardStatusCode) && `The card was ${cardStatuses[cardStatusCode].description}`,
    ...findings.map((finding) => findingNames[finding]),
    tryNumber !== undefined && `try ${tryNumber}`,
    remainingTries !== undefined && left(remainingTries),
    responseCode !== undefined && `objected with ${responseCode}`,
  ]
  return html`<tr>
    <th scope="row">${checkNames[check.check]}</th>
    <td>${badge(word, tone)}</td>
    <td>${details.filter(Boolean).join(' · ')}</td>
    <td class="number">${afterMs} ms</td>
  </tr>`
}
