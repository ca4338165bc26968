import Type, { type Static } from 'typebox'
import { type Html, html } from '../../listeners/http/html.ts'
import { ComponentEntrySchema } from '../../listeners/private/schemas/component-entries.ts'
import { ExpiringCardsSchema, KeyWearSchema } from '../../listeners/private/schemas/figures.ts'
import { KeyActSchema, ListedKeySchema } from '../../listeners/private/schemas/keys.ts'
import { instantInRow, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { readReason } from '../fields.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
import { type Act, path, type Screen, type Visit } from '../screen.ts'
import { renderDue, renderExpiries, renderRotations } from './key-calendar.ts'
import { renderCeremonies, renderReEncryption } from './key-progress.ts'
import { renderKeys } from './key-rows.ts'

const access = ['admin', 'keys.read', 'keys.write'] as const

/** Lists the keys, their terms and the keys that need an action. It never shows a key in clear. */
export const keysScreen: Screen = {
  path: '/console/keys',
  access,
  navigation: 'Keys',
  async show(visit) {
    const own = { ...visit, query: {} }
    const [keys, wear, expiries, entries, acts] = await Promise.all([
      list(visit, '/keys', ListedKeySchema),
      visit.read('/figures/keys', Type.Array(KeyWearSchema)),
      visit.read('/figures/expiries', Type.Array(ExpiringCardsSchema)),
      list(own, '/component-entries', ComponentEntrySchema, 20),
      list(own, '/keys/acts', KeyActSchema, 15),
    ])
    return {
      title: 'Keys',
      body: html`${renderDue(wear)}${renderReEncryption(keys.entries)}
        <h2>Ceremonies</h2>${renderCeremonies(visit, entries.entries)}
        <div class="columns">
          <section aria-labelledby="rotations">
            <h2 id="rotations">Rotations by month</h2>${renderRotations(wear)}
          </section>
          <section aria-labelledby="expiries">
            <h2 id="expiries">Cards that expire</h2>${renderExpiries(expiries)}
          </section>
        </div>
        <h2>Keys and versions</h2>${renderKeys(visit, keys.entries)}${pages(visit, keys.next)}
        <details>
          <summary>Recent acts on keys</summary>${renderActs(visit, acts.entries)}
        </details>`,
    }
  },
}

type KeyAct = Static<typeof KeyActSchema>

const renderActs = (visit: Visit, acts: readonly KeyAct[]): Html =>
  renderTable({
    name: 'Acts on keys',
    columns: listActColumns(visit),
    rows: acts,
    empty: 'No acts yet. Each rotation, import and retirement of a key is listed here.',
  })

const listActColumns = (visit: Visit): readonly Column<KeyAct>[] => [
  { title: 'Time', cell: ({ at }) => instantInRow(at) },
  { title: 'Key', cell: ({ key }) => html`<code>${key}</code>` },
  { title: 'Act', cell: ({ act }) => act },
  {
    title: 'Actor',
    cell: ({ clientId, clientName }) =>
      clientId === null ? 'automatic' : renderActor(visit, clientId, clientName),
  },
  {
    title: 'Reason',
    cell: ({ reason }) => reason && html`<bdi class="cut reason" title="${reason}">${reason}</bdi>`,
  },
]

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
  path: '/console/keys/:key/versions/:version/retire',
  access: ['admin', 'keys.write'],
  perform(visit, form) {
    const { key = '', version = '' } = visit.params
    return actAndReturn(visit, 'POST', path`/keys/${key}/versions/${version}/retire`, {
      body: readReason(form),
      to: '/console/keys',
      done: `Version ${version} of the key ${key} is retired.`,
    })
  },
}
