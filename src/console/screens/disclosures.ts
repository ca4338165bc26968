import type { Static } from 'typebox'
import { isPublicToken } from '../../domain/identifiers.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { DisclosureSchema } from '../../listeners/private/schemas/disclosures.ts'
import { badge, instant, renderActor } from '../desk-parts.ts'
import { list, listed, pages } from '../listing.ts'
import { path, type Screen, type Visit } from '../screen.ts'
import { actName } from './act-names.ts'

type Disclosure = Static<typeof DisclosureSchema>

const access = 'audit.read'
const title = 'Disclosures'

const outcomes: Readonly<Record<string, readonly [string, 'good' | 'bad' | 'warn' | 'plain']>> = {
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
    const { of = '' } = visit.query
    const asked = of.trim()
    const filter = isPublicToken(asked)
      ? path`?publicToken=${asked}`
      : asked === ''
        ? ''
        : path`?clientId=${asked}`
    const { entries, next } = await list(visit, `/disclosures${filter}`, DisclosureSchema)
    return {
      title,
      body: html`<form method="get" action="/console/disclosures" class="row">
          <label>Token of a card, or id of the recipient<input name="of" maxlength="64"
            autocomplete="off" value="${asked}"></label>
          <button>Show</button>
        </form>
        <live-region id="disclosures">${listed(
          title,
          [
            'Time',
            'Disclosure',
            'Recipient',
            'Card',
            'Outcome',
            { title: 'Entry', isNumber: true },
            'Proof',
          ],
          entries.map((each) => disclosureRow(visit, each)),
          asked === ''
            ? 'No disclosures yet: no PIN, no card data, no name.'
            : html`No disclosures of <b>${asked}</b> are recorded. A new disclosure is entered
            within a second. Reload the page, or see
                <a href="/console/disclosures">everything</a>.`,
        )}</live-region>${pages(visit, next)}`,
    }
  },
}

function disclosureRow(visit: Visit, each: Disclosure): Content {
  const { act, at, count, entry, index, isErased, isSigned, log, outcome } = each
  const [word, tone] = outcomes[outcome] ?? [outcome, 'plain']
  const { publicToken, reason, shownTo, shownToName } = each
  return html`<tr class="line">
    <td>${instant(at)}</td>
    <th scope="row">
      ${actName(act)}${
        count > 1 && html` <span class="fine" title="within a minute">× ${count}</span>`
      }
    </th>
    <td>${shownTo === null ? 'erased' : renderActor(visit, shownTo, shownToName)}</td>
    <td>${
      publicToken && html`<a href="${path`/console/cards/${publicToken}`}">${publicToken}</a>`
    }</td>
    <td>${badge(word, tone)} ${reason?.replaceAll('_', ' ')}</td>
    <td class="number">
      ${index} <span class="fine">of log ${log}${isErased && ', erased'}</span>
    </td>
    <td>${
      isSigned
        ? html`<a href="${path`/console/disclosures/${entry}`}">Receipt</a>`
        : badge('Not signed yet', 'warn')
    }</td>
  </tr>`
}
