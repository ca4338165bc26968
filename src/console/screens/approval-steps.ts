import type { Static } from 'typebox'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { ListedApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import { badge, capitalize, instant, renderActor, type Tone } from '../desk-parts.ts'
import { path, type Visit } from '../screen.ts'

export type ListedApproval = Static<typeof ListedApprovalSchema>

const tones: Readonly<Record<string, Tone>> = {
  waiting: 'warn',
  approved: 'good',
  done: 'good',
  failed: 'bad',
  refused: 'bad',
}

export const approvalBadge = ({
  brokeGlass,
  state,
}: Pick<ListedApproval, 'brokeGlass' | 'state'>): Content =>
  html`${badge(capitalize(state), tones[state] ?? 'plain')}
    ${brokeGlass && badge('Glass broken', 'bad')}`

/**
 * Renders the key, link or client that a request names, with a link to its page if the person may
 * open that.
 */
export function renderSubject({ scopes }: Visit, { kind, subject }: ListedApproval): Content {
  if (subject === null) return null
  const [address] = Object.entries(subjectPages).find(([, kinds]) => kinds.includes(kind)) ?? []
  const mayOpen = scopes.has('admin') || scopes.has('support.read')
  return address === undefined || !mayOpen
    ? html`<bdi>${subject}</bdi>`
    : html`<a href="${address}${path`${subject}`}"><bdi>${subject}</bdi></a>`
}

const subjectPages: Readonly<Record<string, readonly string[]>> = {
  '/console/networks/links/': ['link'],
  '/console/clients/': [
    'administrator',
    'client-credentials',
    'disclosure-scopes',
    'network',
    'network-retirement',
  ],
}

/** A step in the life of a request. */
interface Step {
  readonly title: string
  /** `done` before the present step, `ahead` after it; `stopped`: the request ended here. */
  readonly state: 'done' | 'present' | 'ahead' | 'stopped'
  readonly details: Content
}

/** Draws the steps of a request: it is made, decided by another person, and executed. */
export function approvalSteps(visit: Visit, approval: ListedApproval): Html {
  const { requestedAt, requestedBy } = approval
  const steps: readonly Step[] = [
    {
      title: 'Requested',
      state: 'done',
      details: html`${renderParty(visit, requestedBy)} ${instant(requestedAt)}`,
    },
    describeDecision(visit, approval),
    describeExecution(approval),
  ]
  return html`<ol class="stepper" aria-label="Steps of this request">${steps.map(
    ({ details, state, title }) =>
      html`<li class="${state}"${isCurrent(state) && html` aria-current="step"`}>
        <b>${title}</b>
        <p class="fine">${details}</p>
      </li>`,
  )}</ol>`
}

const isCurrent = (state: Step['state']): boolean => state === 'present' || state === 'stopped'

export const renderParty = (visit: Visit, { id, name }: ListedApproval['requestedBy']): Html =>
  renderActor(visit, id, name)

function describeDecision(visit: Visit, approval: ListedApproval): Step {
  const { brokeGlass, decidedAt, decidedBy, decisionReason, endedAt, expiresAt, state } = approval
  if (state === 'waiting') {
    return {
      title: 'Waits for approval',
      state: 'present',
      details: html`Expires ${instant(expiresAt)}`,
    }
  }
  const approved = brokeGlass ? 'Approved without a second person' : 'Approved'
  // A stale request can have been approved before.
  const ended = state === 'stale' && decidedBy ? undefined : endings[state]
  return {
    title: ended ?? approved,
    state: ended === undefined ? 'done' : 'stopped',
    details: html`${decidedBy && renderParty(visit, decidedBy)} ${instant(decidedAt ?? endedAt)}
      ${decisionReason && html`<q>${decisionReason}</q>`}`,
  }
}

/** The decisions after which nothing is executed. */
const endings: Readonly<Record<string, string>> = {
  refused: 'Refused',
  withdrawn: 'Withdrawn',
  expired: 'Expired',
  stale: 'Outdated',
}

function describeExecution({ decidedBy, endedAt, outcomeStatus, state }: ListedApproval): Step {
  const when = html`${outcomeStatus !== null && html`<code>${outcomeStatus}</code>`}
    ${instant(endedAt)}`
  if (state === 'done') return { title: 'Executed', state: 'done', details: when }
  if (state === 'failed') return { title: 'Execution failed', state: 'stopped', details: when }
  if (state === 'approved') {
    return { title: 'Runs shortly', state: 'present', details: 'Within seconds' }
  }
  if (state === 'stale' && decidedBy) {
    return { title: 'Outdated', state: 'stopped', details: when }
  }
  const isOver = state !== 'waiting'
  return {
    title: isOver ? 'Not executed' : 'Runs at once',
    state: 'ahead',
    details: isOver ? 'Nothing was changed' : 'After the approval, and only once',
  }
}
