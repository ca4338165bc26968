import type { Static } from 'typebox'
import { formatShare } from '../../domain/share.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { ComponentEntrySchema } from '../../listeners/private/schemas/component-entries.ts'
import type { ListedKeySchema } from '../../listeners/private/schemas/keys.ts'
import { writeCount } from '../amounts.ts'
import { badge, duration, instant, renderActor } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'
import type { Visit } from '../screen.ts'
import { shares } from './shares.ts'

type Key = Static<typeof ListedKeySchema>
type Entry = Static<typeof ComponentEntrySchema>

/** Renders how much is under each new version whose re-encryption runs. */
export function renderReEncryption(keys: readonly Key[]): Content {
  const running = keys.filter(({ reEncryption }) => reEncryption?.finishedAt === null)
  return (
    running.length > 0 &&
    html`<section aria-labelledby="re-encryption">
      <h2 id="re-encryption">Re-encryption</h2>
      <live-region id="re-encrypted">${running.map(renderRound)}</live-region>
    </section>`
  )
}

function renderRound({ key, reEncryption, version }: Key): Content {
  if (reEncryption === null) return null
  const { reEncrypted, secondsLeft, shareOfCards } = reEncryption
  return html`<div class="round">
    <p>
      <code>${key}</code> version ${version}:
      <b>${formatShare(shareOfCards, 1)}</b> of the cards
    </p>
    ${shares([
      { count: shareOfCards, tone: 'good' },
      { count: 1 - shareOfCards, tone: 'plain' },
    ])}
    <p class="fine">
      ${writeCount(reEncrypted)} values re-encrypted${
        secondsLeft !== null && html`, about ${duration(secondsLeft)} left`
      }
    </p>
  </div>`
}

/** Renders the keys that wait for components, with a slot for each component. */
export const renderCeremonies = (visit: Visit, entries: readonly Entry[]): Html =>
  renderTable({
    name: 'Ceremonies',
    columns: listColumns(visit),
    rows: entries,
    empty: html`No key waits for components. Open an entry with
      <code>pinfold keys import NAME --components N</code>.`,
  })

const listColumns = (visit: Visit): readonly Column<Entry>[] => [
  { title: 'Key', kind: 'name', cell: ({ target }) => html`<code>${target}</code>` },
  { title: 'Components', cell: (entry) => renderSlots(visit, entry) },
  { title: 'Opened by', cell: ({ openedBy }) => renderActor(visit, openedBy, null) },
  { title: 'Until', cell: ({ expiresAt }) => instant(expiresAt) },
]

const renderSlots = (visit: Visit, { componentCount, entered }: Entry): Html =>
  html`<div class="slots">
    <span>${entered.length} of ${componentCount}</span>
    ${entered.map(
      ({ clientId, person }) =>
        html`<span class="slot filled">${renderActor(visit, clientId, person)}</span>`,
    )}
    ${Array.from(
      { length: componentCount - entered.length },
      () => html`<span class="slot">awaited</span>`,
    )}
  </div>`

/** Renders the re-encryption under a version, within its row. */
export const renderShare = ({ reEncryption }: Key): Content =>
  reEncryption?.finishedAt === null &&
  badge(`re-encryption ${formatShare(reEncryption.shareOfCards, 1)}`, 'warn')
