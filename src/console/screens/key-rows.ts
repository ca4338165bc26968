import type { Static } from 'typebox'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { ListedKeySchema } from '../../listeners/private/schemas/keys.ts'
import { actForm } from '../act-form.ts'
import { writeCount } from '../amounts.ts'
import { badge, instant } from '../desk-parts.ts'
import { optionalReasonField } from '../fields.ts'
import { type Column, renderTable } from '../listing.ts'
import { path, type Visit } from '../screen.ts'
import { bar } from './bars.ts'
import { renderDay } from './key-calendar.ts'
import { renderShare } from './key-progress.ts'

type Key = Static<typeof ListedKeySchema>

const dayMs = 86_400_000
const states = { active: 'good', pending: 'warn', retired: 'plain' } as const

/** Renders the keys in force, one line each, and the retired ones on demand. */
export function renderKeys(visit: Visit, keys: readonly Key[]): Html {
  const retired = keys.filter(({ state }) => state === 'retired')
  const others = keys.filter(({ state }) => state !== 'retired')
  return html`<div class="keys">${renderKeyTable(visit, 'Keys', others)}${
    retired.length > 0 &&
    html`<details>
      <summary>
        ${retired.length === 1 ? '1 retired key' : `${retired.length} retired keys`}
      </summary>
      ${renderKeyTable(visit, 'Retired keys', retired)}
    </details>`
  }</div>`
}

const renderKeyTable = (visit: Visit, name: string, keys: readonly Key[]): Html =>
  renderTable({ name, columns: listColumns(visit), rows: keys, empty: 'There are no keys.' })

const listColumns = (visit: Visit): readonly Column<Key>[] => [
  {
    title: 'Key',
    kind: 'name',
    cell: (key) =>
      html`<details class="parts">
        <summary>
          <code>${key.key}</code>${key.version !== null && ` version ${key.version}`}
        </summary>
        ${renderParts(key)}
      </details>`,
  },
  {
    title: 'Status',
    look: 'one-line',
    cell: (key) =>
      html`${badge(key.current ? 'in use' : key.state, states[key.state])}
        ${key.rotationDue && badge(`due by ${key.rotationDue}`, 'bad')}
        ${renderShare(key)}`,
  },
  { title: 'Age', cell: renderAge },
  { title: 'Uses', kind: 'number', cell: ({ uses }) => uses !== undefined && writeCount(uses) },
  {
    title: 'Due by',
    look: 'one-line',
    cell: ({ rotationDueAt }) => rotationDueAt && renderDay(rotationDueAt),
  },
  {
    title: '',
    cell: (key) => mayChange(visit) && key.family === 'installation' && acts(visit, key),
  },
]

const mayChange = ({ scopes }: Visit): boolean => scopes.has('admin') || scopes.has('keys.write')

/** Renders the days since the creation, as a part of the key's term if it has one. */
function renderAge({ createdAt, rotationDueAt }: Key): Content {
  if (!createdAt) return null
  const days = Math.floor((Date.now() - Date.parse(createdAt)) / dayMs)
  if (!rotationDueAt) return html`<span class="one-line">${days} days</span>`
  const most = Math.round((Date.parse(rotationDueAt) - Date.parse(createdAt)) / dayMs)
  return html`<div class="result">${bar(days, most)} <span>${days} of ${most} days</span></div>`
}

function renderParts(key: Key): Html {
  const { algorithm, clientId, createdAt, exportability, family, keyCheckValue } = key
  const { finishedAt = null } = key.reEncryption ?? {}
  return html`<dl>
    <dt>Family</dt><dd>${family.replaceAll('-', ' ')}</dd>
    ${clientId && html`<dt>Network</dt><dd>${clientId}</dd>`}
    <dt>Check value</dt><dd><code>${keyCheckValue}</code></dd>
    ${
      algorithm &&
      html`<dt>Form</dt>
        <dd><code>${key.keyUsage} ${algorithm} ${key.modeOfUse} ${exportability}</code></dd>`
    }
    ${key.pinBlockFormats && html`<dt>PIN blocks</dt><dd>${key.pinBlockFormats.join(', ')}</dd>`}
    ${key.uses !== undefined && html`<dt>Uses</dt><dd>${writeCount(key.uses)}</dd>`}
    ${createdAt && html`<dt>Created</dt><dd>${instant(createdAt)}</dd>`}
    ${finishedAt && html`<dt>Re-encrypted</dt><dd>${instant(finishedAt)}</dd>`}
  </dl>`
}

/** Renders the acts on a version: its rotation and its retirement. */
function acts(visit: Visit, { current, key, state, version }: Key): Content {
  const own = path`/console/keys/${key}`
  if (current) {
    return actForm(visit, {
      action: `${own}/rotate`,
      name: 'Rotate',
      hint:
        'Generates a new version, which becomes active once every process knows it. Data under ' +
        'this version is then re-encrypted where possible.',
    })
  }
  if (state !== 'active') return null
  const action = `${own}/versions/${version}/retire`
  return actForm(visit, {
    action,
    name: 'Retire',
    fields: optionalReasonField(visit, action),
    hint: 'Refused while the version protects data.',
  })
}
