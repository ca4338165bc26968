import type { Static } from 'typebox'
import { freshLoginSeconds, isFreshLogin } from '../../domain/approval.ts'
import { toMembers } from '../../domain/members.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { ApprovalSchema, ListedApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import type { UnblockedCardSchema } from '../../listeners/private/schemas/cards.ts'
import { toProblem } from '../console.ts'
import { badge, duration, instant } from '../desk-parts.ts'
import { reasonField } from '../fields.ts'
import { list, listed, pages } from '../listing.ts'
import {
  type Act,
  type Form,
  formFields,
  type Page,
  path,
  type Screen,
  type Visit,
} from '../screen.ts'
import { unblockedCards } from '../unblocked-cards.ts'

type ListedApproval = Static<typeof ListedApprovalSchema>
type Approval = Static<typeof ApprovalSchema>

const access = ['approve', 'audit.read', 'admin', 'support.write', 'keys.write'] as const

const tones: Readonly<Record<string, 'good' | 'bad' | 'warn' | 'plain'>> = {
  waiting: 'warn',
  approved: 'good',
  done: 'good',
  failed: 'bad',
  refused: 'bad',
}

const stateBadge = ({ brokeGlass, state }: Pick<ListedApproval, 'brokeGlass' | 'state'>): Content =>
  html`${badge(`${state.charAt(0).toUpperCase()}${state.slice(1)}`, tones[state] ?? 'plain')}
    ${brokeGlass && badge('Glass broken', 'bad')}`

const renderParty = ({ id, isPerson, name }: ListedApproval['requestedBy']): Content =>
  isPerson ? name : html`Client ${id}`

/** The three lists, each with the states of its approvals. */
const lists = {
  waiting: {
    name: 'Waiting',
    empty:
      'No requests wait for approval. APPROVALS in the configuration lists the acts that need it.',
  },
  mine: {
    name: 'Mine',
    empty:
      'You have no requests that need approval. Your requests are listed here until they have ' +
      'run.',
  },
  decided: { name: 'Decided', empty: 'No decisions yet.' },
} as const
type ListName = keyof typeof lists

export const approvalsScreen: Screen = {
  path: '/console/approvals',
  access,
  navigation: 'Approvals',
  async show(visit) {
    const { list: asked = 'waiting' } = visit.query
    const shown = Object.hasOwn(lists, asked) ? (asked as ListName) : 'waiting'
    const addresses: Readonly<Record<ListName, string>> = {
      waiting: '/approvals?state=waiting',
      mine: path`/approvals?requestedBy=${visit.person.personId}`,
      decided: '/approvals',
    }
    const { entries, next } = await list(visit, addresses[shown], ListedApprovalSchema, 100)
    const rows = entries.filter(({ state }) => shown !== 'decided' || state !== 'waiting')
    // Only the last page can be empty for good: earlier decisions are on later pages.
    const empty = next === null ? lists[shown].empty : 'Nothing on this page. See the next page.'
    const filters = Object.entries(lists).map(
      ([each, { name }]) =>
        html`<a href="/console/approvals?list=${each}"${
          each === shown && html` aria-current="true"`
        }>${name}</a> `,
    )
    return {
      title: 'Approvals',
      body: html`<nav class="filters" aria-label="Which approvals">${filters}</nav>${listed(
        'Approvals',
        ['What', 'State', 'Requested by', 'Requested', 'Until', 'Decided by'],
        rows.map(approvalRow),
        empty,
      )}${pages(visit, next)}`,
    }
  },
}

const approvalRow = (each: ListedApproval): Content =>
  html`<tr>
    <th scope="row">
      <a href="${path`/console/approvals/${each.approvalId}`}">${each.description}</a>
      <p class="fine"><code>${each.method} ${each.path}</code></p>
    </th>
    <td>${stateBadge(each)}</td>
    <td>${renderParty(each.requestedBy)}</td>
    <td>${instant(each.requestedAt)}</td>
    <td>${each.state === 'waiting' && instant(each.expiresAt)}</td>
    <td>${each.decidedBy && renderParty(each.decidedBy)}</td>
  </tr>`

export const approvalScreen: Screen = {
  path: '/console/approvals/:approvalId',
  access,
  navigation: null,
  show: approvalPage,
}

