import Type, { type Static } from 'typebox'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { EffectiveLimitSchema, UsedLimitSchema } from '../../listeners/private/schemas/limits.ts'
import { badge, duration } from '../desk-parts.ts'
import { listed } from '../listing.ts'
import type { Screen, Visit } from '../screen.ts'

/** The limits of this installation and their sources. */
export const limitsScreen: Screen = {
  path: '/console/limits',
  access: 'support.read',
  navigation: 'Limits',
  async show(visit) {
    const limits = await visit.read('/limits', Type.Array(EffectiveLimitSchema))
    return {
      title: 'Limits',
      body: html`<p class="hint">
        The page of each card shows the used part of its limits. The product limits the tries of
        a PIN or CVV.
      </p>${listed(
        'Limits',
        ['Limit', { title: 'At most', isNumber: true }, 'Unit', 'Source'],
        limits.map(
          ({ name, origin, unit, value, variable }) =>
            html`<tr>
              <th scope="row">${name.replaceAll('-', ' ')}</th>
              <td class="number">${value ?? 'off'}</td>
              <td>${unit}</td>
              <td>${renderOrigin(origin, variable)}</td>
            </tr>`,
        ),
        'All limits are off: RATE_LIMIT is off.',
      )}`,
    }
  },
}

type UsedLimit = Static<typeof UsedLimitSchema>

const renderOrigin = (origin: UsedLimit['origin'], from: string): Content =>
  origin === 'product'
    ? html`Product ${from}`
    : html`<code>${from}</code> ${origin === 'default' ? 'is not set: the default' : 'is set'}`

/**
 * Renders the use of each limit of a card, and the limits that block it. @param path the route that
 * lists them
 */
export async function usedLimits(visit: Visit, path: string): Promise<Html> {
  const limits = await visit.read(path, Type.Array(UsedLimitSchema))
  return listed(
    'Limits of this card',
    ['Limit', { title: 'Used', isNumber: true }, 'In', 'Holds', 'Because of'],
    limits.map((limit) => {
      const { allowed, freeInSeconds, used } = limit
      const until = freeInSeconds === null ? 'Until unblocked' : `For ${duration(freeInSeconds)}`
      const holds = allowed === null || used < allowed ? badge('No', 'good') : badge(until, 'bad')
      const { windowSeconds } = limit
      return html`<tr>
        <th scope="row">${names[limit.name] ?? limit.name}</th>
        <td class="number">${limit.used} of ${limit.allowed ?? 'any number'}</td>
        <td>${windowSeconds === null ? 'until unblocked' : duration(windowSeconds)}</td>
        <td>${holds}</td>
        <td>${renderOrigin(limit.origin, limit.from)}</td>
      </tr>`
    }),
    'All limits are off: RATE_LIMIT is off.',
  )
}

/** The names of a card's limits, by the listener's names. */
const names: Readonly<Record<string, string>> = {
  reveal: 'Disclosures of PIN and card data',
  'bad-session-key': 'Bad session keys',
  'unblock-pin': 'PIN unblocked',
  'unblock-cvv': 'CVV unblocked',
  'pin-tries': 'Wrong PINs',
  'cvv-tries': 'Wrong CVVs',
}
