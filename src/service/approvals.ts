import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Hsm } from '../hsm/contract/hsm.ts'
import type { Server } from '../listeners/http/server.ts'
import { type ApprovalContext, countBrokenGlassUses } from '../operations/approvals/approvals.ts'
import type { SendApproved } from '../operations/approvals/carry-out.ts'
import { createSequencer } from '../operations/audit-log/sequence.ts'
import type { Database } from '../storage/engine/database.ts'
import type { Config } from './config/config.ts'
import type { InProcessCalls } from './in-process-calls.ts'

/**
 * Creates the context of the operations on approvals. A requester's approval of their own request
 * is logged as an error.
 */
export const createApprovals = (
  { approvals, audit }: Config,
  database: Database,
  hsm: Hsm,
  log: Logger,
): ApprovalContext => ({
  database,
  hsm,
  ...approvals,
  enterActs: createSequencer({ database, origin: audit.origin }),
  approvalUnrecorded({ approvalId, kind }) {
    log.error({ approvalId, kind }, 'the database has an approval that is not in the audit log')
  },
  glassBroken({ approvalId, kind, requestedBy: { id: clientId } }) {
    log.error(
      { approvalId, kind, clientId },
      'a requester executed their own request in an emergency (break-glass)',
    )
  },
})

/** Registers the metric of requesters' approvals of their own requests. */
export function watchApprovals(
  registry: Registry,
  approvals: Pick<ApprovalContext, 'database'>,
): void {
  new Gauge({
    name: 'pinfold_approvals_broken_glass',
    help: 'Requests of the last 30 days that their own requester approved in an emergency.',
    registers: [registry],
    async collect() {
      this.reset()
      const count = await countBrokenGlassUses(approvals).catch(() => null)
      if (count !== null) this.set(count)
    },
  })
}

/** Sends an approved request to the private listener on behalf of its requester. */
export const sendApproved =
  (calls: InProcessCalls, app: Server, { privateUrl }: Pick<Config, 'privateUrl'>): SendApproved =>
  ({ approvalId, requester, ...request }) =>
    calls.callAs(
      app,
      new URL(privateUrl).host,
      {
        ...requester,
        kind: 'admin',
        boundThumbprint: null,
        carriesOut: request,
        expiresAt: new Date(Date.now() + 60_000),
      },
      { ...request, idempotencyKey: approvalId },
    )