async function approvalPage(visit: Visit): Promise<Page> {
  const { approvalId = '' } = visit.params
  const approval = await visit.read(path`/approvals/${approvalId}`, ApprovalSchema)
  return {
    title: approval.description,
    body: html`<div class="columns">
        <section aria-labelledby="asked">
          <h2 id="asked">Request</h2>
          <live-region id="state" every="2">${facts(approval)}</live-region>
        </section>
        <section aria-labelledby="decide">
          <h2 id="decide">Decide</h2>
          <live-region id="decision" every="2" data-state="${approval.state}">
            ${decision(visit, approval)}
          </live-region>
        </section>
      </div>
      <live-region id="outcome" every="2">${renderCards(approval)}</live-region>
      <section aria-labelledby="payload">
        <h2 id="payload">Exact payload</h2>
        ${renderPayload(approval)}
      </section>`,
  }
}

function facts(approval: Approval): Content {
  const { reason } = toMembers(parseRequest(approval)?.body)
  const askedBy = renderParty(approval.requestedBy)
  return html`<dl>
    <dt>State</dt><dd>${stateBadge(approval)}</dd>
    <dt>Requested by</dt><dd>${askedBy}, ${instant(approval.requestedAt)}</dd>
    <dt>Reason</dt>
    <dd>${
      typeof reason === 'string'
        ? html`“${reason}”`
        : html`<span class="fine">The request has no reason. Ask ${askedBy}.</span>`
    }</dd>
    ${approval.state === 'waiting' && html`<dt>Until</dt><dd>${instant(approval.expiresAt)}</dd>`}
    ${
      approval.decidedBy &&
      html`<dt>Decided by</dt>
        <dd>
          ${renderParty(approval.decidedBy)}, ${instant(approval.decidedAt)}
          ${approval.decisionReason && html`<p>“${approval.decisionReason}”</p>`}
        </dd>`
    }
    ${
      approval.outcomeStatus !== null &&
      html`<dt>Outcome</dt>
        <dd><code>${approval.outcomeStatus}</code>, ${instant(approval.endedAt)}</dd>`
    }
    ${clientFacts(approval)}
    <dt>Needs</dt>
    <dd>A person with <code>approve</code> and <code>${approval.scopes.join(' or ')}</code></dd>
  </dl>`
}

const codes = (texts: readonly string[]): Content =>
  texts.length === 0 ? html`none` : texts.map((text) => html`<code>${text}</code> `)

const signInTexts = {
  client_secret: 'A secret. The people who issued it may still know it.',
  private_key_jwt: 'Its private keys.',
  none: 'Unknown here: it authenticates at another issuer.',
} as const

/** Lists the client, its authentication and the thumbprints of its keys in the request. */
const clientFacts = ({ client, keyThumbprints }: Approval): Content =>
  html`${
    client &&
    html`<dt>Client now</dt><dd>${client.clientId}, ${client.active ? 'active' : 'disabled'}</dd>
      <dt>Its scopes</dt><dd>${codes(client.scopes)}</dd>
      <dt>It authenticates with</dt><dd>${signInTexts[client.authentication]}</dd>
      <dt>Its keys</dt><dd>${codes(client.keyThumbprints)}</dd>
      <dt>Its credentials</dt>
      <dd>
        Version ${client.credentialsVersion}, changed ${instant(client.credentialsChangedAt)}.
        Issued by ${codes(client.credentialsGivenBy)}
      </dd>`
  }${
    keyThumbprints.length > 0 && html`<dt>Keys in the request</dt><dd>${codes(keyThumbprints)}</dd>`
  }`

/** Lists the outcome of a bulk act for each card. */
function renderCards({ kind, outcome }: Approval): Content {
  if (kind !== 'unblock-cards' || !Array.isArray(outcome)) return false
  const cards = outcome as readonly Static<typeof UnblockedCardSchema>[]
  return html`<section aria-labelledby="cards">
    <h2 id="cards">Result for each card</h2>
    ${unblockedCards(cards)}
  </section>`
}

/** Parses the requested act; null after it was deleted. */
const parseRequest = ({ payload }: Approval): { readonly body: unknown } | null =>
  payload === null ? null : JSON.parse(payload)

