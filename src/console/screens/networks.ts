import type { Static } from 'typebox'
import { isApprovalCode } from '../../domain/response-code.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { ZoneSchema } from '../../listeners/private/schemas/clients.ts'
import { AdviceSchema, LinkSchema } from '../../listeners/private/schemas/links.ts'
import { badge, instant, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { list, listed, pages } from '../listing.ts'
import { type Act, formFields, path, type Screen, type Visit } from '../screen.ts'

const access = ['admin', 'support.read'] as const
type Link = Static<typeof LinkSchema>
type Zone = Static<typeof ZoneSchema>

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
      body: html`<h2>Links</h2>${listed(
        'Links',
        ['Link', 'Status', 'Connections', 'Network', 'Last signed on', 'Address', 'Profile'],
        links.entries.map(
          (link) => html`<tr>
            <th scope="row">
              <a href="${path`/console/networks/links/${link.linkName}`}">${link.linkName}</a>
            </th>
            <td>${renderState(link)}</td>
            <td>${renderConnections(link)}</td>
            <td><div class="cut">${renderActor(visit, link.networkId, names.get(link.networkId))}
            </div></td>
            <td>${instant(link.lastSignedOnAt) ?? 'never'}</td>
            <td class="one-line">${renderAddress(link)}${link.tls && ' by TLS'}</td>
            <td>${link.profile}</td>
          </tr>`,
        ),
        html`No links yet. Add one with <code>pinfold links create</code>.`,
      )}<h2>Networks</h2>${listed(
        'Networks',
        ['Network', 'Status', 'Keys'],
        zones.entries.map((zone) => zoneRow(visit, zone)),
        html`No card networks yet. Add one with <code>pinfold zones create</code>.`,
      )}${pages(visit, zones.next)}`,
    }
  },
}

const renderState = ({ state }: Link): Content =>
  badge(`${state[0]?.toUpperCase()}${state.slice(1)}`, tones[state])

/** Says why a link has no connection, else how many it has. */
const renderConnections = ({ connections, fault }: Link): Content =>
  fault === null
    ? String(connections)
    : html`<span class="cut trouble" title="${fault}">${fault}</span>`

const renderAddress = ({ direction, host, port }: Link): Content =>
  html`${direction === 'listen' ? 'listens at' : 'calls'} <code>${host}:${port}</code>`

const zoneRow = (visit: Visit, zone: Zone): Content =>
  html`<tr>
    <th scope="row">
      <div class="cut">${renderActor(visit, zone.clientId, zone.clientName)}</div>
    </th>
    <td>${zone.active ? badge('Active', 'good') : badge('Retired')}</td>
    <td>${
      zone.keys.length === 0
        ? html`<span class="fine">None. It cannot send PIN blocks.</span>`
        : html`<details>
            <summary>${zone.keys.map(
              ({ key, retiredAt }, at) =>
                html`${at > 0 && ', '}<code>${key}</code>${retiredAt !== null && ' (retired)'}`,
            )}</summary>
            ${zone.keys.map(keyLine)}
          </details>`
    }</td>
  </tr>`

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
    const [link, advices] = await Promise.all([
      visit.read(address, LinkSchema),
      list(visit, `${address}/advices`, AdviceSchema),
    ])
    return {
      title: `Link ${link.linkName}`,
      body: html`<div class="columns">
          ${facts(visit, link)}
          ${visit.scopes.has('admin') && switchForm(visit, link)}
        </div>
        <h2>Advices and reversals</h2>
        ${listed(
          'Advices',
          ['Time', 'Message', 'Card', { title: 'Amount', isNumber: true }, 'Answer', 'Reference'],
          advices.entries.map(adviceRow),
          'None in the last 30 days.',
        )}${pages(visit, advices.next)}`,
    }
  },
}

const facts = (visit: Visit, link: Link): Content =>
  html`<section aria-labelledby="state">
    <h2 id="state">${renderState(link)}</h2>
    <dl>
      ${link.fault !== null && html`<dt>Fault</dt><dd class="trouble">${link.fault}</dd>`}
      <dt>Connections</dt><dd>${link.connections}</dd>
      <dt>Last signed on</dt><dd>${instant(link.lastSignedOnAt) ?? 'never'}</dd>
      <dt>Network</dt><dd>${renderActor(visit, link.networkId, null)}</dd>
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
  const title = active ? 'Disable' : 'Enable'
  const hint = active
    ? 'Its connections are closed. Requests of the network are not answered until the link is ' +
      'enabled.'
    : 'It connects within seconds.'
  return html`<section aria-labelledby="switch">
    <h2 id="switch">Actions</h2>
    <details>
      <summary>${title}</summary>
      <form method="post" action="${path`/console/networks/links/${linkName}`}">
        ${formFields(visit)}
        <input type="hidden" name="active" value="${active ? 'no' : 'yes'}">
        <p class="hint">${hint}</p>
        <button class="${active ? 'danger' : ''}">${title}</button>
      </form>
    </details>
  </section>`
}

const describeAnswer = (responseCode: string): string =>
  `${isApprovalCode(responseCode) ? 'Accepted' : 'Refused'} (${responseCode})`

function adviceRow(advice: Static<typeof AdviceSchema>): Content {
  const { messageType, publicToken } = advice
  const isReversal = messageType.startsWith('04')
  const matched = advice.isMatched ? 'its original was found' : 'no original was found'
  return html`<tr>
    <td>${instant(advice.receivedAt)}</td>
    <td class="one-line">${isReversal ? 'Reversal' : 'Advice'} (${messageType})
      ${isReversal && html`<span class="fine">${matched}</span>`}</td>
    <td>${
      publicToken === null
        ? 'not found'
        : html`<a href="${path`/console/cards/${publicToken}`}">${publicToken}</a>`
    }</td>
    <td class="number">${advice.amount} ${advice.currency}</td>
    <td class="one-line">${advice.responseCode && describeAnswer(advice.responseCode)}</td>
    <td>${advice.reference}</td>
  </tr>`
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
