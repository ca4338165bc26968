import Type, { type Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import { ComponentEntrySchema } from '../../listeners/private/schemas/component-entries.ts'
import { KeyWearSchema } from '../../listeners/private/schemas/figures.ts'
import { KeyActSchema, ListedKeySchema } from '../../listeners/private/schemas/keys.ts'
import { badge, instant, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { list, listed, pages } from '../listing.ts'
import { type Act, formFields, path, type Screen, type Visit } from '../screen.ts'

const access = ['admin', 'keys.read', 'keys.write'] as const
type Key = Static<typeof ListedKeySchema>

/** Lists the keys, their ages and the keys that need an action. It never shows a key in clear. */
export const keysScreen: Screen = {
  path: '/console/keys',
  access,
  navigation: 'Keys',
  async show(visit) {
    const own = { ...visit, query: {} }
    const [keys, wear, entries, acts] = await Promise.all([
      list(visit, '/keys', ListedKeySchema),
      visit.read('/figures/keys', Type.Array(KeyWearSchema)),
      list(own, '/component-entries', ComponentEntrySchema, 20),
      list(own, '/keys/acts', KeyActSchema, 15),
    ])
    const due = wear.filter(({ rotationDue }) => rotationDue)
    return {
      title: 'Keys',
      body: html`${
        due.length > 0 &&
        html`<p class="notice warn" role="status">
          Due for rotation: ${due.map(({ key }) => key).join(', ')}.
        </p>`
      }<h2>Ceremonies</h2>${listed(
        'Ceremonies',
        ['Key', 'Components', 'Entered by', 'Until'],
        entries.entries.map(ceremonyRow),
        html`No key waits for components. Open an entry with
          <code>pinfold keys import NAME --components N</code>.`,
      )}<h2>Ages</h2>${ages(wear)}<h2>Versions</h2>${listed(
        'Versions',
        ['Key', 'State', 'Form', 'Age', { title: 'Uses', isNumber: true }, 'Re-encryption', ''],
        keys.entries.map((key) => keyRow(visit, key)),
        'There are no keys.',
      )}${pages(visit, keys.next)}<h2>Recent acts</h2>${listed(
        'Acts on keys',
        ['Time', 'Key', 'Act', 'Actor'],
        acts.entries.map(
          ({ act, at, clientId, clientName, key }) =>
            html`<tr>
              <td>${instant(at)}</td>
              <td><code>${key}</code></td>
              <td>${act}</td>
              <td>${clientId === null ? 'automatic' : renderActor(visit, clientId, clientName)}</td>
            </tr>`,
        ),
        'Nothing yet.',
      )}`,
    }
  },
}

function ceremonyRow(entry: Static<typeof ComponentEntrySchema>): Content {
  const { componentCount, entered } = entry
  const awaited = componentCount - entered.length
  return html`<tr>
    <th scope="row">
      <code>${entry.target}</code>
      <p class="fine">opened by ${entry.openedBy}</p>
    </th>
    <td>
      ${entered.length} of ${componentCount} ${awaited > 0 && badge(`${awaited} awaited`, 'warn')}
    </td>
    <td>${entered.map(
      ({ clientId, person }) => html`<p>${person} <span class="fine">${clientId}</span></p>`,
    )}</td>
    <td>${instant(entry.expiresAt)}</td>
  </tr>`
}

const dayMs = 86_400_000
const daysSince = (at: string): number => Math.floor((Date.now() - Date.parse(at)) / dayMs)

const renderDay = (at: string): Content =>
  html`<time datetime="${at.slice(0, 10)}">${at.slice(0, 10)}</time>`

/** Renders the age of each current version and its maximum. */
function ages(wear: readonly Static<typeof KeyWearSchema>[]): Content {
  const used = wear.map(({ ageSeconds, key, rotationDueAt }) => {
    const days = Math.floor((1_000 * ageSeconds) / dayMs)
    return { key, days, most: days - daysSince(rotationDueAt) }
  })
  const row = 22
  return used.length === 0
    ? html`<p class="empty">No key has a term yet.</p>`
    : html`<figure class="panel">
        <svg class="chart" viewBox="0 0 640 ${used.length * row}" role="img"
          aria-label="Days for which each active key has protected new data, and its limit">
          ${used.map(({ days, key, most }, at) => {
            const y = at * row
            const share = Math.min(1, days / Math.max(1, most))
            const width = Math.max(1, Math.round(share * 360))
            const colour = share >= 1 ? 'series-2' : 'series-1'
            return html`<text x="150" y="${y + 15}" text-anchor="end">${key}</text>
              <rect class="track" x="160" y="${y + 5}" width="360" height="12" rx="2"/>
              <rect class="${colour}" x="160" y="${y + 5}" width="${width}" height="12" rx="2"/>
              <text x="530" y="${y + 15}">${days} of ${most} days</text>`
          })}
        </svg>
      </figure>`
}

const states: Readonly<Record<string, 'good' | 'warn' | 'plain'>> = {
  active: 'good',
  pending: 'warn',
  retired: 'plain',
}

function keyRow(visit: Visit, key: Key): Content {
  const { reEncryption } = key
  const mayChange = visit.scopes.has('admin') || visit.scopes.has('keys.write')
  return html`<tr>
    <th scope="row">
      <code>${key.key}</code>${key.version !== null && html` version ${key.version}`}
      <p class="fine">
        ${key.family}${key.clientId && ` · ${key.clientId}`} · check value ${key.keyCheckValue}
      </p>
    </th>
    <td>
      ${badge(key.current ? 'in use' : key.state, states[key.state] ?? 'plain')}
      ${key.rotationDue && badge(`due by ${key.rotationDue}`, 'bad')}
    </td>
    <td>
      ${
        key.algorithm &&
        html`<code>${key.keyUsage} ${key.algorithm} ${key.modeOfUse} ${key.exportability}</code>`
      }
      <p class="fine">${key.pinBlockFormats?.join(', ')}</p>
    </td>
    <td>
      ${
        key.createdAt &&
        html`${daysSince(key.createdAt)} days<p class="fine">since ${renderDay(key.createdAt)}</p>`
      }
      ${key.rotationDueAt && html`<p class="fine">due ${renderDay(key.rotationDueAt)}</p>`}
    </td>
    <td class="number">${key.uses}</td>
    <td>${reEncryption && renderProgress(reEncryption)}</td>
    <td>${mayChange && key.family === 'installation' && acts(visit, key)}</td>
  </tr>`
}

const renderProgress = (progress: NonNullable<Key['reEncryption']>): Content =>
  progress.finishedAt === null
    ? html`${badge(`${Math.floor(100 * progress.shareOfCards)} %`, 'warn')}
        <span class="fine">round ${progress.round}, ${progress.reEncrypted} rows</span>`
    : html`<span class="fine">finished ${instant(progress.finishedAt)}</span>`

/** Renders the acts on a version: its rotation and its retirement. */
function acts(visit: Visit, { current, key, state, version }: Key): Content {
  const form = (act: string, name: string, hint: string) =>
    html`<details>
      <summary>${name}</summary>
      <form method="post" action="${path`/console/keys/${key}/${act}`}">
        ${formFields(visit)}
        <input type="hidden" name="version" value="${version}">
        <p class="hint">${hint}</p>
        <button>${name}</button>
      </form>
    </details>`
  if (current) {
    return form(
      'rotate',
      'Rotate',
      'Generates a new version, which becomes active once every process knows it. Data under ' +
        'this version is then re-encrypted where possible.',
    )
  }
  return state === 'active' && form('retire', 'Retire', 'Refused while the version protects data.')
}

export const rotateKeyAct: Act = {
  path: '/console/keys/:key/rotate',
  access: ['admin', 'keys.write'],
  perform: (visit) =>
    actAndReturn(visit, 'POST', path`/keys/${visit.params.key ?? ''}/rotate`, {
      to: '/console/keys',
      done: `The key ${visit.params.key} has a new version. Values are re-encrypted under it.`,
    }),
}

export const retireKeyAct: Act = {
  path: '/console/keys/:key/retire',
  access: ['admin', 'keys.write'],
  perform: (visit, { version = '' }) =>
    actAndReturn(visit, 'POST', path`/keys/${visit.params.key ?? ''}/versions/${version}/retire`, {
      to: '/console/keys',
      done: `Version ${version} of the key ${visit.params.key} is retired.`,
    }),
}