const renderPayload = (approval: Approval): Content =>
  approval.payload === null
    ? html`<p class="empty">
          The payload was deleted, because the record must not name its subject. The hash stays.
        </p>
        <p class="fine">SHA-256 <code>${approval.payloadHash}</code></p>`
    : html`<p><code>${approval.method} ${approval.path}</code></p>
        <pre tabindex="0">${JSON.stringify(parseRequest(approval)?.body, null, 2)}</pre>
        <p class="fine">SHA-256 <code>${approval.payloadHash}</code></p>
        <details class="fine">
          <summary>The text of the hash</summary>
          <pre tabindex="0">${approval.payload}</pre>
        </details>`

/** The texts for approvals without a pending decision. */
const decidedTexts: Readonly<Record<string, string>> = {
  approved: 'It is approved, and will be executed shortly.',
  done: 'It was approved and executed.',
  failed: 'It was approved, and its execution failed. See the outcome.',
  refused: 'It was refused, and is not executed.',
  withdrawn: 'It was withdrawn, and is not executed.',
  expired: 'It expired before another person approved it, and is not executed.',
  stale: 'Its subject has changed since the request. It is not executed: make a new request.',
}

const breakGlassHint =
  'For emergencies only: the request runs without a second person. The audit log records it as ' +
  'break-glass, and the monitoring of this installation reports it.'

/** Renders the forms of a decision, or why this person cannot decide. */
function decision(
  { here, kept, person, refused, scopes, ...visit }: Visit,
  approval: Approval,
): Content {
  const { approvalId, payloadHash, requestedBy, state } = approval
  if (state !== 'waiting') return html`<p class="empty">${decidedTexts[state]}</p>`
  const action = path`/console/approvals/${approvalId}`
  const reasonForm = (name: string, title: string, hint: string) =>
    html`<details${kept.reason && html` open`}>
      <summary>${title}</summary>
      <form method="post" action="${action}/${name}">
        ${formFields(visit)}
        ${reasonField({ kept, refused }, `${action}/${name}`, { maxLength: 500 })}
        <p class="hint">${hint}</p>
        <button class="danger">${title}</button>
      </form>
    </details>`
  const isMine = requestedBy.id === person.personId
  const mayApprove =
    scopes.has('approve') &&
    approval.scopes.some((scope) => [...scopes].some((each) => each === scope))
  const isFresh = isFreshLogin(person, new Date())
  const signIn = (purpose: string) =>
    html`<p><a class="button"
        href="${path`/console/sign-in?again=yes&to=${here}`}">Sign in again to ${purpose}</a></p>
      <p class="hint">This needs a sign-in within the last ${duration(freshLoginSeconds)}.</p>`
  if (isMine) {
    return html`<p class="hint">This is your request: another person has to approve it.</p>
      <form method="post" action="${action}/withdraw">
        ${formFields(visit)}
        <button class="quiet">Withdraw</button>
      </form>
      ${
        mayApprove &&
        (isFresh
          ? reasonForm('break-glass', 'Break the glass', breakGlassHint)
          : signIn('break the glass'))
      }`
  }
  if (!mayApprove)
    return html`<p class="empty">
      Another role decides this. Ask a person with the scope of this act and the scope approve.
    </p>`
  return html`${
    isFresh
      ? html`<form method="post" action="${action}/approve">
          ${formFields(visit)}
          <input type="hidden" name="hash" value="${payloadHash}">
          <p class="hint">
            You approve exactly the payload below, by its hash. It runs at once, and only once.
          </p>
          <button>Approve</button>
        </form>`
      : signIn('approve')
  }${reasonForm('refuse', 'Refuse', 'The requester can read the reason.')}`
}

/** The request of each form to the private listener. */
const decisions: Readonly<
  Record<string, Pick<Act, 'access'> & { composeBody(form: Form): object | undefined }>
> = {
  approve: { access: 'approve', composeBody: ({ hash }) => ({ payloadHash: hash }) },
  refuse: { access: 'approve', composeBody: ({ reason }) => ({ reason }) },
  withdraw: { access, composeBody: () => undefined },
  'break-glass': { access: 'approve', composeBody: ({ reason }) => ({ reason }) },
}

export const approvalActs: readonly Act[] = Object.entries(decisions).map(
  ([name, { access, composeBody }]) => ({
    path: `/console/approvals/:approvalId/${name}`,
    access,
    async perform(visit, form) {
      const { approvalId = '' } = visit.params
      const own = path`/approvals/${approvalId}`
      const answer = await visit.call('POST', `${own}/${name}`, composeBody(form))
      if (answer.status < 300) return { to: `/console${own}` }
      throw toProblem(answer)
    },
  }),
)
