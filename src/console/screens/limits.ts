import Type, { type Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import {
  EffectiveLimitSchema,
  type UsedLimitSchema,
} from '../../listeners/private/schemas/limits.ts'
import { listed } from '../listing.ts'
import type { Screen } from '../screen.ts'

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

/** Renders the variable or product that sets a limit. */
export const renderOrigin = (origin: UsedLimit['origin'], from: string): Content =>
  origin === 'product'
    ? html`Product ${from}`
    : html`<code>${from}</code> ${origin === 'default' ? 'is not set: the default' : 'is set'}`

/** The names of a card's limits, by the listener's names. */
export const limitNames: Readonly<Record<string, string>> = {
  reveal: 'Disclosures',
  'bad-session-key': 'Bad session keys',
  'unblock-pin': 'PIN unblocked',
  'unblock-cvv': 'CVV unblocked',
  'pin-tries': 'Wrong PINs',
  'cvv-tries': 'Wrong CVVs',
}
