import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Hsm } from '../hsm/contract/hsm.ts'
import { carryOutApproved } from '../operations/approvals/carry-out.ts'
import { expireApprovals } from '../operations/approvals/decide.ts'
import type { AuditLogContext } from '../operations/audit-log/audit-log.ts'
import { checkDue, nightly } from '../operations/audit-log/check.ts'
import { eraseDue } from '../operations/audit-log/erase.ts'
import { auditLeaseName } from '../operations/audit-log/health.ts'
import { batchSize, createSequencer } from '../operations/audit-log/sequence.ts'
import { createFollower, createSigner } from '../operations/audit-log/sign.ts'
import { countAnswered } from '../operations/authorizations/figures.ts'
import { recordLostBlocks } from '../operations/cards/tries.ts'
import { sweepDecisions } from '../operations/decisions/sweep.ts'
import { longestRestMs } from '../operations/events/publish.ts'
import type { KeyContext } from '../operations/keys/keys.ts'
import { advanceKeys, followKeys } from '../operations/keys/rotate.ts'
import { recordUses } from '../operations/keys/uses.ts'
import { expireHolds } from '../operations/payments/expiry.ts'
import { sweepCards } from '../operations/renewals/automatic.ts'
import { deleteOldRenewals, doRenewals } from '../operations/renewals/jobs.ts'
import { startDelivery } from '../operations/webhooks/delivery.ts'
import { deleteOldApprovals } from '../storage/approvals/approvals.ts'
import { thinCheckpoints } from '../storage/audit-log/checkpoints.ts'
import { expireMistakes } from '../storage/authorizations/mistakes.ts'
import { expirePinEnvelopes } from '../storage/cards/changes.ts'
import { expireLimits } from '../storage/cards/limits.ts'
import { expireAssertions } from '../storage/clients/assertions.ts'
import { expireSigningKeys } from '../storage/decisions/signing-keys.ts'
import type { Connection, Database } from '../storage/engine/database.ts'
import { claimLease, releaseLease } from '../storage/engine/leases.ts'
import { shortenLog, vacuumTables } from '../storage/engine/vacuum.ts'
import { expireAdvices } from '../storage/links/advices.ts'
import { expireTransactions } from '../storage/links/transactions.ts'
import { expireSessions } from '../storage/people/sessions.ts'
import type { Config } from './config/config.ts'
import type { Service } from './service.ts'

/** The background work of a process. */
interface Background {
  /** Stops each job between two steps and waits for it. */
  stop(): Promise<void>
}

/** The settings of background work. */
interface BackgroundSettings extends Pick<Config, 'tlsRefreshMs'> {
  readonly audit: Pick<Config['audit'], 'retentionDays' | 'erasureLeastDays'>
}

/** Starts all background work of a service that listens. */
export function startBackground(
  service: Service,
  database: Database,
  { audit: { erasureLeastDays: leastDays, retentionDays }, tlsRefreshMs }: BackgroundSettings,
  log: Logger,
): Background {
  const { audit, deciding, delivering, issuing, keys, tls } = service
  const delivery = startDelivery(delivering)
  const context = { ...issuing, database }
  const jobs = startJobs(
    [
      // Renews and expires cards, expires holds, records blocks that a terminated process did not
      // record, and deletes outdated rows.
      ...[
        (stop: AbortSignal) => sweepCards(context, stop),
        (stop: AbortSignal) => deleteOldRenewals(context, stop),
        (stop: AbortSignal) => expireHolds(context, stop),
        (stop: AbortSignal) => recordLostBlocks(context, stop),
        (stop: AbortSignal) => expireOneTimeRecords(database, new Date(), stop),
      ].map((run) => ({ everyMs: 30_000, failure: 'a sweep failed', run })),
      {
        everyMs: 1_000,
        failure: 'renewals that were requested could not be ordered',
        run: (stop) => doRenewals(context, stop),
      },
      {
        everyMs: 30_000,
        failure: 'answers to card networks could not be counted',
        run: (stop) => countAnswered(context, stop),
      },
      // A process that is lost while a client decides leaves the authorization without an answer.
      {
        everyMs: 1_000,
        failure: 'decisions of lost processes could not be concluded',
        run: (stop) =>
          sweepDecisions(
            { ...deciding.concluding, database },
            (err) => log.warn({ err }, 'the decision of a lost process could not be concluded'),
            stop,
          ),
      },
      ...keyJobs(keys),
      {
        everyMs: 5_000,
        failure: 'entries of the audit log could not be erased',
        run: (stop) => eraseDue(audit, { retentionDays, leastDays }, stop),
      },
      {
        everyMs: 30_000,
        failure: 'rows could not be compared with the audit log',
        run: (stop) => checkDue(audit, nightly, stop),
      },
      // An embedded database has neither autovacuum nor a checkpointer.
      ...(database.isShared ? [] : embeddedJobs(database)),
      auditLogJob({ ...audit, database }),
      ...approvalJobs(service),
      {
        everyMs: 3_600_000,
        failure: 'old checkpoints of the audit log could not be deleted',
        run: () => thinCheckpoints(database),
      },
      keyMakingJob(database, issuing.hsm),
      // Polls, since a changed link sends no notification.
      ...tls.map(({ refresh }) => ({
        everyMs: tlsRefreshMs,
        failure: 'the TLS files could not be read',
        run: async () => refresh(),
      })),
    ],
    log,
  )
  return {
    async stop() {
      await Promise.all([delivery.stop(), jobs.stop()])
    },
  }
}

