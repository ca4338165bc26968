import type { HealthCheckName } from '../../listeners/private/routes/health.ts'
import { type Finding, fault, good, warning } from './finding.ts'

/** What a check that does not pass means, and what to do about it. */
interface Advice {
  readonly why: string
  readonly remedy: string
}

const adviceOn: Readonly<Record<HealthCheckName, Advice>> = {
  database: {
    why: 'Every call is answered 503 until the database answers.',
    remedy:
      'See that the database server runs, can be written to and has room, then look at the log ' +
      'of the service for the reason.',
  },
  hsm: {
    why: 'Every call that needs a key is answered 503 until the HSM answers.',
    remedy:
      'See that the token is connected and lets this program in (PKCS11_TOKEN_LABEL, ' +
      'PKCS11_PIN_FILE); the log of the service has the reason.',
  },
  'audit-log:signing': {
    why: 'New entries of the audit log are under no checkpoint and cannot be verified.',
    remedy:
      'Where the database went back in time, see "Database rollback" in ' +
      'docs/explanation/audit-log.md. Otherwise the log of the service says what keeps it from ' +
      'signing.',
  },
  'audit-log:witnesses': {
    why: 'No witness outside vouches for the newest checkpoint of the audit log.',
    remedy:
      'See that the witnesses of AUDIT_WITNESS_POLICY run and are reached from the service: ' +
      '"Witnesses" in docs/explanation/audit-log.md.',
  },
  'audit-log:rows': {
    why: 'Rows of the database differ from what the audit log has entered of them.',
    remedy:
      'Read act check.found at GET /audit/logs/{log}/openings, and find out who writes to the ' +
      'database beside this program: "Missing entries" in docs/reference/audit-records.md.',
  },
  'audit-log:entering': {
    why: 'Acts take place that are not in the audit log yet.',
    remedy:
      'Look into the log of the service for "acts could not be entered in the audit log": ' +
      '"Late entries" in docs/explanation/audit-log.md.',
  },
  'events:unsent': {
    why: 'Clients do not see the newest events, neither in their feeds nor by webhooks.',
    remedy:
      'See that a process of the service does the background work (its log says when that ' +
      'fails), and that the database is not overloaded.',
  },
  'deliveries:due': {
    why: 'Webhooks that could be delivered are late.',
    remedy:
      'See that a process of the service does the background work; where it does, it has more ' +
      'to send than it can: raise PROCESSES (docs/explanation/scaling.md).',
  },
  'deliveries:failing': {
    why: 'The receivers of these webhooks miss events until they answer with 2xx.',
    remedy:
      'Read the answers under Webhooks in the console, or in GET /webhooks, and ask the ' +
      "webhooks' clients to mend their receivers.",
  },
  'webhooks:failing': {
    why: 'Their receivers miss events, and a webhook that fails for three days is disabled.',
    remedy:
      'Read the answers under Webhooks in the console, or in GET /webhooks, and ask the ' +
      "webhooks' clients to mend their receivers.",
  },
  'keys:rotation': {
    why: 'The longer one key is used, the more is lost with it (NIST SP 800-57, 5.3.6).',
    remedy:
      'Rotate each key that is named: npx pinfold keys rotate KEY --wait ' +
      '(docs/reference/keys.md).',
  },
  'links:dialled': {
    why: 'Until a link is signed on, nothing is authorized on it.',
    remedy:
      'See that the address of the link is right and reached from here (npx pinfold links ' +
      'list); the log of the service says why an attempt failed.',
  },
  'links:listening': {
    why: 'A card network that connects reaches no Pinfold, or the other program on this port.',
    remedy:
      'Stop the other program, or give the link another port (npx pinfold links change LINK ' +
      "--port PORT); the sandbox's own takes LINK_PORT.",
  },
  'approvals:broken-glass': {
    why: 'One person did alone what needs two.',
    remedy:
      'Read who did what and why (npx pinfold approvals list), and have another person judge ' +
      'it: docs/reference/approvals.md.',
  },
  'database:vacuum': {
    why: 'The embedded database grows and becomes slow where it is never vacuumed.',
    remedy: 'The log of the service says why its vacuum fails.',
  },
}

/** A server of another version may have checks that this program does not know. */
const adviceOnOthers: Advice = {
  why: 'The server works, and says itself that something is not right.',
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
        'What the server itself finds wrong is not known.',
        "See the server's log, and ask for /health of its private listener.",
      ),
    ]
  }
  return Object.entries(checks).map(([name, found]) => healthFinding(name, found))
}

function healthFinding(name: string, found: unknown): Finding {
  const [check]: readonly unknown[] = Array.isArray(found) ? found : []
  const output = findText(check, 'output')
  const status = findText(check, 'status')
  if (status === 'pass') return good('health', `${name}: ${output || 'as it should be.'}`)
  const say = status === 'fail' ? fault : warning
  const { why, remedy } = hasAdvice(name) ? adviceOn[name] : adviceOnOthers
  return say('health', `${name}: ${output}`, why, remedy)
}

function findText(check: unknown, name: string): string {
  if (typeof check !== 'object' || check === null) return ''
  const value: unknown = Reflect.get(check, name)
  return typeof value === 'string' ? value : ''
}
