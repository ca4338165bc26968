import type { Static } from 'typebox'
import { Check } from 'typebox/value'
import { parsePayload } from '../../domain/approval.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { ApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import { instant, renderActor } from '../desk-parts.ts'
import { path, type Screen, type Visit } from '../screen.ts'
import { approvalChanges, codes } from './approval-changes.ts'
import { approvalAccess, approvalDecision } from './approval-decisions.ts'
import { approvalSteps, renderParty, renderSubject } from './approval-steps.ts'
import { UnblockedCardsSchema, unblockedCards } from './unblock-cards.ts'

type Approval = Static<typeof ApprovalSchema>

/** Shows a request with its reason, what it changes, and the forms of a decision. */
export const approvalScreen: Screen = {
  path: '/console/approvals/:approvalId',
  access: approvalAccess,
  navigation: null,
  async show(visit) {
    const { approvalId = '' } = visit.params
    const approval = await visit.read(path`/approvals/${approvalId}`, ApprovalSchema)
    return {
      title: approval.description,
      trail: {
        above: [{ name: 'Approvals', path: '/console/approvals' }],
        name: approval.subject ?? 'Request',
      },
      body: html`<live-region id="state" every="2">${approvalSteps(visit, approval)}</live-region>
        <div class="approval">
          <section aria-labelledby="asked">
            <h2 id="asked">Request</h2>
            ${reason(visit, approval)}
            ${await approvalChanges(visit, approval)}
          </section>
          <section aria-labelledby="decide" class="decide">
            <h2 id="decide">Decision</h2>
            <live-region id="decision" every="2" data-state="${approval.state}">
              ${approvalDecision(visit, approval)}
            </live-region>
          </section>
        </div>
        <live-region id="outcome" every="2">${bulkResult(approval)}</live-region>
        ${clientFacts(visit, approval)}
        <details>
          <summary>Exact payload</summary>
          ${payload(approval)}
        </details>`,
    }
  },
}

const reason = (visit: Visit, approval: Approval): Html => {
  const subject = renderSubject(visit, approval)
  const without = approval.isReadable
    ? 'The request has no reason. Ask the requester.'
    : 'The request cannot be read: its key is not in the HSM.'
  return html`${
    approval.reason === null
      ? html`<p class="fine">${without}</p>`
      : html`<blockquote class="asked"><bdi>${approval.reason}</bdi></blockquote>`
  }
  <p class="fine">
    ${renderParty(visit, approval.requestedBy)}${
      subject && html` · for ${subject}`
    } · <code>${approval.method} ${approval.path}</code>
  </p>`
}

const signInTexts = {
  client_secret: 'A secret. The people who issued it may still know it.',
  private_key_jwt: 'Its private keys.',
  none: 'Unknown here: it authenticates at another issuer.',
} as const

/** Lists how the client of a request authenticates, and who gave it its credentials. */
const clientFacts = (visit: Visit, { client }: Approval): Content =>
  client &&
  html`<details open>
    <summary>Client at present</summary>
    <dl>
      <dt>Client</dt>
      <dd><bdi>${client.clientId}</bdi>, ${client.active ? 'active' : 'disabled'}</dd>
      <dt>Scopes</dt><dd>${codes(client.scopes)}</dd>
      <dt>Authenticates with</dt><dd>${signInTexts[client.authentication]}</dd>
      <dt>Public keys</dt><dd>${codes(client.keyThumbprints)}</dd>
      <dt>Credentials</dt>
      <dd>
        Version ${client.credentialsVersion}, changed ${instant(client.credentialsChangedAt)}${
          client.credentialsGivenBy.length > 0 && ', issued by'
        }
        ${client.credentialsGivenBy.map((id) => [renderActor(visit, id, null), ' '])}
      </dd>
    </dl>
  </details>`

/** Lists the outcome of a bulk act for each card. */
function bulkResult({ kind, outcome }: Approval): Content {
  const isOfCards = kind === 'unblock-cards' && Check(UnblockedCardsSchema, outcome)
  return (
    isOfCards &&
    html`<section aria-labelledby="cards">
      <h2 id="cards">Result for each card</h2>
      ${unblockedCards(outcome)}
    </section>`
  )
}

const payload = ({ isReadable, method, path, ...approval }: Approval): Content => {
  const { payload: text, payloadHash } = approval
  const without = isReadable
    ? 'The payload was deleted when the request ended. The hash stays.'
    : 'The payload cannot be read: its key is not in the HSM.'
  return text === null
    ? html`<p class="empty">${without}</p>
        <p class="fine">SHA-256 <code>${payloadHash}</code></p>`
    : html`<p><code>${method} ${path}</code></p>
        <pre tabindex="0">${JSON.stringify(parsePayload(text).body, null, 2)}</pre>
        <p class="fine">SHA-256 <code>${payloadHash}</code></p>
        <details class="fine">
          <summary>The text of the hash</summary>
          <pre tabindex="0">${text}</pre>
        </details>`
}
