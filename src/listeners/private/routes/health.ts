import type { Static } from 'typebox'
import type { HealthCheckName } from '../../../domain/health-advice.ts'
import { formatShare } from '../../../domain/share.ts'
import { countBrokenGlassUses } from '../../../operations/approvals/approvals.ts'
import { findCheckState } from '../../../operations/audit-log/findings.ts'
import {
  type AuditLogHealth,
  describeEnteringHealth,
  type EnteringHealth,
  findAuditLogHealth,
} from '../../../operations/audit-log/health.ts'
import type { PrivateApi, Upkeep } from '../api.ts'
import { readWithin } from '../read-within.ts'
import { type HealthCheckSchema, HealthSchema } from '../schemas/health.ts'

/** After this time, waiting entries and deliveries count as late. */
const lateMs = 60_000
/** Monitoring polls frequently and must get its answer within this time. */
const answersWithinMs = 2_000
/** The time limit of reads, which are several statements. */
const readsWithinMs = 5_000

type Check = Static<typeof HealthCheckSchema>
type Checks = Readonly<Partial<Record<HealthCheckName, Check>>>

const answer = {
  description: 'The checks, each with its fault.',
  content: { 'application/health+json': { schema: HealthSchema } },
}

/**
 * Serves the health of the service: the database, the HSM, the backlog, the audit log, links, keys
 * and approvals, in the form of draft-inadarei-api-health-check-06. Its status is that of the worst
 * check; 503 on failure. `/readyz` states whether requests can be sent here.
 */
export function healthRoute(api: PrivateApi): void {
  const { app, approvals, audit, findUpkeep, pings, watching } = api
  const schema = {
    operationId: 'health',
    summary: 'Report faults that do not stop the service',
    tags: ['Health'],
    response: { 200: answer, 503: answer },
  }
  app.get('/health', { config: { access: 'open', anyHost: true }, schema }, async (_, reply) => {
    const [database, hsm] = await Promise.all([answers(pings.database), answers(pings.hsm)])
    const reads: [name: HealthCheckName, read: () => Promise<Checks>][] = [
      ['audit-log:signing', () => auditChecks(audit)],
      [
        'audit-log:entering',
        async () => ({
          'audit-log:entering': enteringCheck(await describeEnteringHealth(audit.database)),
        }),
      ],
      ['events:unsent', async () => backlogChecks(await watching.backlog())],
      ['webhooks:failing', async () => webhookChecks(await watching.failingWebhooks())],
      ['decisions:degraded', async () => decisionChecks(await watching.degradedEndpoints())],
      ['keys:rotation', async () => ({ 'keys:rotation': keyCheck(await watching.keys()) })],
      ['links:dialled', async () => linkChecks(await watching.links())],
      ['approvals:broken-glass', () => approvalChecks(approvals)],
      ['database:vacuum', async () => ({ 'database:vacuum': vacuumCheck(await findUpkeep()) })],
    ]
    // During a database outage, every read would only wait for it.
    const known = database.status === 'fail' ? [] : reads
    const found = await Promise.all(
      known.map(
        async ([name, read]) =>
          (await readWithin(readsWithinMs, read)) ?? { [name]: unreadable(name) },
      ),
    )
    const all: Checks = { database, hsm, ...Object.assign({}, ...found) }
    const statuses = Object.values(all).map(({ status }) => status)
    const status = (['fail', 'warn'] as const).find((each) => statuses.includes(each)) ?? 'pass'
    const checks = Object.fromEntries(Object.entries(all).map(([name, each]) => [name, [each]]))
    reply.type('application/health+json').code(status === 'fail' ? 503 : 200)
    return reply.send({ status, checks })
  })
}

/** The dead rows of a table from which on more dead than live rows are a warning. */
const deadRowsMost = 100_000

/**
 * Checks whether vacuum keeps up. A table is vacuumed after it has many dead rows, so a quiet
 * database may never be.
 */
