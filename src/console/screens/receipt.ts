import type { AuditEntry } from '../../domain/audit-entry.ts'
import { toMembers } from '../../domain/members.ts'
import { isPersonId } from '../../domain/person.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { cardLink } from '../card-links.ts'
import { describeReceipt } from '../describe-receipt.ts'
import { instant, renderActor } from '../desk-parts.ts'
import { parseProblem } from '../listener-answers.ts'
import { type Page, path, type Screen, type Visit } from '../screen.ts'
import { nameEntryAct } from './audit-entries.ts'

/**
 * Shows the receipt of a disclosure: the path from the entry to the signed root. It can be saved,
 * and verified in the browser.
 */
export const receiptScreen: Screen = {
  path: '/console/disclosures/:entry',
  access: 'audit.read',
  navigation: null,
  async show(visit) {
    const { entry = '' } = visit.params
    const answer = await visit.call('GET', path`/disclosures/${entry}/receipt`)
    if (answer.status >= 400) throw parseProblem(answer)
    const text = String(answer.body)
    if (answer.status === 202) return waitingPage
    return visit.query.format === 'file' ? saveReceipt(entry, text) : showReceipt(visit, text)
  },
}

const title = 'Receipt of an act'
const trail = { above: [{ name: 'Disclosures', path: '/console/disclosures' }], name: 'Receipt' }

const waitingPage: Page = {
  title,
  trail,
  body: html`<p class="empty">
    No checkpoint covers this entry yet. Reload the page in a second.
  </p>`,
}

/** Answers with the file of a receipt, whose extension is that of its format. */
function saveReceipt(entry: string, text: string): Page {
  async function* lines(): AsyncGenerator<string> {
    yield text
  }
  return {
    title,
    body: html``,
    file: {
      name: `receipt-${entry}.tlog-proof`,
      mediaType: 'text/plain; charset=utf-8',
      lines: lines(),
    },
  }
}

async function showReceipt(visit: Visit, text: string): Promise<Page> {
  const { entry, index, origin, signedAt, size, witnesses } = describeReceipt(text)
  const [pathname = ''] = visit.here.split('?')
  return {
    title,
    trail,
    body: html`<ol class="stepper proof" aria-label="Path of the proof">
        <li class="done">
          <b>${entry === null ? 'Erased act' : nameEntryAct(entry.act)}</b>
          <p class="fine">${entry && instant(entry.at)}</p>
        </li>
        <li class="done">
          <b>Entry ${index}</b>
          <p class="fine cut" title="${origin}">of ${origin}</p>
        </li>
        <li class="done">
          <b>Checkpoint ${size}</b>
          <p class="fine">Signed by the log ${instant(signedAt)}</p>
        </li>
        <li class="${witnesses.length > 0 ? 'done' : 'ahead'}">
          <b>${witnesses.length === 0 ? 'No witness' : `${witnesses.length} cosigned`}</b>
          ${
            witnesses.length === 0
              ? html`<p class="fine">None cosigned this checkpoint</p>`
              : witnesses.map(
                  ({ at, name }) => html`<p class="fine"><bdi>${name}</bdi> ${instant(at)}</p>`,
                )
          }
        </li>
      </ol>
      <p class="row proof-acts">
        <a class="button" href="/audit#receipt=${encodeURIComponent(text)}">Verify here</a>
        <a href="${pathname}?format=file">Download</a>
      </p>
      ${entry && (await entryFacts(visit, entry))}
      <details>
        <summary>The receipt</summary>
        <pre tabindex="0">${text}</pre>
        <p class="hint">
          It proves that this entry has not been removed, changed or replaced since the checkpoint
          was signed. <code>npx pinfold audit receipt FILE --keys KEYS</code> verifies the file on
          any machine, without this service.
        </p>
      </details>`,
  }
}

async function entryFacts(visit: Visit, said: AuditEntry): Promise<Html> {
  const { card, client, device, entry, outcome, reason, request } = toMembers(said)
  const texts: Readonly<Record<string, Content>> = {
    Recipient:
      typeof client === 'string' && renderActor(visit, client, await findName(visit, client)),
    Card:
      typeof card === 'string' &&
      html`${cardLink(card)} ·
        <a href="${path`/console/disclosures?of=${card}`}">all of its disclosures</a>`,
    Outcome: [outcome, reason].filter(Boolean).join(': ').replaceAll('_', ' '),
    Device: typeof device === 'string' && html`<code>${device}</code>`,
    Entry: html`<code>${String(entry)}</code>`,
    Request: typeof request === 'string' && html`<code>${request}</code>`,
  }
  const shown = Object.entries(texts).filter(([, text]) => text)
  return html`<section aria-labelledby="said">
    <h2 id="said">What the entry says</h2>
    <dl>${shown.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
  </section>`
}

/** Finds the present name of a person or a client; null if it is not known. */
async function findName(visit: Visit, id: string): Promise<string | null> {
  const address = isPersonId(id) ? path`/people/${id}` : path`/clients/${id}`
  const answer = await visit.call('GET', address)
  const { clientName, name } = toMembers(answer.status === 200 ? answer.body : null)
  const known = name ?? clientName
  return typeof known === 'string' ? known : null
}
