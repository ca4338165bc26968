import type { Static } from 'typebox'
import { expiringCardsMost } from '../../domain/card-life.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { ExpiringCardsSchema, KeyWearSchema } from '../../listeners/private/schemas/figures.ts'
import { writeCount } from '../amounts.ts'
import { stackedBars } from '../charts.ts'

type KeyWear = Static<typeof KeyWearSchema>

const monthFormat = new Intl.DateTimeFormat('en-GB', {
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const dayFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

/** Renders a day in UTC. */
export const renderDay = (at: string): Html =>
  html`<time datetime="${at.slice(0, 10)}">${dayFormat.format(new Date(at))}</time>`

/** Renders whether a rotation is due, in one line. */
export function renderDue(wear: readonly KeyWear[]): Content {
  const due = wear.filter(({ rotationDue }) => rotationDue)
  const [next] = wear.toSorted((one, other) => one.rotationDueAt.localeCompare(other.rotationDueAt))
  if (next === undefined) return null
  if (due.length === 0) {
    return html`<p class="state good" role="status">
      <b>No key is due for rotation</b>
      <span>next: ${next.key}, by ${renderDay(next.rotationDueAt)}</span>
    </p>`
  }
  const names = due.map(({ key }) => key).join(', ')
  return html`<p class="state warn" role="status">
    <b>Due for rotation: ${names}</b> <span>Rotate them in the list of keys.</span>
  </p>`
}

/** Renders the months in which keys are due, each with its keys. */
export function renderRotations(wear: readonly KeyWear[]): Html {
  const dated = wear.toSorted((one, other) => one.rotationDueAt.localeCompare(other.rotationDueAt))
  const months = Map.groupBy(dated, ({ rotationDue, rotationDueAt }) =>
    rotationDue ? 'Now' : monthFormat.format(new Date(rotationDueAt)),
  )
  return months.size === 0
    ? html`<p class="empty">No key has a term yet.</p>`
    : html`<dl class="months">
        ${[...months].map(
          ([month, keys]) => html`<dt>${month}</dt>
            <dd>${keys.map(({ key }, at) => html`${at > 0 && ', '}<code>${key}</code>`)}</dd>`,
        )}
      </dl>`
}

/** Draws how many cards expire in each month. */
export function renderExpiries(expiries: readonly Static<typeof ExpiringCardsSchema>[]): Html {
  const chart = stackedBars({
    title: 'Open cards by the month of their expiry',
    rowTitle: 'Month',
    empty: 'No card expires within twelve months.',
    series: ['Cards'],
    points: expiries.map(({ cards, month }) => ({
      label: monthFormat.format(new Date(`${month}-01`)),
      values: [cards],
    })),
  })
  const isCut = expiries.some(({ cards }) => cards === expiringCardsMost)
  return html`${chart}${
    isCut &&
    html`<p class="fine">Counting stops at ${writeCount(expiringCardsMost)} cards in a month.</p>`
  }`
}
