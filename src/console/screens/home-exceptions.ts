import { countedMost } from '../../domain/approval.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { Visit } from '../screen.ts'

interface HealthDocument {
  readonly status: string
  readonly checks: Readonly<Record<string, readonly { status: string; output?: string }[]>>
}

/** What a warning of a health check means for people, and where they go. */
interface Advice {
  readonly title: string
  /** What to do, in the imperative. */
  readonly todo: string
  /** A page of the console, for people with one of the scopes. */
  readonly page?: {
    readonly path: string
    readonly name: string
    readonly scopes: readonly string[]
  }
}

const pages = {
  webhooks: { path: '/console/webhooks', name: 'Open webhooks', scopes: ['support.read'] },
  networks: { path: '/console/networks', name: 'Open networks', scopes: ['admin', 'support.read'] },
  clients: { path: '/console/clients', name: 'Open clients', scopes: ['admin', 'support.read'] },
  keys: { path: '/console/keys', name: 'Open keys', scopes: ['admin', 'keys.read'] },
  log: { path: '/console/audit-log', name: 'Open the log', scopes: ['admin', 'audit.read'] },
  approvals: { path: '/console/approvals', name: 'Open approvals', scopes: ['approve', 'admin'] },
} as const

const adviceByCheck: Readonly<Record<string, Advice>> = {
  database: {
    title: 'The database does not answer',
    todo: 'Call the people who run the database. Calls fail until it answers.',
  },
  hsm: {
    title: 'The HSM does not answer',
    todo: 'Call the people who run the HSM. PINs cannot be verified until it answers.',
  },
  'audit-log:signing': {
    title: 'The audit log is not signed',
    todo: 'Look at the log of the service, then at the newest checkpoint.',
    page: pages.log,
  },
  'audit-log:witnesses': {
    title: 'Witnesses have not cosigned',
    todo: 'Ask the operators of the witnesses that are missing.',
    page: pages.log,
  },
  'audit-log:rows': {
    title: 'Rows differ from the audit log',
    todo: 'Treat it as an incident. The database may have been changed.',
    page: pages.log,
  },
  'audit-log:entering': {
    title: 'Acts are not in the audit log yet',
    todo: 'Look at the log of the service. No receipts are issued until they are.',
    page: pages.log,
  },
  'events:unsent': {
    title: 'Events are late',
    todo: 'See that a process of the service publishes events.',
  },
  'deliveries:due': {
    title: 'Deliveries are late',
    todo: 'See that a process of the service sends them.',
    page: pages.webhooks,
  },
  'deliveries:failing': {
    title: 'Deliveries wait for failing receivers',
    todo: 'Tell the client, or disable the webhook.',
    page: pages.webhooks,
  },
  'webhooks:failing': {
    title: 'A webhook fails',
    todo: 'Tell the client what its receiver answers.',
    page: pages.webhooks,
  },
  'decisions:degraded': {
    title: 'A decision endpoint is down',
    todo: 'Tell the client. Its fallback decides until the endpoint answers.',
    page: pages.clients,
  },
  'keys:rotation': {
    title: 'Keys are due for rotation',
    todo: 'Rotate them.',
    page: pages.keys,
  },
  'links:dialled': {
    title: 'A link is not signed on',
    todo: 'Ask the network, then open the link again.',
    page: pages.networks,
  },
  'links:listening': {
    title: 'A link does not listen',
    todo: 'Free its port, or change it.',
    page: pages.networks,
  },
  'approvals:broken-glass': {
    title: 'Requesters approved their own requests',
    todo: 'Review each of them with its reason.',
    page: pages.approvals,
  },
  'database:vacuum': {
    title: 'The database is not vacuumed',
    todo: 'Ask the people who run the database to let autovacuum keep up.',
  },
}

const tones = { pass: 'good', warn: 'warn', fail: 'bad' } as const
type Status = keyof typeof tones

const severities: readonly Status[] = ['fail', 'warn', 'pass']
const parseStatus = (text: string): Status => severities.find((each) => each === text) ?? 'fail'

/** Renders one line of state, then only what needs attention, worst first. */
export async function renderState(visit: Visit): Promise<Content> {
  const [answer, waiting] = await Promise.all([
    visit.call('GET', '/health'),
    visit.countWaitingApprovals(),
  ])
  const { checks, status } = answer.body as HealthDocument
  const found = Object.entries(checks)
    .flatMap(([name, each]) =>
      each.map((check) => ({ name, output: check.output, status: parseStatus(check.status) })),
    )
    .toSorted((one, other) => severities.indexOf(one.status) - severities.indexOf(other.status))
  const faulty = found.filter((check) => check.status !== 'pass')
  return html`${statusLine(parseStatus(status), faulty.length, found.length)}
    ${
      (faulty.length > 0 || waiting > 0) &&
      html`<ul class="exceptions">
        ${faulty.map((check) => renderException(visit, check))}
        ${waiting > 0 && renderWaiting(waiting)}
      </ul>`
    }`
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

function renderException(
  { scopes }: Visit,
  { name, output, status }: { name: string; output: string | undefined; status: Status },
): Html {
  const { page, title, todo } = adviceByCheck[name] ?? {
    title: name.replaceAll(/[-:]/g, ' '),
    todo: 'Look at the log of the service.',
  }
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
