import type { Static } from 'typebox'
import type { CardOfHistorySchema } from '../../listeners/http/card-history-members.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { badge, instant, statusBadge } from '../desk-parts.ts'
import { listed } from '../listing.ts'
import { path } from '../screen.ts'

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
    ${listed(
      'Cards of the line',
      ['Card', 'Status', 'Replaces', 'Reason', 'Created', 'Activated'],
      line.map((card) => lineRow(card, publicToken)),
      'The line has no cards.',
    )}
  </section>`

const lineRow = (card: CardOfLine, here: string): Html => {
  const { createdAt, maskedPan, publicToken, reason, replacementFor } = card
  return html`<tr>
    <th scope="row">
      ${publicToken === here ? html`${maskedPan} (this card)` : linkTo(publicToken, maskedPan)}
      <p class="fine"><code>${publicToken}</code></p>
    </th>
    <td>${statusBadge(card)}${retiredBadge(card)}</td>
    <td>${replacementFor !== undefined && html`<code>${replacementFor}</code>`}</td>
    <td>${reason}</td>
    <td>${instant(createdAt)}</td>
    <td>${activation(card)}</td>
  </tr>`
}

const linkTo = (publicToken: string, text: string): Html =>
  html`<a href="${path`/console/cards/${publicToken}`}">${text}</a>`

/** The activation of the first card of a line is a change of its status, in the timeline. */
function activation({ activatedAt, replacementFor }: CardOfLine): Content {
  if (replacementFor === undefined) return null
  return activatedAt === undefined ? badge('Not yet', 'warn') : instant(activatedAt)
}

/** Describes which card a card replaces, and which card replaces it. */
export function describeSuccession(line: readonly CardOfLine[], publicToken: string): Html {
  const replaced = line.find((each) => each.publicToken === publicToken)?.replacementFor
  // The newest comes first. A successor before it was closed unused.
  const successor = line.find(({ replacementFor }) => replacementFor === publicToken)
  return html`
    ${
      replaced !== undefined &&
      html`<dt>Replaces</dt><dd>${linkTo(replaced, `Card ${replaced}`)}</dd>`
    }
    ${
      successor &&
      html`<dt>Replaced by</dt>
        <dd>${linkTo(successor.publicToken, `Card ${successor.publicToken}`)}</dd>`
    }`
}

/** The section of the editions of a card, newest first. */
export const plasticsSection = (line: readonly CardOfLine[], publicToken: string): Html =>
  html`<section aria-labelledby="plastics">
    <h2 id="plastics">Plastics</h2>
    ${listed(
      'Plastics of the card',
      ['Plastic', 'Reason', 'Expires', 'Delivery', 'Renewal notices'],
      line
        .filter((card) => card.publicToken === publicToken)
        .flatMap(({ plastics }) => plastics.toReversed().map(plasticRow)),
      'The line is too long to show the plastics of this card.',
    )}
  </section>`

const stateTones: Readonly<Record<Plastic['state'], 'good' | 'warn' | 'plain'>> = {
  Current: 'good',
  Waiting: 'warn',
  Retired: 'plain',
  Cancelled: 'plain',
}

const plasticRow = (plastic: Plastic): Html =>
  html`<tr>
    <th scope="row">
      ${String(plastic.plasticNumber).padStart(2, '0')}
      ${badge(plastic.state, stateTones[plastic.state])}
      ${plastic.endedAt !== undefined && html`<p class="fine">${instant(plastic.endedAt)}</p>`}
    </th>
    <td>${plastic.reason}</td>
    <td>${plastic.expiryDate}</td>
    <td>${deliverySteps(plastic)}</td>
    <td>${noticeTexts[plastic.noticesGiven]}</td>
  </tr>`

/** By the number of notices that the client was given. */
const noticeTexts: readonly string[] = ['None', 'At 60 days', 'At 60 and 30 days']

const onTheWay = ['Ordered', 'Produced', 'Shipped', 'Delivered'] as const

/** Lists the steps of a delivery: those before the present one, it, and those to come. */
function deliverySteps({ deliveryChangedAt, deliveryStatus, orderedAt }: Plastic): Content {
  if (deliveryStatus === undefined) return html`<span class="fine">Virtual</span>`
  const steps = listSteps(deliveryStatus)
  const present = steps.indexOf(deliveryStatus)
  return html`<ol class="steps">${steps.map(
    (step, at) =>
      html`<li class="${stepClass(step, at - present)}"${
        at === present && html` aria-current="step"`
      }>
        ${step}
        ${at === 0 && instant(orderedAt)}
        ${at > 0 && at === present && instant(deliveryChangedAt)}
      </li>`,
  )}</ol>`
}

/** A plastic can be returned or cancelled after any step: which one is not stored. */
const listSteps = (status: DeliveryStatus): readonly DeliveryStatus[] =>
  status === 'Returned' || status === 'Cancelled' ? ['Ordered', status] : onTheWay

function stepClass(step: DeliveryStatus, ahead: number): string {
  if (ahead > 0) return 'ahead'
  if (step === 'Returned') return 'stopped'
  return ahead === 0 ? 'present' : 'done'
}
