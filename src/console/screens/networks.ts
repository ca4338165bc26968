import { ZoneSchema } from '../../listeners/private/schemas/clients.ts'
import { AdviceSchema, LinkSchema } from '../../listeners/private/schemas/links.ts'
import { badge, instant } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { html } from '../html.ts'
import { list, listed, pages } from '../listing.ts'
import { type Act, formFields, path, type Screen } from '../screen.ts'

const access = ['admin', 'support.read'] as const

const tones = {
  'signed on': 'good',
  connected: 'warn',
  down: 'bad',
  disabled: 'plain',
} as const

/** Card networks with their keys, and the links that they ask on. */
export const networksScreen: Screen = {
  path: '/console/networks',
  access,
  navigation: 'Networks',
  async show(visit) {
    const [zones, links] = await Promise.all([
      list(visit, '/zones', ZoneSchema),
      list({ ...visit, query: {} }, '/links', LinkSchema, 100),
    ])
    return {
      title: 'Networks and links',
      body: html`<h2>Links</h2>${listed(
        'Links',
        ['Link', 'State', 'Network', 'Address', 'Profile', 'Last signed on'],
        links.entries.map(
          (link) => html`<tr>
            <th scope="row"><a href="${path`/console/networks/links/${link.linkName}`}">${link.linkName}</a>
            </th>
            <td>${badge(link.state, tones[link.state])} <span class="fine">${link.connections} connections</span>
            </td><td>${link.networkId}</td>
    <td>${link.direction === 'listen' ? 'listens at' : 'calls'} <code>${link.host}:${link.port}</code>${link.tls && ' by TLS'}</td>
      <td>${link.profile}</td><td>${instant(link.lastSignedOnAt) ?? 'never'}</td></tr>`,
        ),
        html`No network is linked by ISO 8583. Add one by <code>pinfold links create</code>.`,
      )}<h2>Networks</h2>${listed(
        'Networks',
        ['Network', 'Access', 'Keys'],
        zones.entries.map(
          (
            zone,
          ) => html`<tr><th scope="row">${zone.clientName}<p class="fine">${zone.clientId}</p></th>
            <td>${zone.active ? badge('Active', 'good') : badge('Retired')}</td>
    <td>${
      zone.keys.length === 0
        ? html`<span class="fine">None: it can send no PIN block.</span>`
        : zone.keys.map(
            ({ algorithm, key, keyCheckValue, pinBlockFormats, retiredAt }) =>
              html`<p><code>${key}</code> ${algorithm} <span class="fine">${pinBlockFormats.join(', ')} · check value ${keyCheckValue}</span> ${retiredAt !== null && badge('Retired')}</p>`,
          )
    }</td></tr>`,
        ),
        html`There is no card network yet. Add one by <code>pinfold zones create</code>.`,
      )}${pages(visit, zones.next)}`,
    }
  },
}

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
      body: html`<div class="columns"><section aria-labelledby="state">
        <h2 id="state">${badge(link.state, tones[link.state])}</h2><dl>
        <dt>Network</dt><dd>${link.networkId}</dd><dt>Address</dt>
          <dd>${link.direction === 'listen' ? 'listens at' : 'calls'} <code>${link.host}:${link.port}</code>
          </dd>
        <dt>Profile</dt><dd>${link.profile}</dd><dt>TLS</dt><dd>${link.tls ? 'yes' : 'no'}</dd>
          <dt>May connect</dt>
          <dd>${[...link.peers, ...link.certificates].join(', ') || 'loopback alone'}</dd>
        <dt>Keys come under</dt><dd>${link.zoneMasterKey ?? 'nothing: no key is taken on it'}</dd>
          <dt>Connections</dt><dd>${link.connections}</dd><dt>Last signed on</dt>
          <dd>${instant(link.lastSignedOnAt) ?? 'never'}</dd></dl></section>
        ${
          visit.scopes.has('admin') &&
          html`<section aria-labelledby="switch"><h2 id="switch">Actions</h2><details>
            <summary>${link.active ? 'Switch off' : 'Switch on'}</summary>
            <form method="post" action="${path`/console/networks/links/${link.linkName}`}">
            ${formFields(visit)}<input type="hidden" name="active" value="${link.active ? 'no' : 'yes'}">
    <p class="hint">${link.active ? 'Its connections are closed. The network’s questions go unanswered until it is switched on.' : 'It connects within seconds.'}</p><button class="${link.active ? 'danger' : ''}">${link.active ? 'Switch off' : 'Switch on'}</button>
      </form></details></section>`
        }</div><h2>What the network said that it did by itself, or took back</h2>${listed(
          'Advices',
          ['When', 'Message', 'Card', 'Amount', 'Answered', 'Reference'],
          advices.entries.map(
            (advice) => html`<tr><td>${instant(advice.receivedAt)}</td>
              <td>${advice.messageType}${advice.messageType.startsWith('04') && html`<p class="fine">${advice.isMatched ? 'its original was found' : 'no original was found'}</p>`}</td>
    <td>${advice.publicToken === null ? 'none of this number' : html`<a href="${path`/console/cards/${advice.publicToken}`}">${advice.publicToken}</a>`}</td>
    <td class="number">${advice.amount} ${advice.currency}</td><td>${advice.responseCode}</td>
      <td>${advice.reference}</td></tr>`,
          ),
          'Nothing in 30 days.',
        )}${pages(visit, advices.next)}`,
    }
  },
}

export const switchLinkAct: Act = {
  path: '/console/networks/links/:linkName',
  access: 'admin',
  perform: (visit, { active }) =>
    actAndReturn(visit, 'PATCH', path`/links/${visit.params.linkName ?? ''}`, {
      body: { active: active === 'yes' },
      to: path`/console/networks/links/${visit.params.linkName ?? ''}`,
    }),
}
