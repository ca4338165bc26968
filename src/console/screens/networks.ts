import type { Static } from 'typebox'
import { isApprovalCode } from '../../domain/response-code.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { ZoneSchema } from '../../listeners/private/schemas/clients.ts'
import { AdviceSchema, LinkSchema } from '../../listeners/private/schemas/links.ts'
import { actForm } from '../act-form.ts'
import { cardLink } from '../card-links.ts'
import { badge, capitalize, instant, instantInRow, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { indexNames, listKnownClients } from '../known-names.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
import { type Act, path, type Screen, type Visit } from '../screen.ts'

const access = ['admin', 'support.read'] as const
type Link = Static<typeof LinkSchema>
type Zone = Static<typeof ZoneSchema>
type Advice = Static<typeof AdviceSchema>

const tones = {
  'signed on': 'good',
  connected: 'warn',
  listening: 'plain',
  failed: 'bad',
  down: 'bad',
  disabled: 'plain',
} as const

/** Card networks with their keys and links. */
export const networksScreen: Screen = {
  path: '/console/networks',
  access,
  navigation: 'Networks',
  async show(visit) {
    const [zones, links] = await Promise.all([
      list(visit, '/zones', ZoneSchema),
      list({ ...visit, query: {} }, '/links', LinkSchema, 100),
    ])
    const names = new Map(zones.entries.map(({ clientId, clientName }) => [clientId, clientName]))
    return {
      title: 'Networks and links',
      body: html`<h2>Links</h2>${renderTable({
        name: 'Links',
        columns: listLinkColumns(visit, names),
        rows: links.entries,
        empty: html`No links yet. Add one with <code>pinfold links create</code>.`,
      })}<h2>Networks</h2>${renderTable({
        name: 'Networks',
        columns: listZoneColumns(visit),
        rows: zones.entries,
        empty: html`No card networks yet. Add one with <code>pinfold zones create</code>.`,
      })}${pages(visit, zones.next)}`,
    }
  },
}

/** @param names the names of networks by their ids. */
const listLinkColumns = (
  visit: Visit,
  names: ReadonlyMap<string, string>,
): readonly Column<Link>[] => [
  {
    title: 'Link',
    kind: 'name',
    cell: ({ linkName }) =>
      html`<a href="${path`/console/networks/links/${linkName}`}">${linkName}</a>`,
  },
  { title: 'Status', cell: (link) => renderState(link) },
  { title: 'Connections', cell: (link) => renderConnections(link) },
  {
    title: 'Network',
    cell: ({ networkId }) =>
      html`<div class="cut">${renderActor(visit, networkId, names.get(networkId))}</div>`,
  },
  { title: 'Last signed on', cell: ({ lastSignedOnAt }) => instant(lastSignedOnAt) ?? 'never' },
  {
    title: 'Address',
    look: 'one-line',
    cell: (link) => [renderAddress(link), link.tls && ' by TLS'],
  },
  { title: 'Profile', cell: ({ profile }) => profile },
]

const renderState = ({ state }: Link): Content => badge(capitalize(state), tones[state])

/** Says why a link has no connection, else how many it has. */
const renderConnections = ({ connections, fault }: Link): Content =>
  fault === null
    ? String(connections)
    : html`<span class="cut trouble" title="${fault}">${fault}</span>`

const renderAddress = ({ direction, host, port }: Link): Content =>
  html`${direction === 'listen' ? 'listens at' : 'calls'} <code>${host}:${port}</code>`

const listZoneColumns = (visit: Visit): readonly Column<Zone>[] => [
  {
    title: 'Network',
    kind: 'name',
    cell: ({ clientId, clientName }) =>
      html`<div class="cut">${renderActor(visit, clientId, clientName)}</div>`,
  },
  { title: 'Status', cell: ({ active }) => (active ? badge('Active', 'good') : badge('Retired')) },
  { title: 'Keys', cell: renderZoneKeys },
]

const renderZoneKeys = ({ keys }: Zone): Content =>
  keys.length === 0
    ? html`<span class="fine">None. It cannot send PIN blocks.</span>`
    : html`<details>
        <summary>${keys.map(
          ({ key, retiredAt }, at) =>
            html`${at > 0 && ', '}<code>${key}</code>${retiredAt !== null && ' (retired)'}`,
        )}</summary>
        ${keys.map(keyLine)}
      </details>`

const keyLine = (zoneKey: Zone['keys'][number]): Content =>
  html`<p>
    <code>${zoneKey.key}</code> ${zoneKey.algorithm}
    <span class="fine">${zoneKey.pinBlockFormats.join(', ')} · check value
      ${zoneKey.keyCheckValue}</span>
    ${zoneKey.retiredAt !== null && badge('Retired')}
  </p>`

export const linkScreen: Screen = {
  path: '/console/networks/links/:linkName',
  access,
  navigation: null,
  async show(visit) {
    const address = path`/links/${visit.params.linkName ?? ''}`
    const [link, clients, advices] = await Promise.all([
      visit.read(address, LinkSchema),
      listKnownClients(visit),
      list(visit, `${address}/advices`, AdviceSchema),
    ])
    return {
      title: `Link ${link.linkName}`,
      trail: { above: [{ name: 'Networks', path: '/console/networks' }], name: link.linkName },
      body: html`<div class="columns">
          ${facts(visit, link, indexNames(clients))}
          ${visit.scopes.has('admin') && switchForm(visit, link)}
        </div>
        <h2>Advices and reversals</h2>
        ${renderTable({
          name: 'Advices',
          columns: adviceColumns,
          rows: advices.entries,
          empty: 'None in the last 30 days.',
        })}${pages(visit, advices.next)}`,
    }
  },
}

const facts = (visit: Visit, link: Link, names: ReadonlyMap<string, string>): Content =>
  html`<section aria-labelledby="state">
    <h2 id="state">${renderState(link)}</h2>
    <dl>
      ${link.fault !== null && html`<dt>Fault</dt><dd class="trouble">${link.fault}</dd>`}
      <dt>Connections</dt><dd>${link.connections}</dd>
      <dt>Last signed on</dt><dd>${instant(link.lastSignedOnAt) ?? 'never'}</dd>
      <dt>Network</dt><dd>${renderActor(visit, link.networkId, names.get(link.networkId))}</dd>
      <dt>Address</dt><dd>${renderAddress(link)}</dd>
      <dt>Profile</dt><dd>${link.profile}</dd>
      <dt>TLS</dt><dd>${link.tls ? 'yes' : 'no'}</dd>
      <dt>May connect</dt>
      <dd>${[...link.peers, ...link.certificates].join(', ') || 'loopback only'}</dd>
      <dt>Zone master key</dt>
      <dd>${link.zoneMasterKey ?? 'none: the link accepts no keys'}</dd>
    </dl>
  </section>`

function switchForm(visit: Visit, { active, linkName }: Link): Content {
  const hint = active
    ? 'Its connections are closed. Requests of the network are not answered until the link is ' +
      'enabled.'
    : 'It connects within seconds.'
  return html`<section aria-labelledby="switch">
    <h2 id="switch">Actions</h2>
    ${actForm(visit, {
      action: path`/console/networks/links/${linkName}`,
      name: active ? 'Disable' : 'Enable',
      fields: html`<input type="hidden" name="active" value="${active ? 'no' : 'yes'}">`,
      hint,
      isDangerous: active,
    })}
  </section>`
}

const describeAnswer = (responseCode: string): string =>
  `${isApprovalCode(responseCode) ? 'Accepted' : 'Refused'} (${responseCode})`

const adviceColumns: readonly Column<Advice>[] = [
  { title: 'Time', cell: ({ receivedAt }) => instantInRow(receivedAt) },
  { title: 'Message', look: 'one-line', cell: renderMessage },
  {
    title: 'Card',
    cell: ({ publicToken }) => (publicToken === null ? 'not found' : cardLink(publicToken)),
  },
  { title: 'Amount', kind: 'number', cell: ({ amount, currency }) => `${amount} ${currency}` },
  {
    title: 'Answer',
    look: 'one-line',
    cell: ({ responseCode }) => responseCode && describeAnswer(responseCode),
  },
  { title: 'Reference', cell: ({ reference }) => reference },
]

function renderMessage({ isMatched, messageType }: Advice): Content {
  if (!messageType.startsWith('04')) return `Advice (${messageType})`
  const matched = isMatched ? 'its original was found' : 'no original was found'
  return html`Reversal (${messageType}) <span class="fine">${matched}</span>`
}

export const switchLinkAct: Act = {
  path: '/console/networks/links/:linkName',
  access: 'admin',
  perform: (visit, { active }) =>
    actAndReturn(visit, 'PATCH', path`/links/${visit.params.linkName ?? ''}`, {
      body: { active: active === 'yes' },
      to: path`/console/networks/links/${visit.params.linkName ?? ''}`,
      done: active === 'yes' ? 'The link is enabled.' : 'The link is disabled.',
    }),
}
