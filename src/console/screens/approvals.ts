import { type Content, html } from '../../listeners/http/html.ts'
import { ListedApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import { instant } from '../desk-parts.ts'
import { list, listed, pages } from '../listing.ts'
import { path, type Screen, type Visit } from '../screen.ts'
import { approvalAccess } from './approval-decisions.ts'
import { approvalBadge, type ListedApproval, renderParty } from './approval-steps.ts'

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
  access: approvalAccess,
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
    const columns =
      shown === 'waiting'
        ? ['Request', 'Reason', 'Requested by', 'Requested', 'Expires']
        : ['Request', 'State', 'Reason', 'Requested by', 'Requested', 'Decided by', 'Decided']
    return {
      title: 'Approvals',
      body: html`<nav class="filters" aria-label="Which approvals">${filters}</nav>${listed(
        'Approvals',
        columns,
        rows.map((each) =>
          shown === 'waiting' ? waitingRow(visit, each) : decidedRow(visit, each),
        ),
        empty,
      )}${pages(visit, next)}`,
    }
  },
}

const waitingRow = (visit: Visit, each: ListedApproval): Content =>
  html`<tr class="line">
    ${requestCell(each)}
    ${reasonCell(each)}
    <td>${renderParty(visit, each.requestedBy)}</td>
    <td>${instant(each.requestedAt)}</td>
    <td>${instant(each.expiresAt)}</td>
  </tr>`

const decidedRow = (visit: Visit, each: ListedApproval): Content =>
  html`<tr class="line">
    ${requestCell(each)}
    <td>${approvalBadge(each)}</td>
    ${reasonCell(each)}
    <td>${renderParty(visit, each.requestedBy)}</td>
    <td>${instant(each.requestedAt)}</td>
    <td>${each.decidedBy && renderParty(visit, each.decidedBy)}</td>
    <td>${instant(each.decidedAt ?? each.endedAt)}</td>
  </tr>`

const requestCell = ({ approvalId, description, subject }: ListedApproval): Content =>
  html`<th scope="row">
    <a class="cut request" href="${path`/console/approvals/${approvalId}`}"
      title="${description}${subject && `: ${subject}`}">${
        subject && html`<b><bdi>${subject}</bdi></b> · `
      }${description}</a>
  </th>`

const reasonCell = ({ isReadable, reason }: ListedApproval): Content =>
  html`<td>${
    reason === null
      ? html`<span class="fine">${isReadable ? 'None given' : 'Cannot be read'}</span>`
      : html`<bdi class="cut reason" title="${reason}">${reason}</bdi>`
  }</td>`
