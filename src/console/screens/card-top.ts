import { type DeclineReason, declineRules } from '../../domain/decline-reason.ts'
import { describeDecline } from '../../domain/decline-words.ts'
import { describeTransaction, type TransactionMembers } from '../../domain/transaction.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { writeMoney } from '../amounts.ts'
import { authorizationPath } from '../card-links.ts'
import { instant, renderActor, statusBadge } from '../desk-parts.ts'
import type { Visit } from '../screen.ts'
import type { Card } from './card-act.ts'
import { type CardOfLine, describeSuccession, retiredBadge } from './card-life.ts'
import { describeActor } from './card-timeline.ts'

/** Draws the card as its holder knows it, without a name. The facts beside it say the same. */
export function cardFace({ cardStatusCode, ...card }: Card): Html {
  const { cardType, expiryDate, maskedPan, productName, schemeName } = card
  const number = maskedPan.replaceAll('*', '•').replaceAll(/.{4}(?=.)/g, '$& ')
  const [year = '', month = ''] = expiryDate.split('-')
  const look = cardStatusCode === '00' ? 'face' : 'face resting'
  return html`<div class="${look}" aria-hidden="true">
    <span class="product"><bdi>${productName}</bdi></span>
    <span class="type">${cardType}</span>
    <span class="number">${number}</span>
    <span>${month}/${year.slice(2)}</span>
    <span class="scheme">${schemeName}</span>
  </div>`
}

/** The status of a card, with who set it and why. */
export const cardStatus = (visit: Visit, card: Card): Html =>
  html`<section class="status" aria-labelledby="card">
    <h2 id="card">${statusBadge(card)}${retiredBadge(card)}${statusSince(visit, card)}</h2>
    ${card.statusReason?.reason && html`<p><q>${card.statusReason.reason}</q></p>`}
  </section>`

/** The facts that distinguish a card. */
export const cardFacts = (visit: Visit, card: Card, line: readonly CardOfLine[]): Html =>
  html`<dl class="facts">
    <dt>Customer reference</dt><dd><bdi>${card.customerReference ?? 'None'}</bdi></dd>
    <dt>Client</dt><dd>${renderActor(visit, card.clientId, card.clientName)}</dd>
    <dt>Product</dt>
    <dd>
      <bdi>${card.productName}</bdi>
      <span class="fine">${card.productId} · ${card.schemeName} · ${card.cardType}</span>
    </dd>
    <dt>Token</dt><dd><code>${card.publicToken}</code></dd>
    <dt>Expires</dt>
    <dd>${card.expiryDate} <span class="fine">renewal: ${card.renewalType}</span></dd>
    <dt>Created</dt><dd>${instant(card.createdAt)}</dd>
    ${describeSuccession(line, card.publicToken)}
  </dl>`

const statusSince = (visit: Visit, { statusReason }: Card): Content =>
  statusReason &&
  html`<span class="fine">
    since ${instant(statusReason.at)} by ${describeActor(visit, statusReason.by)}
  </span>`

/** The members of an authorization for one line about its decline. */
interface Declined extends TransactionMembers {
  readonly authorizationId: string
  readonly publicToken: string
  readonly responseCode: string
  readonly declineReason?: DeclineReason
  readonly advice?: string
  readonly decidedAt: string
}

/** The last decline, and what to say about it; nothing without one. */
export const lastDecline = (found: Declined | undefined, card: Card): Content =>
  found &&
  html`<section class="last-decline" aria-labelledby="declined">
    <h2 id="declined">Last decline</h2>
    <a class="reason" href="${authorizationPath(found.publicToken, found.authorizationId)}">
      ${describeDecline(found.responseCode, found.declineReason)}</a>
    <span>${describeTransaction(found, writeMoney)}</span>
    ${instant(found.decidedAt)}
    ${found.advice && html`<p>Say: “${adviseNow(found, card)}”</p>`}
  </section>`

/** Returns what to say of a decline now: since then, the last try may have been used. */
function adviseNow({ advice, declineReason }: Declined, { cvvStatus, pinStatus }: Card) {
  if (declineReason === 'wrong_pin' && pinStatus.status === 'Blocked')
    return declineRules.pin_blocked.advice
  if (declineReason === 'wrong_cvv2' && cvvStatus.status === 'Blocked')
    return declineRules.cvv2_blocked.advice
  return advice
}
