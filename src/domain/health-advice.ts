/** The meaning of a health check that does not pass, and the remedy. */
export interface HealthAdvice {
  readonly title: string
  readonly why: string
  /** The remedy, in the imperative, for operators in the console and at the command line. */
  readonly todo: string
  /** Commands, settings and documents for it, for the people who run the service. */
  readonly means?: string
}

/** The checks of the health document, each with its advice. */
const healthAdvice = {
  database: {
    title: 'The database does not answer',
    why: 'Until the database answers, every call returns 503.',
    todo: 'Check that the database server is running, writable and has free space.',
    means: 'Then see the log of the service.',
  },
  hsm: {
    title: 'The HSM does not answer',
    why: 'Until the HSM answers, every call that needs a key returns 503.',
    todo: 'Check that the token is connected and accepts this program.',
    means: 'PKCS11_TOKEN_LABEL and PKCS11_PIN_FILE name it. Then see the log of the service.',
  },
  'audit-log:signing': {
    title: 'The audit log is not signed',
    why: 'No checkpoint covers the new entries of the audit log, so they cannot be verified.',
    todo: 'See the log of the service, then the newest checkpoint.',
    means:
      'After a restore of the database, see "Database rollback" in docs/explanation/audit-log.md.',
  },
  'audit-log:witnesses': {
    title: 'Witnesses have not cosigned',
    why: 'No external witness has cosigned the newest checkpoint of the audit log.',
    todo: 'Check with their operators that the missing witnesses are running and reachable.',
    means: 'AUDIT_WITNESS_POLICY names them: "Witnesses" in docs/explanation/audit-log.md.',
  },
  'audit-log:rows': {
    title: 'Rows differ from the audit log',
    why: 'Rows of the database differ from their entries in the audit log.',
    todo: 'Treat it as an incident, and find out who else writes to the database.',
    means:
      'Read act check.found at GET /audit/logs/{log}/openings: "Missing entries" in ' +
      'docs/reference/audit-records.md.',
  },
  'audit-log:entering': {
    title: 'Acts are not in the audit log yet',
    why: 'New acts are not in the audit log yet. No receipts are issued until they are.',
    todo: 'Search the log of the service for “acts could not be entered in the audit log”.',
    means: 'See "Late entries" in docs/explanation/audit-log.md.',
  },
  'events:unsent': {
    title: 'Events are late',
    why: 'Clients do not get the newest events, neither in their feeds nor by webhooks.',
    todo: 'Check that a process of the service publishes events.',
    means: 'Its log reports failures. Check also that the database is not overloaded.',
  },
  'deliveries:due': {
    title: 'Deliveries are late',
    why: 'Webhook deliveries are late.',
    todo: 'Check that a process of the service sends them.',
    means: 'If it does, its capacity is too low: raise PROCESSES (docs/explanation/scaling.md).',
  },
  'deliveries:failing': {
    title: 'Deliveries wait for failing receivers',
    why: 'The receivers of these webhooks miss events until they answer with 2xx.',
    todo: 'Ask the clients to correct their receivers, or disable the webhooks.',
    means: 'Read the answers under Webhooks in the console, or in GET /webhooks.',
  },
  'webhooks:failing': {
    title: 'A webhook fails',
    why: 'Its receiver misses events, and a webhook that fails for three days is disabled.',
    todo: 'Read what the receivers answer, and ask the clients to correct their receivers.',
    means: 'The answers are under Webhooks in the console, and in GET /webhooks.',
  },
  'decisions:degraded': {
    title: 'A decision endpoint is down',
    why: 'The fallbacks of these endpoints decide, so that clients do not see authorizations.',
    todo: 'Ask the client to correct its endpoint.',
    means: 'Read the failures under Decisions of the client in the console.',
  },
  'keys:rotation': {
    title: 'Keys are due for rotation',
    why: 'The longer a key is used, the more data its loss exposes (NIST SP 800-57, 5.3.6).',
    todo: 'Rotate each named key.',
    means: 'npx pinfold keys rotate KEY --wait (docs/reference/keys.md).',
  },
  'links:dialled': {
    title: 'A link is not signed on',
    why: 'Until a link is signed on, its network cannot send authorization requests.',
    todo: 'Check that the address of the link is right, and ask the network.',
    means:
      'npx pinfold links list shows the address. The log of the service has the reason of a ' +
      'failed attempt.',
  },
  'links:listening': {
    title: 'A link does not listen',
    why: 'A card network that connects does not reach Pinfold.',
    todo: 'Correct what the check names: free the port, or give the link another port or profile.',
    means:
      'npx pinfold links change LINK --port PORT or --profile PROFILE. LINK_PORT is the port of ' +
      "the sandbox's own link, LINK_PROFILES_DIR the folder of your profiles.",
  },
  'approvals:broken-glass': {
    title: 'Requesters approved their own requests',
    why: 'One person executed an act that needs two people.',
    todo: 'Read each act with its reason, and have another person review it.',
    means: 'npx pinfold approvals list (docs/reference/approvals.md).',
  },
  'database:vacuum': {
    title: 'The database is not vacuumed',
    why: 'Dead rows that are not vacuumed make tables grow and statements slow.',
    todo: 'Ask the people who run the database to let autovacuum keep up.',
    means:
      'Embedded database: see the log of the service. Server: look for autovacuum settings, long ' +
      'transactions and forgotten replication slots or prepared transactions.',
  },
} as const satisfies Readonly<Record<string, HealthAdvice>>

export type HealthCheckName = keyof typeof healthAdvice

/** Finds the advice on a check; null for a check of another version of the program. */
export const findHealthAdvice = (name: string): HealthAdvice | null =>
  isHealthCheck(name) ? healthAdvice[name] : null

const isHealthCheck = (name: string): name is HealthCheckName => Object.hasOwn(healthAdvice, name)
