import Type, { type Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import {
  EffectiveLimitSchema,
  type UsedLimitSchema,
} from '../../listeners/private/schemas/limits.ts'
import { writeCount } from '../amounts.ts'
import { badge } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'
import type { Screen } from '../screen.ts'

type EffectiveLimit = Static<typeof EffectiveLimitSchema>

/** The title of a limit, and the unit of its value; empty where the title says it. */
type LimitWords = readonly [title: string, unit: string]

const callLimits: Readonly<Record<string, LimitWords>> = {
  'calls-per-second': ['Calls of a client', 'a second'],
  'calls-burst': ['Burst of calls of a client', 'at once'],
  'calls-in-flight': ['Calls of a client in progress, in each process', 'at once'],
  'call-wait': ['Wait of a call', 'ms'],
  'token-calls-per-second': ['Tokens of a client', 'a second'],
  'token-calls-burst': ['Burst of tokens of a client', 'at once'],
  'token-failures-per-second': ['Failed authentications from an address', 'a second'],
  'token-failures-burst': ['Burst of failed authentications from an address', 'at once'],
  'open-calls-per-second': ['Calls without a token from an address', 'a second'],
  'open-calls-burst': ['Burst of calls without a token from an address', 'at once'],
}

const cardLimits: Readonly<Record<string, LimitWords>> = {
  'reveals-per-card': ['Disclosures of a card', 'an hour'],
  'reveals-per-client': ['Disclosures to a client', 'an hour'],
  'bad-session-keys-per-card': ['Bad session keys of a card', 'an hour'],
  'bad-session-keys-per-client': ['Bad session keys of a client', 'an hour'],
  'unblocks-per-card': ['Unblocks of a card, for each of PIN and CVV', 'a day'],
  'pan-searches-per-person': ['PAN searches of a person', 'an hour'],
}

const storageLimits: Readonly<Record<string, LimitWords>> = {
  'delivery-timeout': ['Time of a request to an endpoint', 'ms'],
  'event-retention': ['Retention of events and deliveries', 'days'],
  'attempt-retention': ['Retention of attempts and authorizations', 'days'],
  'payment-retention': ['Retention of payments that are over', 'days'],
}

const processLimits: Readonly<Record<string, LimitWords>> = {
  connections: ['Connections of a listener, in each process', ''],
  'connections-per-address': ['Connections of an address, in each process', ''],
  'database-connections': ['Database connections of each process', ''],
  processes: ['Processes', ''],
  're-encryption': ['Re-encryptions of a rotation', 'rows a second'],
  'key-refresh': ['Time between two reads of the keys', 'ms'],
}

const limitGroups = [
  ['Calls', callLimits],
  ['Cards and card data', cardLimits],
  ['Deliveries and retention', storageLimits],
  ['Processes and keys', processLimits],
] as const

/** The limits of this installation and their sources. */
export const limitsScreen: Screen = {
  path: '/console/limits',
  access: 'support.read',
  navigation: 'Limits',
  async show(visit) {
    const limits = await visit.read('/limits', Type.Array(EffectiveLimitSchema))
    const byName = new Map(limits.map((limit) => [limit.name, limit]))
    return {
      title: 'Limits',
      body: html`<p class="hint">
        The variable below a limit changes it. A limit has its default unless its variable is marked
        as set. The page of each card shows the used part of its limits. The product limits the
        tries of a PIN or CVV.
      </p>
      <div class="limits">${limitGroups.map(
        ([group, words], at) => html`<section class="flush" aria-labelledby="limits-${at}">
          <h2 id="limits-${at}">${group}</h2>
          ${renderTable({
            name: `Limits: ${group}`,
            columns: limitColumns,
            rows: Object.entries(words).flatMap(([name, [title, unit]]) => {
              const limit = byName.get(name)
              return limit ? [{ ...limit, title, unit }] : []
            }),
            empty: 'No limits.',
          })}
        </section>`,
      )}</div>`,
    }
  },
}

/** A limit with its title, and the unit of its value. */
interface NamedLimit extends Omit<EffectiveLimit, 'unit'> {
  readonly title: string
  readonly unit: string
}

const limitColumns: readonly Column<NamedLimit>[] = [
  {
    title: 'Limit',
    kind: 'name',
    cell: ({ origin, title, variable }) =>
      html`${title}
        <p class="fine">
          <code>${variable}</code> ${origin !== 'default' && badge('set', 'plain')}
        </p>`,
  },
  {
    title: 'At most',
    kind: 'number',
    cell: ({ unit, value }) => (value === null ? 'off' : `${writeCount(value)} ${unit}`),
  },
]

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
