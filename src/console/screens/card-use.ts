import type { Static } from 'typebox'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { CardSpendingSchema, UsedLimitSchema } from '../../listeners/private/schemas/limits.ts'
import { writeMoney } from '../amounts.ts'
import { badge, duration, instant } from '../desk-parts.ts'
import { bar, dots } from './bars.ts'
import type { Card } from './card-act.ts'
import { describePinInChip, type FoundChip } from './card-chip.ts'
import { limitNames, renderOrigin } from './limits.ts'
import { left } from './tries-left.ts'

type UsedLimit = Static<typeof UsedLimitSchema>
type CardSpending = Static<typeof CardSpendingSchema>
type SpendingLimit = CardSpending['limits'][number]

/** The limits of tries, which are shown as dots. */
const tryLimits: readonly string[] = ['pin-tries', 'cvv-tries']

/** The tries of PIN and CVV. */
export const triesSection = (
  { cvvStatus, pinStatus }: Card,
  chip: FoundChip,
  limits: readonly UsedLimit[],
): Html =>
  html`<section aria-labelledby="tries">
    <h2 id="tries">PIN and CVV</h2>
    ${[
      { name: 'PIN', limitName: 'pin-tries', ...pinStatus },
      { name: 'CVV', limitName: 'cvv-tries', ...cvvStatus },
    ].map(({ description, limitName, name, remainingTries, status }) => {
      const limit = limits.find((each) => each.name === limitName)
      const isBlocked = status === 'Blocked'
      return html`<div class="use" title="${description}">
          <b>${name}</b>
          ${isBlocked ? badge(status, 'bad') : html`<span class="fine">${status}</span>`}
          <span class="end">
            ${limit?.allowed != null && dots(remainingTries, limit.allowed)}
            ${left(remainingTries)}
          </span>
        </div>`
    })}
    ${describePinInChip(chip)}
  </section>`

/** The limits of the card, and its spending. */
export const spendingSection = ({ currency, limits, timeZone }: CardSpending): Html =>
  html`<section aria-labelledby="spending">
    <h2 id="spending">Spending</h2>
    ${limits.map((limit) => spendingUse(limit, currency, timeZone))}
    ${limits.length === 0 && html`<p class="empty">No spending limit.</p>`}
  </section>`

const periodNames: Readonly<Record<SpendingLimit['period'], string>> = {
  transaction: 'Each transaction',
  day: 'Day',
  week: 'Week',
  month: 'Month',
  lifetime: 'Lifetime',
}

function spendingUse(limit: SpendingLimit, currency: string, timeZone: string): Content {
  const { channel, control, maximumAmount, maximumCount, owner, period, resetsAt } = limit
  const { usedAmount, usedCount } = limit
  const name = control === 'singleUse' ? 'Single use' : periodNames[period]
  const money = (amount: number) => writeMoney({ amount, currency })
  // A transaction has no window: its limit is compared with each amount alone.
  const amounts =
    period === 'transaction'
      ? maximumAmount !== null && `at most ${money(maximumAmount)}`
      : maximumAmount !== null && `${money(usedAmount).split(' ')[0]} of ${money(maximumAmount)}`
  const counts =
    period !== 'transaction' && maximumCount !== null && `${usedCount} of ${maximumCount} uses`
  const isFull =
    period !== 'transaction' &&
    ((maximumAmount !== null && usedAmount >= maximumAmount) ||
      (maximumCount !== null && usedCount >= maximumCount))
  return html`<div class="use" title="${control} of the ${owner}, in ${timeZone}">
      <span>${name}${channel && html` <span class="fine">${channel}</span>`}</span>
      <span class="end">${[amounts, counts].filter(Boolean).join(' · ')}</span>
    </div>
    ${period !== 'transaction' && maximumAmount !== null && bar(usedAmount, maximumAmount)}
    ${
      period !== 'transaction' &&
      maximumAmount === null &&
      maximumCount !== null &&
      bar(usedCount, maximumCount)
    }
    ${
      isFull &&
      html`<p class="reached">
        Limit reached${resetsAt && html`, resets ${instant(resetsAt)}`}
      </p>`
    }`
}

/** The limits of the installation on a card. The tries are shown with PIN and CVV. */
export function limitsSection(limits: readonly UsedLimit[]): Html {
  const shown = limits.filter(({ name }) => !tryLimits.includes(name))
  return html`<section aria-labelledby="limits">
    <h2 id="limits">Limits</h2>
    ${shown.map(limitUse)}
    ${shown.length === 0 && html`<p class="empty">All limits are off: RATE_LIMIT is off.</p>`}
  </section>`
}

function limitUse(limit: UsedLimit): Content {
  const { allowed, freeInSeconds, name, used, windowSeconds } = limit
  const isReached = allowed !== null && used >= allowed
  const resets =
    freeInSeconds === null ? ' until it is unblocked' : `, resets in ${duration(freeInSeconds)}`
  return html`<div class="use">
      <span>
        ${limitNames[name] ?? name}
        ${
          windowSeconds !== null && html`<span class="fine">${describeWindow(windowSeconds)}</span>`
        }
      </span>
      <span class="end">${used} of ${allowed ?? 'any number'}</span>
    </div>
    ${allowed !== null && bar(used, allowed)}
    ${
      isReached &&
      html`<p class="reached">
        Limit reached${resets}. <span class="fine">${renderOrigin(limit.origin, limit.from)}</span>
      </p>`
    }`
}

/** `in 1 hour` would read as a wait. */
const describeWindow = (seconds: number): string =>
  `${seconds === 3600 ? 'an' : 'a'} ${duration(seconds).replace(/^1 /, '')}`
