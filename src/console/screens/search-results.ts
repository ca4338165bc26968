import Type, { type Static } from 'typebox'
import { describeDecline, isDeclineReason } from '../../domain/decline-words.ts'
import { isApprovalCode } from '../../domain/response-code.ts'
import { describeTransaction } from '../../domain/transaction.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { FoundCardSchema } from '../../listeners/private/schemas/cards.ts'
import { writeMoney } from '../amounts.ts'
import { authorizationPath, cardPath, paymentPath } from '../card-links.ts'
import { badge, instant, instantInRow, renderActor, statusBadge } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'
import type { Visit } from '../screen.ts'
import { merchantName, stateBadge } from './payment-parts.ts'

export const FoundCardsSchema = Type.Array(FoundCardSchema)
export type FoundCard = Static<typeof FoundCardSchema>

/** Renders the cards of one meaning of a text, one line each. */
export const resultTable = (visit: Visit, member: string, cards: readonly FoundCard[]): Html => {
  const found = foundColumns[member]
  const ofCard = listCardColumns(visit)
  return renderTable({
    name: 'Found cards',
    columns: found
      ? [...found, cardColumn, ...ofCard]
      : [cardColumn, tokenColumn, ...ofCard, ...cardDates],
    rows: cards,
    empty: 'Nothing was found.',
  })
}

const cardColumn: Column<FoundCard> = {
  title: 'Card',
  kind: 'name',
  cell: ({ maskedPan, publicToken }) =>
    html`<a href="${cardPath(publicToken)}" title="${publicToken}">${maskedPan}</a>`,
}

const tokenColumn: Column<FoundCard> = { title: 'Token', cell: ({ publicToken }) => publicToken }

const listCardColumns = (visit: Visit): readonly Column<FoundCard>[] => [
  { title: 'Status', cell: (card) => statusBadge(card) },
  {
    title: 'Client',
    cell: ({ clientId, clientName }) =>
      html`<div class="cut">${renderActor(visit, clientId, clientName)}</div>`,
  },
  {
    title: 'Customer reference',
    cell: ({ customerReference }) => renderCut(customerReference),
  },
]

const cardDates: readonly Column<FoundCard>[] = [
  { title: 'Expires', cell: ({ expiryDate }) => expiryDate.slice(0, 7) },
  { title: 'Created', cell: ({ createdAt }) => instant(createdAt) },
]

/** Renders a text in one line, which is shown as a whole under the pointer. */
const renderCut = (text: string | null | undefined): Content =>
  text && html`<bdi class="cut" title="${text}">${text}</bdi>`

const authorizationColumns: readonly Column<FoundCard>[] = [
  {
    title: 'Authorization',
    cell: ({ authorization, publicToken }) =>
      authorization &&
      html`<a href="${authorizationPath(publicToken, authorization.authorizationId)}">${renderCut(
        authorization.reference,
      )}</a>`,
  },
  {
    title: 'Result',
    tip: ({ authorization }) => authorization?.advice,
    cell: ({ authorization }) => authorization && renderResult(authorization),
  },
  { title: 'Time', cell: ({ authorization }) => instantInRow(authorization?.at) },
  {
    title: 'Transaction',
    cell: ({ authorization }) =>
      authorization && renderCut(describeTransaction(authorization, writeMoney)),
  },
]

function renderResult({
  declineReason,
  responseCode,
}: NonNullable<FoundCard['authorization']>): Html {
  const reason = isDeclineReason(declineReason) ? declineReason : undefined
  const tone = isApprovalCode(responseCode) ? 'good' : 'bad'
  return badge(describeDecline(responseCode, reason), tone)
}

const paymentColumns: readonly Column<FoundCard>[] = [
  {
    title: 'Payment',
    cell: ({ payment, publicToken }) =>
      payment &&
      html`<a class="cut" href="${paymentPath(publicToken, payment.paymentId)}">
        <bdi>${merchantName(payment.merchant)}</bdi></a>`,
  },
  { title: 'State', cell: ({ payment }) => payment && stateBadge(payment.state) },
  { title: 'Opened', cell: ({ payment }) => instantInRow(payment?.openedAt) },
  {
    title: 'Open',
    kind: 'number',
    cell: ({ payment }) =>
      payment && writeMoney({ amount: payment.open, currency: payment.currency }),
  },
]

/** The columns of what was found beside the card: an authorization, or a payment. */
const foundColumns: Readonly<Record<string, readonly Column<FoundCard>[]>> = {
  authorizationReference: authorizationColumns,
  paymentId: paymentColumns,
  networkTransactionId: paymentColumns,
}
