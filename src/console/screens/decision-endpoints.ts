import type { Static } from 'typebox'
import { formatShare } from '../../domain/share.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { ClientSchema } from '../../listeners/private/schemas/clients.ts'
import {
  type WatchedEndpointSchema,
  WatchedEndpointsSchema,
} from '../../listeners/private/schemas/decision-endpoints.ts'
import { writeCount } from '../amounts.ts'
import { authorizationPath, cardLink } from '../card-links.ts'
import { badge, instant, instantInRow } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'
import { path, type Screen } from '../screen.ts'
import { shares } from './shares.ts'

type Endpoints = Static<typeof WatchedEndpointsSchema>
export type WatchedEndpoint = Static<typeof WatchedEndpointSchema>
type Version = NonNullable<WatchedEndpoint['enforced']>
type Failure = Endpoints['failures'][number]

/** Where a client decides its authorizations, and how that goes. */
export const decisionEndpointsScreen: Screen = {
  path: '/console/clients/:clientId/decisions',
  access: ['admin', 'support.read'],
  navigation: null,
  async show(visit) {
    const { clientId = '' } = visit.params
    const [client, found] = await Promise.all([
      visit.read(path`/clients/${clientId}`, ClientSchema),
      visit.read(path`/clients/${clientId}/decision-endpoints`, WatchedEndpointsSchema),
    ])
    return {
      title: `Decisions of ${client.clientName}`,
      trail: {
        above: [
          { name: 'Clients', path: '/console/clients' },
          { name: client.clientName, path: path`/console/clients/${clientId}` },
        ],
        name: 'Decisions',
      },
      body: html`<live-region id="decisions">
          ${
            found.endpoints.length === 0
              ? html`<p class="empty">The client has no decision endpoint. It registers one with
                PUT /decision-endpoint on the public listener.</p>`
              : [renderHour(found), found.endpoints.map(renderEndpoint)]
          }
          <h2>Failures of the last hour</h2>
          ${renderTable({
            name: 'Failures of the last hour',
            columns: failureColumns,
            rows: found.failures,
            empty: 'No failure in the last hour.',
          })}
        </live-region>`,
    }
  },
}

