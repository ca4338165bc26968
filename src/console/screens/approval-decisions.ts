import type { Static } from 'typebox'
import { freshLoginSeconds, isFreshLogin } from '../../domain/approval.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import type { ApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import { actForm } from '../act-form.ts'
import { duration } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { reasonField } from '../fields.ts'
import { type Act, type Form, formFields, path, type Visit } from '../screen.ts'
import { mayApprove } from '../waiting-approvals.ts'

type Approval = Static<typeof ApprovalSchema>

/** The scopes of everyone who may see approvals, at least their own. */
export const approvalAccess = [
  'approve',
  'audit.read',
  'admin',
  'support.write',
  'keys.write',
] as const

/** The texts for approvals without a pending decision. */
const decidedTexts: Readonly<Record<string, string>> = {
  approved: 'It is approved, and will be executed shortly.',
  done: 'It was approved and executed.',
  failed: 'It was approved, and its execution failed. See the outcome.',
  refused: 'It was refused, and is not executed.',
  withdrawn: 'It was withdrawn, and is not executed.',
  expired: 'It expired before another person approved it, and is not executed. Request it again.',
  stale: 'Its subject has changed since the request. It is not executed: make a new request.',
}

const breakGlassHint =
  'For emergencies only: the request runs without a second person. The audit log records it as ' +
  'break-glass, and the monitoring of this installation reports it.'

/** Renders the forms of a decision, or why this person cannot decide. */
export function approvalDecision(visit: Visit, approval: Approval): Content {
  const { here, kept, person } = visit
  const { approvalId, payloadHash, requestedBy, state } = approval
  if (state !== 'waiting') return html`<p>${decidedTexts[state]}</p>`
  const action = path`/console/approvals/${approvalId}`
  const reasonForm = (act: string, name: string, hint: string) =>
    actForm(visit, {
      action: `${action}/${act}`,
      name,
      fields: reasonField(visit, `${action}/${act}`, { maxLength: 500 }),
      hint,
      isDangerous: true,
      isOpen: Boolean(kept.reason),
    })
  const isMine = requestedBy.id === person.personId
  const isApprover = mayApprove(visit, approval)
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
        isApprover &&
        approval.isReadable &&
        (isFresh
          ? reasonForm('break-glass', 'Break the glass', breakGlassHint)
          : signIn('break the glass'))
      }`
  }
  if (!isApprover)
    return html`<p>
      Another role decides this. Ask a person with <code>approve</code> and
      <code>${approval.scopes.join(' or ')}</code>.
    </p>`
  const approveForm = html`<form method="post" action="${action}/approve">
    ${formFields(visit)}
    <input type="hidden" name="hash" value="${payloadHash}">
    <button>Approve</button>
    <p class="hint">You approve the exact payload, by its hash. It runs at once, and only once.</p>
  </form>`
  const unreadable = html`<p>This request cannot be read or approved. Refuse it, or restore its
    key.</p>`
  const approveOrSignIn = isFresh ? approveForm : signIn('approve')
  return html`${approval.isReadable ? approveOrSignIn : unreadable}
    ${reasonForm('refuse', 'Refuse', 'The requester can read the reason.')}`
}

/** The request of each form to the private listener, and what it has changed. */
const decisions: Readonly<
  Record<
    string,
    Pick<Act, 'access'> & { composeBody(form: Form): object | undefined; readonly done: string }
  >
> = {
  approve: {
    access: 'approve',
    composeBody: ({ hash }) => ({ payloadHash: hash }),
    done: 'You approved the request. It runs within seconds.',
  },
  refuse: {
    access: 'approve',
    composeBody: ({ reason }) => ({ reason }),
    done: 'You refused the request. The requester can read your reason.',
  },
  withdraw: {
    access: approvalAccess,
    composeBody: () => undefined,
    done: 'You withdrew your request. It is not executed.',
  },
  'break-glass': {
    access: 'approve',
    composeBody: ({ reason }) => ({ reason }),
    done: 'You approved your own request. It runs within seconds, and is reported.',
  },
}

export const approvalActs: readonly Act[] = Object.entries(decisions).map(
  ([name, { access, composeBody, done }]) => ({
    path: `/console/approvals/:approvalId/${name}`,
    access,
    perform(visit, form) {
      const own = path`/approvals/${visit.params.approvalId ?? ''}`
      return actAndReturn(visit, 'POST', `${own}/${name}`, {
        body: composeBody(form),
        to: `/console${own}`,
        done,
      })
    },
  }),
)