/** A periodic job. */
interface Job {
  /** The time between the end of a run and the start of the next. */
  readonly everyMs: number | (() => number)
  /** The same after a failed run, if it differs. */
  readonly retryMs?: number
  /** The log message of a failed run. */
  readonly failure: string
  /** @returns `finished` when the job is complete for good. */
  run(stop: AbortSignal): Promise<unknown>
  /** Runs after all jobs have stopped. */
  readonly atEnd?: { readonly failure: string; run(): Promise<unknown> }
}

const finished = Symbol('finished')

/** Runs jobs concurrently, each at once and then at its interval. A failed job is retried. */
export function startJobs(jobs: readonly Job[], log: Logger): Background {
  const stopping = new AbortController()
  const stop = stopping.signal
  const repeat = async ({ everyMs, failure, retryMs, run }: Job) => {
    const afterRunMs = typeof everyMs === 'number' ? () => everyMs : everyMs
    while (!stop.aborted) {
      let restMs: number
      try {
        if ((await run(stop)) === finished) return
        restMs = afterRunMs()
      } catch (err) {
        if (!stop.aborted) log.warn({ err }, failure)
        restMs = retryMs ?? afterRunMs()
      }
      await wait(restMs, undefined, { signal: stop }).catch(() => undefined)
    }
  }
  const running = Promise.all(jobs.map(repeat))
  return {
    async stop() {
      stopping.abort()
      await running
      for (const { atEnd } of jobs) {
        await atEnd?.run().catch((err: unknown) => log.warn({ err }, atEnd.failure))
      }
    },
  }
}

/** Rows deleted in one statement, so that other statements wait briefly. */
const stepSize = 100
/** The maximum number of steps of a run; the next run continues there. */
const stepsMost = 1_000

/**
 * The maximum difference between the clocks of two processes. A record that has expired on this
 * clock may still be accepted by another process, so it is kept for this time.
 */
const clockMarginMs = 5 * 60_000

/**
 * Deletes one-time records that are too old to be accepted: client assertions and PINs sealed by
 * devices. Also deletes outdated uses of limits, mistakes and ended sessions.
 * @param stop stops it between two steps.
 */
export async function expireOneTimeRecords(
  connection: Connection,
  now: Date,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const expiredBefore = new Date(now.getTime() - clockMarginMs)
  const deletions = [
    () => expireAssertions(connection, expiredBefore, stepSize),
    () => expirePinEnvelopes(connection, expiredBefore, stepSize),
    () => expireMistakes(connection, stepSize),
    () => expireLimits(connection, 'card', stepSize),
    () => expireLimits(connection, 'client', stepSize),
    () => expireTransactions(connection, stepSize),
    () => expireAdvices(connection, stepSize),
    () => expireSessions(connection, stepSize),
    () => expireSigningKeys(connection, stepSize),
    () => deleteOldApprovals(connection, stepSize),
  ]
  for (const deleteStep of deletions) {
    for (let step = 0; step < stepsMost && !stop.aborted; step += 1) {
      if ((await deleteStep()) < stepSize) break
    }
  }
}

/**
 * Refreshes the keys, records their uses and continues rotations. When the keys cannot be read for
 * a long time, the HSM refuses requests.
 */
