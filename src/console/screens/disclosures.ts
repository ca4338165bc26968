import Type, { type Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import { AuditLogSchema } from '../../listeners/private/schemas/audit-log.ts'
import { DisclosureSchema } from '../../listeners/private/schemas/disclosures.ts'
import { toProblem } from '../console.ts'
import { badge, instant } from '../desk-parts.ts'
import { list, listed, pages } from '../listing.ts'
import { path, type Screen } from '../screen.ts'
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
    const filter = /^[1-9][0-9]{9}$/.test(asked)
      ? path`?publicToken=${asked}`
      : asked === ''
        ? ''
        : path`?clientId=${asked}`
    const { entries, next } = await list(visit, `/disclosures${filter}`, DisclosureSchema)
    const logs = await visit.read('/audit/logs', Type.Array(AuditLogSchema))
    const signed = new Map(logs.map(({ log, signedSize }) => [log, signedSize]))
    return {
      title,
      body: html`<form method="get" action="/console/disclosures" class="row">
          <label>Token of a card, or id of the recipient<input name="of" maxlength="64"
            autocomplete="off" value="${asked}"></label>
          <button>Show</button>
        </form>
        <live-region id="disclosures">${listed(
          title,
          ['Time', 'Disclosure', 'Recipient', 'Card', 'Outcome', 'Proof'],
          entries.map((each) => disclosureRow(each, signed.get(each.log))),
          asked === ''
            ? 'No disclosures yet: no PIN, no card data, no name.'
            : html`No disclosures of <b>${asked}</b> are recorded. A new disclosure is entered
            within a second. Reload the page, or see
                <a href="/console/disclosures">everything</a>.`,
        )}</live-region>${pages(visit, next)}`,
    }
  },
}

/** @param checkpoint the newest of its log */
function disclosureRow(each: Disclosure, checkpoint: number | undefined): Content {
  const { act, at, count, device, entry, index, isErased, isSigned, log, outcome } = each
  const [word, tone] = outcomes[outcome] ?? [outcome, 'plain']
  const { publicToken, reason, requestId, shownTo, shownToName } = each
  return html`<tr>
    <td>${instant(at)}</td>
    <th scope="row">
      ${actName(act)}
      ${count > 1 && html`<span class="fine">${count} times within a minute</span>`}
      ${device && html`<p class="fine">to the device <code>${device.slice(0, 12)}…</code></p>`}
    </th>
    <td>${
      shownTo === null
        ? 'erased'
        : html`<a href="${path`/console/disclosures?of=${shownTo}`}">${shownToName ?? shownTo}</a>`
    }</td>
    <td>${
      publicToken && html`<a href="${path`/console/cards/${publicToken}`}">${publicToken}</a>`
    }</td>
    <td>${badge(word, tone)} ${reason?.replaceAll('_', ' ')}</td>
    <td>
      ${
        isSigned
          ? html`<a href="${path`/console/disclosures/${entry}`}">Receipt</a>
              of checkpoint ${checkpoint}`
          : badge('Not signed yet', 'warn')
      }
      <p class="fine">Entry ${index} of log ${log}${isErased && ', erased'}</p>
      ${
        requestId &&
        html`<details class="fine">
          <summary>Ids</summary>
          Entry <code>${entry}</code><br>Request <code>${requestId}</code>
        </details>`
      }
    </td>
  </tr>`
}

/** Shows the receipt of a disclosure: a proof that can be downloaded and verified elsewhere. */
export const receiptScreen: Screen = {
  path: '/console/disclosures/:entry',
  access,
  navigation: null,
  async show(visit) {
    const { entry = '' } = visit.params
    const answer = await visit.call('GET', path`/disclosures/${entry}/receipt`)
    if (answer.status >= 400) throw toProblem(answer)
    const title = 'Receipt of a disclosure'
    if (answer.status === 202) {
      return {
        title,
        body: html`<p class="empty">
          No checkpoint covers this entry yet. Reload the page in a second.
        </p>`,
      }
    }
    const receipt = String(answer.body)
    // c2sp.org/tlog-proof, and c2sp.org/tlog-checkpoint in it.
    const [, index] = /^index ([0-9]+)$/m.exec(receipt) ?? []
    const [, checkpoint = ''] = /\n\n[^\n]+\n([0-9]+)\n/.exec(receipt) ?? []
    return {
      title,
      body: html`<section aria-labelledby="proven">
          <h2 id="proven">Proof</h2>
          <dl>
            <dt>Entry</dt><dd><code>${entry}</code></dd>
            <dt>Place</dt><dd>${index}</dd>
            <dt>Checkpoint</dt><dd>${badge(checkpoint, 'good')}</dd>
          </dl>
          <p class="hint">
            The receipt proves that this entry has not been removed, changed or replaced since the
            checkpoint was signed.
          </p>
        </section>
        <section aria-labelledby="receipt">
          <h2 id="receipt">The receipt</h2>
          <pre tabindex="0">${receipt}</pre>
          <p class="hint">
            Save it as a file. <code>npx pinfold audit receipt FILE --keys KEYS</code> verifies it
            on any machine, without this service; <a href="/audit">the page of the log</a> does in
            this browser.
          </p>
        </section>`,
    }
  },
}
