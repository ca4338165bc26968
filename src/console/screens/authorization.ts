import type { Static } from 'typebox'
import { cardStatuses, isCardStatusCode } from '../../domain/card-status.ts'
import { describeTransaction } from '../../domain/transaction.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { RecordedAuthorizationSchema } from '../../listeners/private/schemas/card-authorizations.ts'
import { badge, instant } from '../desk-parts.ts'
import { path, type Screen } from '../screen.ts'
import { left } from './card-timeline.ts'

type Check = Static<typeof RecordedAuthorizationSchema>['checks'][number]

const approvedSaying =
  'We approved this payment. If it did not go through, the shop or its bank declined it: ' +
  'please ask there.'

const checkNames: Readonly<Record<Check['check'], string>> = {
  card: 'Card exists',
  postal_code: 'Postal code (decides nothing)',
  address_line: 'Address line (decides nothing)',
  status: 'Status of the card',
  expiry: 'Expiry date',
  transaction_type: 'Type of the transaction',
  currency: 'Currency',
  shadow: 'Shadow controls',
  controls: 'Spending controls',
  pin_block: 'PIN block can be read',
  pin: 'PIN',
  cvv2: 'CVV2',
  limits: 'Spending limits',
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
    const { advice = approvedSaying, approved, checks, declineReason, responseCode } = found
    const { decidedAt, durationMs, entryMode, networkId, reference } = found
    const transaction = describeTransaction(found)
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
            <dt>Answer</dt>
            <dd>${badge(approved ? 'Approved' : 'Declined', tone)} <code>${responseCode}</code></dd>
            ${declineReason && html`<dt>Decline reason</dt><dd><code>${declineReason}</code></dd>`}
            ${transaction && html`<dt>Transaction</dt><dd>${transaction}</dd>`}
            <dt>Transaction type</dt><dd>${found.transactionType}</dd>
            <dt>Decided</dt><dd>${instant(decidedAt)}</dd>
            <dt>Network</dt><dd>${networkId}</dd>
            <dt>Reference</dt><dd><code>${reference}</code></dd>
            <dt>Entry mode</dt><dd>${entryMode}</dd>
            <dt>Duration</dt><dd>${durationMs} ms</dd>
            <dt>Request</dt><dd><code>${found.requestId}</code></dd>
          </dl>
        </section>`,
    }
  },
}

function checkRow(check: Check): Content {
  const [word, tone] = verdicts[check.result]
  const { afterMs, cardStatusCode = '', remainingTries, responseCode, tryNumber } = check
  const { control, owner } = check
  const details = [
    control !== undefined && `${control} of the ${owner}`,
    isCardStatusCode(cardStatusCode) && `The card was ${cardStatuses[cardStatusCode].description}`,
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
