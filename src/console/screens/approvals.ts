import { html } from '../../listeners/http/html.ts'
import { ListedApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import { instant } from '../desk-parts.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
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
    return {
      title: 'Approvals',
      body: html`<nav class="filters" aria-label="Which approvals">${filters}</nav>${renderTable({
        name: 'Approvals',
        columns: shown === 'waiting' ? listWaitingColumns(visit) : listDecidedColumns(visit),
        rows,
        empty,
        isOneLine: true,
      })}${pages(visit, next)}`,
    }
  },
}

const listWaitingColumns = (visit: Visit): readonly Column<ListedApproval>[] => [
  requestColumn,
  reasonColumn,
  ...listRequestColumns(visit),
  { title: 'Expires', cell: ({ expiresAt }) => instant(expiresAt) },
]

const listDecidedColumns = (visit: Visit): readonly Column<ListedApproval>[] => [
  requestColumn,
  { title: 'State', cell: (approval) => approvalBadge(approval) },
  reasonColumn,
  ...listRequestColumns(visit),
  {
    title: 'Decided by',
    cell: ({ decidedBy }) => decidedBy && renderParty(visit, decidedBy),
  },
  { title: 'Decided', cell: ({ decidedAt, endedAt }) => instant(decidedAt ?? endedAt) },
]

const listRequestColumns = (visit: Visit): readonly Column<ListedApproval>[] => [
  { title: 'Requested by', cell: ({ requestedBy }) => renderParty(visit, requestedBy) },
  { title: 'Requested', cell: ({ requestedAt }) => instant(requestedAt) },
]

const requestColumn: Column<ListedApproval> = {
  title: 'Request',
  kind: 'name',
  cell: ({ approvalId, description, subject }) =>
    html`<a class="cut request" href="${path`/console/approvals/${approvalId}`}"
      title="${description}${subject && `: ${subject}`}">${
        subject && html`<b><bdi>${subject}</bdi></b> · `
      }${description}</a>`,
}

const reasonColumn: Column<ListedApproval> = {
  title: 'Reason',
  cell: ({ isReadable, reason }) =>
    reason === null
      ? html`<span class="fine">${isReadable ? 'None given' : 'Cannot be read'}</span>`
      : html`<bdi class="cut reason" title="${reason}">${reason}</bdi>`,
}
