import type { Static } from 'typebox'
import { isPublicToken } from '../../domain/identifiers.ts'
import { html } from '../../listeners/http/html.ts'
import { DisclosureSchema } from '../../listeners/private/schemas/disclosures.ts'
import { addressFieldRule } from '../address.ts'
import { cardLink } from '../card-links.ts'
import { badge, instantInRow, renderActor, type Tone } from '../desk-parts.ts'
import { filterFault, listFiltered } from '../filters.ts'
import { listKnownClients, renderKnownNames } from '../known-names.ts'
import { type Column, pages, renderTable } from '../listing.ts'
import { path, type Screen, type Visit } from '../screen.ts'
import { actName } from './act-names.ts'

type Disclosure = Static<typeof DisclosureSchema>

const access = 'audit.read'
const title = 'Disclosures'

const outcomes: Readonly<Record<string, readonly [string, Tone]>> = {
  done: ['Shown', 'plain'],
  refused: ['Refused', 'bad'],
  failed: ['Failed', 'warn'],
  erased: ['Erased', 'plain'],
}

/** Lists disclosures of card data, each with its entry in the audit log and its proof. */
export const disclosuresScreen: Screen = {
  path: '/console/disclosures',
  access,
  navigation: title,
  async show(visit) {
    const { of: asked = '' } = visit.query
    const filter = isPublicToken(asked)
      ? path`?publicToken=${asked}`
      : asked === ''
        ? ''
        : path`?clientId=${asked}`
    const [{ entries, fault, next }, clients] = await Promise.all([
      listFiltered(visit, `/disclosures${filter}`, DisclosureSchema),
      listKnownClients(visit),
    ])
    return {
      title,
      ...(fault !== null && { status: 422 }),
      body: html`<form method="get" action="/console/disclosures" class="row">
          <label>Token of a card, or id of the recipient<input name="of" maxlength="64"
            autocomplete="off" list="known-clients" value="${asked}" ${addressFieldRule}></label>
          ${renderKnownNames('known-clients', clients)}
          <button>Show</button>
        </form>
        ${filterFault(fault)}
        <live-region id="disclosures">${renderTable({
          name: title,
          columns: listColumns(visit),
          rows: entries,
          empty:
            asked === ''
              ? 'No disclosures yet: no PIN, no card data, no name.'
              : html`No disclosures of <b>${asked}</b> are recorded. A new disclosure is entered
                  within a second. Reload the page, or see
                  <a href="/console/disclosures">everything</a>.`,
          isOneLine: true,
        })}</live-region>${pages(visit, next)}`,
    }
  },
}

const listColumns = (visit: Visit): readonly Column<Disclosure>[] => [
  { title: 'Time', cell: ({ at }) => instantInRow(at) },
  {
    title: 'Disclosure',
    kind: 'name',
    cell: ({ act, count }) =>
      html`${actName(act)}${
        count > 1 && html` <span class="fine" title="within a minute">× ${count}</span>`
      }`,
  },
  {
    title: 'Recipient',
    cell: ({ shownTo, shownToName }) =>
      html`<div class="cut">${
        shownTo === null ? 'erased' : renderActor(visit, shownTo, shownToName)
      }</div>`,
  },
  {
    title: 'Card',
    cell: ({ publicToken }) => publicToken && cardLink(publicToken),
  },
  {
    title: 'Outcome',
    cell: ({ outcome, reason }) => {
      const [word, tone] = outcomes[outcome] ?? [outcome, 'plain']
      return html`${badge(word, tone)} ${reason?.replaceAll('_', ' ')}`
    },
  },
  {
    title: 'Entry',
    kind: 'number',
    cell: ({ index, isErased, log }) =>
      html`${index} <span class="fine">of log ${log}${isErased && ', erased'}</span>`,
  },
  {
    title: 'Proof',
    cell: ({ entry, isSigned }) =>
      isSigned
        ? html`<a href="${path`/console/disclosures/${entry}`}">Receipt</a>`
        : badge('Not signed yet', 'warn'),
  },
]