export function keyJobs(keys: KeyContext): readonly Job[] {
  const uses = recordUses(keys)
  const everyMs = keys.timings.refreshMs
  return [
    { everyMs, failure: 'the keys could not be read', run: () => followKeys(keys) },
    {
      everyMs,
      failure: 'the uses of keys could not be recorded',
      run: uses.setAside,
      atEnd: { failure: 'uses of keys are lost', run: uses.giveBack },
    },
    {
      everyMs,
      failure: 'a rotation could not continue',
      // A separate job, since re-encryption takes long and keys must be refreshed meanwhile.
      run: (stop) => advanceKeys(keys, () => stop.aborted),
    },
  ]
}

const embeddedJobs = (database: Database): readonly Job[] => [
  {
    everyMs: 15_000,
    failure: 'tables of the embedded database could not be vacuumed',
    run: (stop) => vacuumTables(database, stop),
  },
  {
    everyMs: 15_000,
    failure: 'the log of the embedded database could not be shortened',
    run: () => shortenLog(database),
  },
]

/** Executes approved requests and expires pending ones. */
function approvalJobs({
  approvals,
  sendApproved,
}: Pick<Service, 'approvals' | 'sendApproved'>): readonly Job[] {
  const holder = randomUUID()
  return [
    {
      everyMs: 1_000,
      failure: 'approved requests could not be executed',
      run: (stop) => carryOutApproved(approvals, sendApproved, holder, stop),
    },
    {
      everyMs: 30_000,
      failure: 'expired approvals could not be ended',
      run: (stop) => expireApprovals(approvals, stop),
    },
  ]
}

const auditLease = { name: auditLeaseName, seconds: 5, renewAfterMs: 1_500, standByMs: 1_000 }
/** The maximum number of batches before the entries are signed. */
const batchesAtOnce = 10

/**
 * Enters acts in the audit log and signs it. A lease selects one process to save work; the log is
 * correct without it.
 */
export function auditLogJob(audit: AuditLogContext): Job {
  const { database } = audit
  const holder = randomUUID()
  const enter = createSequencer(audit)
  const sign = createSigner(audit)
  const follow = createFollower(audit)
  let isHolder = false
  let claimAtMs = 0
  let entered = 0
  return {
    // An idle cluster is polled no more often than the publication, since a poll goes to every
    // shard.
    everyMs: () => (entered === 0 ? Math.max(250, longestRestMs(database)) : 250),
    retryMs: 1_000,
    failure: 'acts could not be entered in the audit log, or its entries not be signed',
    async run(stop) {
      if (performance.now() >= claimAtMs) {
        isHolder = await claimLease(database, auditLease.name, holder, auditLease.seconds)
        claimAtMs = performance.now() + (isHolder ? auditLease.renewAfterMs : auditLease.standByMs)
      }
      if (!isHolder) return follow()
      entered = 0
      for (let batch = 0; batch < batchesAtOnce && !stop.aborted; batch += 1) {
        const count = await enter()
        entered += count
        if (count < batchSize / 4) break
      }
      if (!stop.aborted) await sign()
    },
    atEnd: {
      failure: 'the lease on the audit log could not be released',
      run: () => releaseLease(database, auditLease.name, holder),
    },
  }
}

const leaseName = 'make-card-data-keys'
const leaseSeconds = 30
const renewAfterMs = 10_000

/**
 * Makes the keys that take long to make. When several processes start at once, a lease selects one,
 * and the others poll every second. The lease only saves work: if it is lost, two processes make
 * keys and the first key is kept.
 */
export function keyMakingJob(database: Database, hsm: Pick<Hsm, 'generateCardDataKeys'>): Job {
  const holder = randomUUID()
  const claim = () => claimLease(database, leaseName, holder, leaseSeconds)
  return {
    everyMs: 1_000,
    retryMs: 5_000,
    failure: 'keys could not be generated',
    async run(stop) {
      if (!(await claim())) return
      // After a failed renewal, another one follows before the lease expires.
      const renewing = setInterval(() => claim().catch(() => undefined), renewAfterMs)
      try {
        await hsm.generateCardDataKeys(stop)
        return finished
      } finally {
        clearInterval(renewing)
        await releaseLease(database, leaseName, holder).catch(() => undefined)
      }
    },
  }
}
