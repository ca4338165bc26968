import Type from 'typebox'
import { readBrokenGlass } from '../../../operations/approvals/approvals.ts'
import { readCheckState } from '../../../operations/audit/findings.ts'
import { type AuditLogHealth, readAuditLogHealth } from '../../../operations/audit/health.ts'
import type { PrivateApi } from '../api.ts'

/** Beyond it entries that are under no checkpoint are no longer those of a second. */
const lateMs = 60_000

/** One thing that was looked at, as the health document has it. */
interface Check {
  readonly status: 'pass' | 'warn' | 'fail'
  readonly output?: string
}

const CheckSchema = Type.Array(
  Type.Object({ status: Type.String(), output: Type.Optional(Type.String()) }),
)
const HealthSchema = Type.Object({
  status: Type.String(),
  checks: Type.Record(Type.String(), CheckSchema),
})
const answer = {
  description: 'The checks, each with what is wrong.',
  content: { 'application/health+json': { schema: HealthSchema } },
}

/**
 * What is wrong though everything goes on, for whoever watches: of the audit log and of approvals. It has the form of
 * draft-inadarei-api-health-check-06, and its status is that of the worst check; 503 where that fails. Whether requests
 * may be sent here is the matter of `/readyz`.
 */
export function healthRoute({ app, approvals, audit }: PrivateApi): void {
  const schema = {
    operationId: 'health',
    summary: 'What is wrong though everything goes on',
    tags: ['Health'],
    response: { 200: answer, 503: answer },
  }
  app.get('/health', { config: { access: 'open' }, schema }, async (_, reply) => {
    const [log, rows] = [await readAuditLogHealth(audit), await readCheckState(audit.database)]
    const [newest] = rows.findings
    const broken = await readBrokenGlass(approvals)
    const found: Readonly<Record<string, Check>> = {
      ...(log && checksOf(log)),
      'approvals:broken-glass':
        broken === 0 ? { status: 'pass' } : { status: 'warn', output: `${broken} in 30 days` },
      'audit-log:rows': newest
        ? { status: 'warn', output: `${rows.findings.length} in 30 days; ${newest.found}` }
        : { status: 'pass' },
    }
    const statuses = Object.values(found).map(({ status }) => status)
    const status = (['fail', 'warn'] as const).find((each) => statuses.includes(each)) ?? 'pass'
    const checks = Object.fromEntries(Object.entries(found).map(([name, each]) => [name, [each]]))
    reply.type('application/health+json').code(status === 'fail' ? 503 : 200)
    return reply.send({ status, checks })
  })
}

function checksOf({ isCosigned, refusal, unsignedMs }: AuditLogHealth) {
  const waited = `Entries are under no checkpoint for ${Math.round(unsignedMs / 1_000)} s.`
  const signing: Check =
    unsignedMs > lateMs ? { status: 'warn', output: waited } : { status: 'pass' }
  const lacking = 'Witnesses that the policy asks for have not cosigned the newest checkpoint.'
  const witnesses: Check = isCosigned ? { status: 'pass' } : { status: 'warn', output: lacking }
  return {
    'audit-log:signing': refusal === null ? signing : { status: 'fail' as const, output: refusal },
    ...(isCosigned !== null && { 'audit-log:witnesses': witnesses }),
  }
}
