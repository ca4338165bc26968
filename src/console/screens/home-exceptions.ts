import type { Static } from 'typebox'
import { Check } from 'typebox/value'
import { countedMost } from '../../domain/approval.ts'
import { findHealthAdvice, type HealthCheckName } from '../../domain/health-advice.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { HealthSchema } from '../../listeners/private/schemas/health.ts'
import { parseProblem } from '../listener-answers.ts'
import type { Visit } from '../screen.ts'

type Health = Static<typeof HealthSchema>
type Status = Health['status']

/** A page of the console, for people with one of the scopes. */
interface AdvisedPage {
  readonly path: string
  readonly name: string
  readonly scopes: readonly string[]
}

const pages = {
  webhooks: { path: '/console/webhooks', name: 'Open webhooks', scopes: ['support.read'] },
  networks: { path: '/console/networks', name: 'Open networks', scopes: ['admin', 'support.read'] },
  clients: { path: '/console/clients', name: 'Open clients', scopes: ['admin', 'support.read'] },
  keys: { path: '/console/keys', name: 'Open keys', scopes: ['admin', 'keys.read'] },
  log: { path: '/console/audit-log', name: 'Open the log', scopes: ['admin', 'audit.read'] },
  approvals: { path: '/console/approvals', name: 'Open approvals', scopes: ['approve', 'admin'] },
} as const

/** Where operators find what a check is about. */
const pagesByCheck: ReadonlyMap<string, AdvisedPage> = new Map<HealthCheckName, AdvisedPage>([
  ['audit-log:signing', pages.log],
  ['audit-log:witnesses', pages.log],
  ['audit-log:rows', pages.log],
  ['audit-log:entering', pages.log],
  ['deliveries:due', pages.webhooks],
  ['deliveries:failing', pages.webhooks],
  ['webhooks:failing', pages.webhooks],
  ['decisions:degraded', pages.clients],
  ['keys:rotation', pages.keys],
  ['links:dialled', pages.networks],
  ['links:listening', pages.networks],
  ['approvals:broken-glass', pages.approvals],
])

const tones = { pass: 'good', warn: 'warn', fail: 'bad' } as const

const severities: readonly Status[] = ['fail', 'warn', 'pass']

/** Renders one line of state, then only what needs attention, worst first. */
export async function renderState(visit: Visit): Promise<Content> {
  const [answer, waiting] = await Promise.all([
    visit.call('GET', '/health'),
    visit.countWaitingApprovals(),
  ])
  // The document is also the body of a 503.
  if (!Check(HealthSchema, answer.body)) throw parseProblem(answer)
  const { checks, status } = answer.body
  const found = Object.entries(checks)
    .flatMap(([name, each]) => each.map(({ output, status }) => ({ name, output, status })))
    .toSorted((one, other) => severities.indexOf(one.status) - severities.indexOf(other.status))
  const faulty = found.filter((check) => check.status !== 'pass')
  const early = listEarlySigns(checks)
  return html`${statusLine(status, faulty.length, found.length)}
    ${
      (faulty.length > 0 || early.length > 0 || waiting > 0) &&
      html`<ul class="exceptions">
        ${[...faulty, ...early].map((check) => renderException(visit, check))}
        ${waiting > 0 && renderWaiting(waiting)}
      </ul>`
    }`
}

interface Exception {
  readonly name: string
  readonly output: string | undefined
  readonly status: Status
}

/** Lists what passes its check, because it is young, but needs attention. */
function listEarlySigns(checks: Health['checks']): readonly Exception[] {
  const name = 'webhooks:failing'
  const [{ observedValue = 0, status } = {}] = checks[name] ?? []
  if (status !== 'pass' || observedValue === 0) return []
  const subject = observedValue === 1 ? '1 webhook' : `${observedValue} webhooks`
  const output = `The newest deliveries to ${subject} failed.`
  return [{ name, output, status: 'warn' }]
}

function statusLine(status: Status, faulty: number, all: number): Html {
  const count = `${faulty} of ${all} checks ${faulty === 1 ? 'needs' : 'need'} attention`
  const [title, details] = {
    pass: ['The service works', `all ${all} checks pass`],
    warn: ['The service works', count],
    fail: ['The service has a fault', count],
  }[status]
  return html`<p class="state ${tones[status]}" role="status">
    <b>${title}</b> <span>${details}</span>
  </p>`
}

function renderException({ scopes }: Visit, { name, output, status }: Exception): Html {
  const { title, todo } = findHealthAdvice(name) ?? {
    title: name.replaceAll(/[-:]/g, ' '),
    todo: 'See the log of the service.',
  }
  const page = pagesByCheck.get(name)
  const held: ReadonlySet<string> = scopes
  return html`<li class="${tones[status]}">
    <b>${title}</b>
    <span class="about">${output && html`<bdi>${output}</bdi> `}${todo}</span>
    ${
      page?.scopes.some((scope) => held.has(scope)) && html`<a href="${page.path}">${page.name}</a>`
    }
  </li>`
}

function renderWaiting(count: number): Html {
  const words = count === 1 ? '1 approval waits' : `${count} approvals wait`
  return html`<li class="warn">
    <b>${count >= countedMost ? `${count} or more approvals wait` : words} for you</b>
    <span class="about">Requests expire after 24 hours.</span>
    <a href="/console/approvals">Review</a>
  </li>`
}
