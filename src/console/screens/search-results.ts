import type { Static } from 'typebox'
import { describeDecline, isDeclineReason } from '../../domain/decline-words.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import { describeTransaction } from '../../domain/transaction.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { FoundCardSchema } from '../../listeners/private/schemas/cards.ts'
import { writeMoney } from '../amounts.ts'
import { badge, instant, renderActor, statusBadge } from '../desk-parts.ts'
import { listed } from '../listing.ts'
import { path, type Visit } from '../screen.ts'
import { authorizationPath, merchantName, paymentPath, stateBadge } from './payment-parts.ts'

export type FoundCard = Static<typeof FoundCardSchema>

/** The columns of what was found beside the card: an authorization, or a payment. */
const foundColumns: Readonly<Record<string, readonly string[]>> = {
  authorizationReference: ['Authorization', 'Result', 'Time', 'Transaction'],
  paymentId: ['Payment', 'State', 'Opened', 'Open'],
  networkTransactionId: ['Payment', 'State', 'Opened', 'Open'],
}

/** Renders the cards of one meaning of a text, one line each. */
export const resultTable = (visit: Visit, member: string, cards: readonly FoundCard[]): Html => {
  const found = foundColumns[member] ?? []
  const ofCard = ['Status', 'Client', 'Customer reference']
  const columns =
    found.length > 0
      ? [...found, 'Card', ...ofCard]
      : ['Card', 'Token', ...ofCard, 'Expires', 'Created']
  return listed(
    'Found cards',
    columns,
    cards.map((card) => resultRow(visit, card)),
    'Nothing was found.',
  )
}

function resultRow(visit: Visit, { authorization, payment, ...card }: FoundCard): Content {
  const { publicToken } = card
  const isCardAlone = !authorization && !payment
  return html`<tr>
    ${authorization && authorizationCells(publicToken, authorization)}
    ${payment && paymentCells(publicToken, payment)}
    <th scope="row">
      <a href="${path`/console/cards/${publicToken}`}" title="${publicToken}">${card.maskedPan}</a>
    </th>
    ${isCardAlone && html`<td>${publicToken}</td>`}
    <td>${statusBadge(card)}</td>
    <td><div class="cut">${renderActor(visit, card.clientId, card.clientName)}</div></td>
    <td>${renderCut(card.customerReference)}</td>
    ${
      isCardAlone &&
      html`<td>${card.expiryDate.slice(0, 7)}</td>
        <td>${instant(card.createdAt)}</td>`
    }
  </tr>`
}

/** Renders a text in one line, which is shown as a whole under the pointer. */
const renderCut = (text: string | null | undefined): Content =>
  text && html`<bdi class="cut" title="${text}">${text}</bdi>`

function authorizationCells(
  publicToken: string,
  authorization: NonNullable<FoundCard['authorization']>,
): Content {
  const { advice, at, authorizationId, declineReason, reference, responseCode } = authorization
  const isApproved = isApprovalCode(responseCode)
  const reason = isDeclineReason(declineReason) ? declineReason : undefined
  return html`<td>
      <a href="${authorizationPath(publicToken, authorizationId)}">${renderCut(reference)}</a>
    </td>
    <td title="${advice}">
      ${badge(describeDecline(responseCode, reason), isApproved ? 'good' : 'bad')}
    </td>
    <td>${instant(at)}</td>
    <td>${renderCut(describeTransaction(authorization))}</td>`
}

function paymentCells(publicToken: string, payment: NonNullable<FoundCard['payment']>): Content {
  const { currency, merchant, open, openedAt, paymentId, state } = payment
  return html`<td>
      <a class="cut" href="${paymentPath(publicToken, paymentId)}">${merchantName(merchant)}</a>
    </td>
    <td>${stateBadge(state)}</td>
    <td>${instant(openedAt)}</td>
    <td class="number">${writeMoney({ amount: open, currency })}</td>`
}
