import type { HealthCheckName } from '../../listeners/private/routes/health.ts'
import { type Finding, fault, good, warning } from './finding.ts'

/** The meaning of a failed check and its remedy. */
interface Advice {
  readonly why: string
  readonly remedy: string
}

const adviceOn: Readonly<Record<HealthCheckName, Advice>> = {
  database: {
    why: 'Until the database answers, every call returns 503.',
    remedy:
      'Check that the database server is running, writable and has free space, then see the ' +
      'log of the service.',
  },
  hsm: {
    why: 'Until the HSM answers, every call that needs a key returns 503.',
    remedy:
      'Check that the token is connected and accepts this program (PKCS11_TOKEN_LABEL, ' +
      'PKCS11_PIN_FILE), then see the log of the service.',
  },
  'audit-log:signing': {
    why: 'No checkpoint covers the new entries of the audit log, so they cannot be verified.',
    remedy:
      'After a restore of the database, see "Database rollback" in ' +
      'docs/explanation/audit-log.md. Otherwise see the log of the service.',
  },
  'audit-log:witnesses': {
    why: 'No external witness has cosigned the newest checkpoint of the audit log.',
    remedy:
      'Check that the witnesses of AUDIT_WITNESS_POLICY are running and reachable: "Witnesses" ' +
      'in docs/explanation/audit-log.md.',
  },
  'audit-log:rows': {
    why: 'Rows of the database differ from their entries in the audit log.',
    remedy:
      'Read act check.found at GET /audit/logs/{log}/openings, and find out who else writes to ' +
      'the database: "Missing entries" in docs/reference/audit-records.md.',
  },
  'audit-log:entering': {
    why: 'New acts are not in the audit log yet.',
    remedy:
      'Search the log of the service for "acts could not be entered in the audit log": "Late ' +
      'entries" in docs/explanation/audit-log.md.',
  },
  'events:unsent': {
    why: 'Clients do not get the newest events, neither in their feeds nor by webhooks.',
    remedy:
      'Check that a process of the service does the background work (its log reports ' +
      'failures), and that the database is not overloaded.',
  },
  'deliveries:due': {
    why: 'Webhook deliveries are late.',
    remedy:
      'Check that a process of the service does the background work. If it does, its capacity ' +
      'is too low: raise PROCESSES (docs/explanation/scaling.md).',
  },
  'deliveries:failing': {
    why: 'The receivers of these webhooks miss events until they answer with 2xx.',
    remedy:
      'Read the answers under Webhooks in the console, or in GET /webhooks, and ask the ' +
      'clients to correct their receivers.',
  },
  'webhooks:failing': {
    why: 'Their receivers miss events, and a webhook that fails for three days is disabled.',
    remedy:
      'Read the answers under Webhooks in the console, or in GET /webhooks, and ask the ' +
      'clients to correct their receivers.',
  },
  'decisions:degraded': {
    why: 'The fallbacks of these endpoints decide, so that clients do not see authorizations.',
    remedy:
      'Read the failures under Decisions of the client in the console, and ask the client to ' +
      'correct its endpoint.',
  },
  'keys:rotation': {
    why: 'The longer a key is used, the more data its loss exposes (NIST SP 800-57, 5.3.6).',
    remedy: 'Rotate each named key: npx pinfold keys rotate KEY --wait (docs/reference/keys.md).',
  },
  'links:dialled': {
    why: 'Until a link is signed on, its network cannot send authorization requests.',
    remedy:
      'Check that the address of the link is right and reachable (npx pinfold links list); the ' +
      'log of the service has the reason of a failed attempt.',
  },
  'links:listening': {
    why: 'A card network that connects reaches no Pinfold, or the other program on this port.',
    remedy:
      'Stop the other program, or give the link another port (npx pinfold links change LINK ' +
      "--port PORT); the sandbox's own takes LINK_PORT.",
  },
  'approvals:broken-glass': {
    why: 'One person executed an act that needs two people.',
    remedy:
      'Read the act and its reason (npx pinfold approvals list), and have another person ' +
      'review it: docs/reference/approvals.md.',
  },
  'database:vacuum': {
    why: 'Dead rows that are not vacuumed make tables grow and statements slow.',
    remedy:
      'Embedded database: see the log of the service. Server: look for autovacuum settings, long ' +
      'transactions and forgotten replication slots or prepared transactions.',
  },
}

/** A server of another version may report checks unknown to this program. */
const adviceOnOthers: Advice = {
  why: 'The server works, but reports a warning.',
  remedy:
    "See the server's log. This program does not know the check: run the server's own doctor.",
}

const hasAdvice = (name: string): name is HealthCheckName => Object.hasOwn(adviceOn, name)

/** Lists a finding for each check in the health document of a private listener. */
export function healthFindings(document: Readonly<Record<string, unknown>> | null): Finding[] {
  const checks = document?.checks
  if (typeof checks !== 'object' || checks === null) {
    return [
      warning(
        'health',
        'The server has no health document.',
        "The server's own findings are unknown.",
        "See the server's log, and GET /health of its private listener.",
      ),
    ]
  }
  return Object.entries(checks).map(([name, found]) => healthFinding(name, found))
}

function healthFinding(name: string, found: unknown): Finding {
  const [check]: readonly unknown[] = Array.isArray(found) ? found : []
  const output = findText(check, 'output')
  const status = findText(check, 'status')
  if (status === 'pass') return good('health', `${name}: ${output || 'passed.'}`)
  const say = status === 'fail' ? fault : warning
  const { why, remedy } = hasAdvice(name) ? adviceOn[name] : adviceOnOthers
  return say('health', `${name}: ${output}`, why, remedy)
}

function findText(check: unknown, name: string): string {
  if (typeof check !== 'object' || check === null) return ''
  const value: unknown = Reflect.get(check, name)
  return typeof value === 'string' ? value : ''
}
