import type { Static } from 'typebox'
import type { CardOfHistorySchema } from '../../listeners/http/card-history-members.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { cardLink } from '../card-links.ts'
import { badge, instant, statusBadge, type Tone } from '../desk-parts.ts'

/** A card of a line. */
export type CardOfLine = Static<typeof CardOfHistorySchema>
type Plastic = CardOfLine['plastics'][number]
type DeliveryStatus = NonNullable<Plastic['deliveryStatus']>

/** The mark of a card that another card of its line took the place of. */
export const retiredBadge = ({ retired }: { readonly retired: boolean }): Content =>
  retired && html` ${badge('Retired', 'warn')}`

/** The section of the cards that replaced each other. A card without another one has none. */
export const lineSection = (line: readonly CardOfLine[], publicToken: string): Content =>
  line.length > 1 &&
  html`<section aria-labelledby="line">
    <h2 id="line">Line</h2>
    <ul class="plain">${line.map((card) => lineItem(card, publicToken))}</ul>
  </section>`

const lineItem = (card: CardOfLine, here: string): Html => {
  const { createdAt, maskedPan, publicToken, reason } = card
  return html`<li>
    <div class="use">
      <span>
        ${
          publicToken === here
            ? html`${maskedPan} <span class="fine">(this card)</span>`
            : cardLink(publicToken, maskedPan)
        }
      </span>
      <span>${statusBadge(card)}${retiredBadge(card)}</span>
    </div>
    <p class="fine">
      <code>${publicToken}</code> · ${reason && html`${reason} · `}created ${instant(createdAt)}
      ${activation(card)}
    </p>
  </li>`
}

/** The activation of the first card of a line is a change of its status, in the timeline. */
function activation({ activatedAt, replacementFor }: CardOfLine): Content {
  if (replacementFor === undefined) return null
  return activatedAt === undefined
    ? html`· not activated yet`
    : html`· activated ${instant(activatedAt)}`
}

/** Describes which card a card replaces, and which card replaces it. */
export function describeSuccession(line: readonly CardOfLine[], publicToken: string): Html {
  const replaced = line.find((each) => each.publicToken === publicToken)?.replacementFor
  // The newest comes first. A successor before it was closed unused.
  const successor = line.find(({ replacementFor }) => replacementFor === publicToken)
  return html`
    ${
      replaced !== undefined &&
      html`<dt>Replaces</dt><dd>${cardLink(replaced, `Card ${replaced}`)}</dd>`
    }
    ${
      successor &&
      html`<dt>Replaced by</dt>
        <dd>${cardLink(successor.publicToken, `Card ${successor.publicToken}`)}</dd>`
    }`
}

/** The section of the editions of a card, newest first. */
export const plasticsSection = (line: readonly CardOfLine[], publicToken: string): Html => {
  const card = line.find((each) => each.publicToken === publicToken)
  const plastics = card?.plastics.toReversed() ?? []
  const isNoticed = card !== undefined && needsRenewal(card, line)
  const item = (plastic: Plastic) => plasticItem(plastic, isNoticed)
  return html`<section aria-labelledby="plastics">
    <h2 id="plastics">Plastics</h2>
    <ul class="plain">${plastics.slice(0, plasticsMost).map(item)}</ul>
    ${
      plastics.length > plasticsMost &&
      html`<details>
        <summary>${plastics.length - plasticsMost} older plastics</summary>
        <ul class="plain">${plastics.slice(plasticsMost).map(item)}</ul>
      </details>`
    }
  </section>`
}

/** The most plastics that are shown at once. */
const plasticsMost = 3

const stateTones: Readonly<Record<Plastic['state'], Tone>> = {
  Current: 'good',
  Waiting: 'warn',
  Retired: 'plain',
  Cancelled: 'plain',
}

/** Whether the client gets notices of a renewal: a notice without a need is skipped. */
function needsRenewal(card: CardOfLine, line: readonly CardOfLine[]): boolean {
  const { expiryDate: until = '' } = card.plastics.find(({ state }) => state === 'Current') ?? {}
  return (
    isOpen(card) &&
    !card.plastics.some(({ expiryDate, state }) => state === 'Waiting' && expiryDate > until) &&
    !line.some((other) => other.replacementFor === card.publicToken && isOpen(other))
  )
}

const isOpen = ({ cardStatusCode, retired }: CardOfLine): boolean =>
  ['00', '02', '62'].includes(cardStatusCode) && !retired

const plasticItem = (plastic: Plastic, isNoticed: boolean): Html =>
  html`<li>
    <div class="use">
      <span>
        ${String(plastic.plasticNumber).padStart(2, '0')}
        ${badge(plastic.state, stateTones[plastic.state])}
        ${plastic.inactive === true && badge('Not activated', 'warn')}
        ${plastic.reason}
      </span>
      <span class="end fine">until ${plastic.expiryDate}</span>
    </div>
    ${deliverySteps(plastic)}
    ${
      isNoticed &&
      plastic.state === 'Current' &&
      plastic.noticesGiven > 0 &&
      html`<p class="fine">${noticeTexts[plastic.noticesGiven]}</p>`
    }
    ${plastic.endedAt !== undefined && html`<p class="fine">Ended ${instant(plastic.endedAt)}</p>`}
  </li>`

/** By the number of notices of renewal that the client was given. */
const noticeTexts: readonly string[] = [
  '',
  'Renewal notice at 60 days',
  'Renewal notices at 60 and 30 days',
]

const onTheWay = ['Ordered', 'Produced', 'Shipped', 'Delivered'] as const

/** Lists the steps of a delivery: those before the present one, it, and those to come. */
function deliverySteps({ deliveryChangedAt, deliveryStatus, orderedAt }: Plastic): Content {
  if (deliveryStatus === undefined) return html`<p class="fine">Virtual, without a delivery</p>`
  const steps = listSteps(deliveryStatus)
  const present = steps.indexOf(deliveryStatus)
  return html`<ol class="way">${steps.map(
    (step, at) =>
      html`<li class="${stepClass(step, at - present)}"${
        at === present && html` aria-current="step"`
      }>${step}</li>`,
  )}</ol>
  <p class="fine">
    ${deliveryStatus} ${instant(present === 0 ? orderedAt : (deliveryChangedAt ?? orderedAt))}
  </p>`
}

/** A plastic can be returned or cancelled after any step: which one is not stored. */
const listSteps = (status: DeliveryStatus): readonly DeliveryStatus[] =>
  status === 'Returned' || status === 'Cancelled' ? ['Ordered', status] : onTheWay

function stepClass(step: DeliveryStatus, ahead: number): string {
  if (ahead > 0) return 'ahead'
  if (step === 'Returned') return 'stopped'
  return ahead === 0 ? 'present' : 'done'
}