function vacuumCheck(upkeep: Upkeep | null): Check {
  const { deadRows = 0, lastVacuumAt = null, liveRows = 0, tableName } = upkeep ?? {}
  const last = lastVacuumAt
    ? `The last vacuum or analysis of a table was at ${lastVacuumAt.toISOString()}.`
    : 'No table has been vacuumed yet.'
  const share = formatShare(deadRows, deadRows + liveRows)
  const most = deadRows > 0 ? ` The most dead rows are ${share} of ${tableName}: ${deadRows}.` : ''
  return {
    status: deadRows > deadRowsMost && deadRows > liveRows ? 'warn' : 'pass',
    output: last + most,
  }
}

/** An unreadable state of the audit log counts as a failure. */
const unreadable = (name: HealthCheckName): Check => ({
  status: name.startsWith('audit-log:') ? 'fail' : 'warn',
  output: 'The state could not be read in time. See the log of the service or of the database.',
})

/** A failure has no reason here: anyone on this listener can read the document, unlike the log. */
async function answers(ping: () => Promise<void>): Promise<Check> {
  const startedMs = performance.now()
  const isThere = await readWithin(answersWithinMs, () => ping().then(() => true))
  if (!isThere) return { status: 'fail', output: 'It does not answer.' }
  const observedValue = Math.round(performance.now() - startedMs)
  return { status: 'pass', observedValue, observedUnit: 'ms' }
}

type Watched<Name extends 'backlog' | 'failingWebhooks' | 'degradedEndpoints' | 'keys' | 'links'> =
  Awaited<ReturnType<PrivateApi['watching'][Name]>>

function backlogChecks(backlog: Watched<'backlog'>): Checks {
  const waiting = (what: string, count: number, seconds: number): Check => {
    const observed = { observedValue: Math.round(seconds), observedUnit: 's' }
    if (seconds * 1_000 <= lateMs) return { status: 'pass', ...observed }
    const output = `${count} ${what}, the oldest for ${Math.round(seconds)} s.`
    return { status: 'warn', output, ...observed }
  }
  const { dueWebhooks, failingWebhooks, unpublishedEvents } = backlog
  return {
    'events:unsent': waiting(
      'events are in no feed yet',
      unpublishedEvents,
      backlog.oldestUnpublishedSeconds,
    ),
    'deliveries:due': waiting(
      'webhooks have due deliveries that no process sends',
      dueWebhooks,
      backlog.oldestDueSeconds,
    ),
    'deliveries:failing': waiting(
      'failing webhooks wait for a retry',
      failingWebhooks,
      backlog.oldestFailingSeconds,
    ),
  }
}

/**
 * Checks for webhooks whose receivers have failed for long, even without a backlog. The observed
 * value also counts those that began to fail.
 */
function webhookChecks(failing: Watched<'failingWebhooks'>): Checks {
  const [worst, ...others] = failing.filter(({ isLong }) => isLong)
  const observed = { observedValue: failing.length, observedUnit: 'webhooks' }
  if (!worst) return { 'webhooks:failing': { status: 'pass', ...observed } }
  const { clientId, consecutiveFailures, webhookId } = worst
  const subject =
    others.length === 0
      ? `The webhook ${webhookId} of ${clientId} has`
      : `${others.length + 1} webhooks fail. ${webhookId} of ${clientId} has`
  const output = `${subject} failed ${consecutiveFailures} times in a row.`
  return { 'webhooks:failing': { status: 'warn', output, ...observed } }
}

/** Checks for decision endpoints that do not answer: their fallbacks decide. */
function decisionChecks(degraded: Watched<'degradedEndpoints'>): Checks {
  const [oldest] = degraded
  const observed = { observedValue: degraded.length, observedUnit: 'endpoints' }
  if (!oldest) return { 'decisions:degraded': { status: 'pass', ...observed } }
  const { clientId, degradedSince, productId } = oldest
  const product = productId === null ? '' : ` for product ${productId}`
  const others = degraded.length === 1 ? '' : `${degraded.length} endpoints do not answer. `
  const output =
    `${others}The decision endpoint of ${clientId}${product} has not answered since ` +
    `${degradedSince.toISOString()}.`
  return { 'decisions:degraded': { status: 'warn', output, ...observed } }
}

