import type { Static } from 'typebox'
import type { PaymentEffect } from '../../domain/payment.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { PaymentWithMessagesSchema } from '../../listeners/http/payment-schemas.ts'
import { writeMoney } from '../amounts.ts'
import { authorizationPath } from '../card-links.ts'
import { instant } from '../desk-parts.ts'

export type Payment = Static<typeof PaymentWithMessagesSchema>
type Message = Payment['messages'][number]

const messageNames: Readonly<Record<Message['message'], string>> = {
  increment: 'Increment',
  reversal: 'Reversal',
  advice: 'Advice',
  clearing: 'Clearing',
  refund: 'Refund',
  expiry: 'Expiry of the hold',
}

/** The name of an effect, and its kind: it holds, frees, moves or returns money. */
interface EffectWords {
  readonly text: string
  readonly kind: 'held' | 'freed' | 'moved' | 'returned' | 'none'
}

const effects: Readonly<Record<PaymentEffect, EffectWords>> = {
  open: { text: 'Opened the payment', kind: 'held' },
  openFlagged: { text: 'Opened the payment, flagged', kind: 'held' },
  openDecided: { text: 'Opened the payment', kind: 'held' },
  raise: { text: 'Raised the hold', kind: 'held' },
  remember: { text: 'Came before its original', kind: 'none' },
  release: { text: 'Took back', kind: 'freed' },
  replace: { text: 'Replaced the hold', kind: 'held' },
  reopen: { text: 'Held again, flagged', kind: 'held' },
  clear: { text: 'Moved money; the rest stays held', kind: 'moved' },
  clearFinal: { text: 'Moved money; nothing stays held', kind: 'moved' },
  clearLate: { text: 'Moved money, late', kind: 'moved' },
  force: { text: 'Opened a forced payment', kind: 'moved' },
  forceFinal: { text: 'Opened a forced payment', kind: 'moved' },
  refund: { text: 'Paid back', kind: 'returned' },
  credit: { text: 'Opened a credit payment', kind: 'returned' },
  expire: { text: 'Released the hold', kind: 'freed' },
  close: { text: 'Released the rest of the hold', kind: 'freed' },
  record: { text: 'No effect', kind: 'none' },
  ignore: { text: 'No effect', kind: 'none' },
}

const openings: Readonly<Record<Payment['openedBy'], readonly [string, string]>> = {
  authorization: ['Authorization', 'Opened the payment'],
  increment: ['Increment', 'Opened the payment: none was open'],
  advice: ['Advice', 'Opened the payment: the network decided'],
  clearing: ['Clearing', 'Opened a forced payment'],
  refund: ['Refund', 'Opened a credit payment'],
}

/** Draws the parts of the approved amount: cleared, open and reversed. */
export function sumsBar({ approved, cleared, open, reversed }: Payment): Html | null {
  const whole = Math.max(approved, cleared + open + reversed)
  if (whole === 0) return null
  let from = 0
  const parts = Object.entries({ moved: cleared, held: open, freed: reversed }).map(
    ([kind, amount]) => {
      const width = (amount / whole) * 100
      const drawn = html`<rect class="${kind}" x="${round(from)}" width="${round(width)}"
        height="6"/>`
      from += width
      return width > 0 && drawn
    },
  )
  return html`<svg class="sums" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="6"/>${parts}
  </svg>`
}

const round = (value: number): number => Math.round(value * 10) / 10

/** The payment as the line of its messages, from the one that opened it. */
export const messageLine = (payment: Payment): Html =>
  html`<ol class="line-of-messages">
    ${opening(payment)}
    ${payment.messages.map((message) => messageItem(payment, message))}
    ${ending(payment)}
  </ol>`

function opening({ openedAt, openedBy, paymentId, publicToken, transactionType }: Payment): Html {
  const [name, text] = openings[openedBy]
  // Only an authorization that is still on record can be shown.
  const isShown = transactionType !== undefined
  return html`<li class="held">
    ${instant(openedAt)}
    <b>
      ${isShown ? html`<a href="${authorizationPath(publicToken, paymentId)}">${name}</a>` : name}
    </b>
    <span class="effect">${text}</span>
  </li>`
}

function messageItem({ currency, publicToken }: Payment, message: Message): Html {
  const { amount, applied, messageId, receivedAt, reference } = message
  const { kind, text } = effects[message.effect as PaymentEffect]
  const name = messageNames[message.message]
  // An increment is an authorization, too, with the same id.
  const isDecided = message.message === 'increment'
  const sum = (of: number) => writeMoney({ amount: of, currency })
  const sign = message.effect === 'raise' ? '+' : kind === 'freed' ? '−' : ''
  return html`<li class="${kind}">
    ${instant(receivedAt)}
    <b>
      ${isDecided ? html`<a href="${authorizationPath(publicToken, messageId)}">${name}</a>` : name}
    </b>
    <span class="effect">
      ${text}${amount !== applied && html`, of ${sum(amount)}`}
      ${reference && html`<span class="fine">Reference <code>${reference}</code></span>`}
    </span>
    <span class="number">${sign}${sum(applied)}</span>
  </li>`
}

/** Whether a payment in a state holds an amount. */
export const isHeld = (state: Payment['state']): boolean =>
  state === 'open' || state === 'partlyCleared'

/** Returns the end of the hold, while an amount is held. */
function ending({ currency, holdExpiresAt, open, state }: Payment): Content {
  return (
    isHeld(state) &&
    holdExpiresAt !== undefined &&
    html`<li class="ahead">
      ${instant(holdExpiresAt)}
      <b>Hold expires</b>
      <span class="effect">Releases what is still open then</span>
      <span class="number">−${writeMoney({ amount: open, currency })}</span>
    </li>`
  )
}