function renderEndpoint(endpoint: WatchedEndpoint): Content {
  const { changedAt, degradedSince, productId } = endpoint
  const versions = (['enforced', 'shadow', 'previous', 'draft'] as const).flatMap((name) => {
    const version = endpoint[name]
    return version === null ? [] : [{ ...version, name }]
  })
  const title = productId === null ? 'All products' : `Product ${productId}`
  const id = `endpoint-${productId ?? 'all'}`
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    <p>${renderState(endpoint)} ${
      degradedSince !== null && html`since ${instant(degradedSince)}`
    } <span class="fine">changed ${instant(changedAt)}</span></p>
    ${renderTable({
      name: `Versions: ${title}`,
      columns: versionColumns,
      rows: versions,
      empty: 'It has no version in force.',
    })}
  </section>`
}

/** Shows the state of the endpoint that needs attention first. */
export function renderWorstState(endpoints: readonly WatchedEndpoint[]): Content {
  const worst =
    endpoints.find(({ degradedSince }) => degradedSince !== null) ??
    endpoints.find(({ enforced }) => enforced !== null) ??
    endpoints[0]
  return worst ? renderState(worst) : badge('None')
}

function renderState({ degradedSince, enforced, shadow }: WatchedEndpoint): Content {
  if (degradedSince !== null) return badge('Degraded', 'bad')
  if (enforced !== null) return badge('Decides', 'good')
  return shadow === null ? badge('Not in force') : badge('Shadow only', 'warn')
}

const versionColumns: readonly Column<Version & { readonly name: string }>[] = [
  {
    title: 'Version',
    kind: 'name',
    look: 'one-line',
    cell: ({ name, version }) =>
      html`${version} ${badge(name, name === 'enforced' ? 'good' : 'plain')}`,
  },
  {
    title: 'Target',
    cell: ({ url }) =>
      url === null ? 'the stream' : html`<code class="cut address" title="${url}">${url}</code>`,
  },
  { title: 'Time-out', kind: 'number', cell: ({ timeoutMs }) => `${timeoutMs} ms` },
  { title: 'In flight', kind: 'number', cell: ({ maxInFlight }) => maxInFlight },
  { title: 'Sample', kind: 'number', cell: ({ sample }) => `${sample}%` },
  {
    title: 'Fallback',
    look: 'one-line',
    cell: ({ fallback: { onError, onTimeout, rule } }) => [
      onTimeout === onError ? onTimeout : `late: ${onTimeout}, error: ${onError}`,
      ' ',
      renderRule(rule),
    ],
  },
  { title: 'Format', cell: ({ format }) => format },
  { title: 'Registered', cell: ({ createdAt }) => instant(createdAt) },
]

const renderRule = (rule: string | null): Content =>
  rule !== null && html`<code class="cut rule" title="${rule}">${rule}</code>`

function renderHour({ lastHour }: Endpoints): Content {
  const { decidedBy, decisions, p50Ms, p99Ms } = lastHour
  if (decisions === 0) {
    return html`<section aria-labelledby="hour">
      <h2 id="hour">Last hour</h2>
      <p class="empty">The client was not asked in the last hour.</p>
    </section>`
  }
  const byEndpoint = decidedBy.find((each) => each.decidedBy === 'endpoint')?.decisions ?? 0
  return html`<section class="hour" aria-labelledby="hour">
    <h2 id="hour">Last hour</h2>
    <dl class="figures">
      <div><dt>Decided by the endpoint</dt><dd>${formatShare(byEndpoint, decisions)}</dd></div>
      <div><dt>Decisions</dt><dd>${writeCount(decisions)}</dd></div>
      <div><dt><abbr title="Half of the answers took at most this long.">p50</abbr></dt>
        <dd>${formatMs(p50Ms)}</dd></div>
      <div><dt><abbr title="99% of the answers took at most this long.">p99</abbr></dt>
        <dd>${formatMs(p99Ms)}</dd></div>
    </dl>
    ${shares(
      decidedBy.map((each) => ({ count: each.decisions, tone: deciderTones[each.decidedBy] })),
    )}
    <ul class="legend">${decidedBy.map(
      (each) => html`<li>
        <i class="swatch ${deciderTones[each.decidedBy]}"></i> ${deciderNames[each.decidedBy]}
        <b>${writeCount(each.decisions)}</b>
        <span class="fine">${formatShare(each.decisions, decisions)}</span>
      </li>`,
    )}</ul>
  </section>`
}

const formatMs = (value: number | null): string =>
  value === null ? 'unknown' : `${Math.round(value)} ms`

const deciderTones = {
  endpoint: 'good',
  'fallback:timeout': 'bad',
  'fallback:error': 'bad',
  'rule:timeout': 'warn',
  'rule:error': 'warn',
} as const

const deciderNames: Readonly<Record<Failure['decidedBy'], string>> = {
  endpoint: 'Endpoint',
  'fallback:timeout': 'Fallback (no answer in time)',
  'fallback:error': 'Fallback (error)',
  'rule:timeout': 'Rule (no answer in time)',
  'rule:error': 'Rule (error)',
}

const failureColumns: readonly Column<Failure>[] = [
  {
    title: 'When',
    kind: 'name',
    cell: ({ askedAt, authorizationId, publicToken }) =>
      html`<a href="${authorizationPath(publicToken, authorizationId)}"
        >${instantInRow(askedAt)}</a>`,
  },
  {
    title: 'Card',
    cell: ({ publicToken }) => cardLink(publicToken),
  },
  { title: 'Decided by', look: 'one-line', cell: ({ decidedBy }) => deciderNames[decidedBy] },
  {
    title: 'Reason',
    look: 'one-line',
    cell: ({ error, statusCode }) =>
      `${error === null ? 'no answer in time' : error.replaceAll('_', ' ')} ${statusCode ?? ''}`,
  },
  {
    title: 'Time',
    kind: 'number',
    cell: ({ durationMs }) => durationMs !== null && `${durationMs} ms`,
  },
]