function keyCheck(keys: Watched<'keys'>): Check {
  const due = keys.filter(({ rotationDue }) => rotationDue !== null)
  if (due.length === 0) return { status: 'pass' }
  const dueKeys = due.map(({ key, rotationDue }) => `${key} (${rotationDue})`)
  const output = `Rotate ${dueKeys.join(', ')}.`
  return { status: 'warn', output }
}

/**
 * A link that this side dials is to be signed on, and each process is to listen for the others.
 * Whether the network connects is the network's matter.
 */
function linkChecks(links: Watched<'links'>): Checks {
  const down = links.filter(
    ({ direction, state }) => direction === 'dial' && !['signed on', 'disabled'].includes(state),
  )
  const refused = links.filter(({ direction, fault }) => direction === 'listen' && fault !== null)
  const count = (wanted: string) => links.filter(({ state }) => state === wanted).length
  const describe = (faulty: Watched<'links'>) =>
    faulty.map(({ fault, linkName }) => (fault ? `${linkName}: ${fault}` : `${linkName}.`))
  return {
    'links:dialled':
      down.length > 0
        ? { status: 'warn', output: `Not signed on: ${describe(down).join(' ')}` }
        : { status: 'pass', observedValue: count('signed on'), observedUnit: 'links signed on' },
    'links:listening':
      refused.length > 0
        ? { status: 'warn', output: `Not listening: ${describe(refused).join(' ')}` }
        : { status: 'pass', observedValue: count('listening'), observedUnit: 'links waiting' },
  }
}

async function auditChecks(audit: PrivateApi['audit']): Promise<Checks> {
  const log = await findAuditLogHealth(audit)
  const rows = await findCheckState(audit.database)
  const [newest] = rows.findings
  return {
    ...(log && composeAuditLogChecks(log)),
    'audit-log:rows': newest
      ? { status: 'warn', output: `${rows.findings.length} in 30 days; ${newest.found}` }
      : { status: 'pass' },
  }
}

function composeAuditLogChecks({ isCosigned, refusal, unsignedMs }: AuditLogHealth): Checks {
  const seconds = Math.round(unsignedMs / 1_000)
  const observed = { observedValue: seconds, observedUnit: 's' }
  const waited = `No checkpoint has covered new entries for ${seconds} s.`
  const signing: Check =
    unsignedMs > lateMs
      ? { status: 'warn', output: waited, ...observed }
      : { status: 'pass', ...observed }
  const lacking = 'Witnesses that the policy requires have not cosigned the newest checkpoint.'
  const witnesses: Check = isCosigned ? { status: 'pass' } : { status: 'warn', output: lacking }
  return {
    'audit-log:signing': refusal === null ? signing : { status: 'fail', output: refusal },
    ...(isCosigned !== null && { 'audit-log:witnesses': witnesses }),
  }
}

function enteringCheck({ status, waitingMs }: EnteringHealth): Check {
  const observed = { observedValue: Math.round(waitingMs / 1_000), observedUnit: 's' }
  if (status === 'pass') return { status, ...observed }
  const output =
    `An act of ${observed.observedValue} s ago is not in the audit log. ` +
    'See the log of the service.'
  return { status, output, ...observed }
}

async function approvalChecks(approvals: PrivateApi['approvals']): Promise<Checks> {
  const broken = await countBrokenGlassUses(approvals)
  const check: Check =
    broken === 0 ? { status: 'pass' } : { status: 'warn', output: `${broken} in 30 days` }
  return { 'approvals:broken-glass': check }
}
