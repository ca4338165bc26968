import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { masterKeyCheckValue, readMasterKeys } from '../../hsm/software/master-keys.ts'
import { currentVersions, dueAt, rotationDue } from '../../operations/keys/uses.ts'
import { isPlainLink } from '../../operations/links/links.ts'
import { sandboxLink } from '../../sandbox/demo-data.ts'
import { listSuspendedDeliveries } from '../../storage/clients/suspensions.ts'
import { examineCluster, listUnplaced } from '../../storage/engine/cluster.ts'
import type { Database } from '../../storage/engine/database.ts'
import { type DatabaseFacts, findInstallation } from '../../storage/engine/installation.ts'
import { otherSchema } from '../../storage/engine/migrate.ts'
import { examineRole } from '../../storage/engine/privileges.ts'
import { listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { type KnownLinkRow, listLinksAfter } from '../../storage/links/links.ts'
import { listFailingWebhooks } from '../../storage/webhooks/watched-webhooks.ts'
import type { Config } from '../config/config.ts'
import { selectInstallationKind } from '../database.ts'
import { findListeningRefusal } from '../listening-refusal.ts'
import { auditCheckFindings, auditEnteringFindings, auditLogFindings } from './audit-check.ts'
import { chipFindings } from './chips.ts'
import { type Finding, fault, good, warning } from './finding.ts'

const migrations = new URL('../../../database/migrations/', import.meta.url)

/**
 * Checks the content of a database: its schema, its installation, its backlog and the wear of its
 * keys.
 */
export async function contentFindings(
  config: Config,
  database: Database,
  facts: DatabaseFacts,
  now: Date,
): Promise<readonly Finding[]> {
  const names = (await readdir(migrations)).sort()
  if (facts.firstFileName !== null && facts.firstFileName !== names[0]) {
    return [
      fault('schema', otherSchema.found, 'The service cannot start on it.', otherSchema.remedy),
    ]
  }
  const known = Math.max(...names.map((name) => Number.parseInt(name, 10) || 0))
  return [
    ...(await schemaFindings(database, facts, known)),
    ...(facts.newestMigration === known ? await privilegeFindings(config, database) : []),
    ...(await clusterFindings(database, facts, known)),
    ...(await installationFindings(config, database, facts, known)),
    ...(await suspensionFindings(database, facts, known)),
    ...(facts.newestMigration === known ? await webhookFindings(database) : []),
    // The query for keys needs this program's schema.
    ...(facts.newestMigration === known ? await keyFindings(database, now) : []),
    ...(facts.newestMigration === known ? await chipFindings(config, database) : []),
    ...(facts.newestMigration === known ? await linkFindings(database, config) : []),
    ...(facts.newestMigration === known ? await auditLogFindings(config, database) : []),
    ...(facts.newestMigration === known ? await auditEnteringFindings(database) : []),
    ...(facts.newestMigration === known ? await auditCheckFindings(database, now) : []),
  ]
}

/** Checks that this program supports the schema, or can migrate it. */
async function schemaFindings(
  database: Database,
  { mayCreate, newestMigration, schemaName, worksFrom }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  const newest = newestMigration ?? 0
  if (newest > known && worksFrom <= known) {
    return [
      good(
        'schema',
        `At migration ${newest} of a newer program, with which this program is compatible.`,
      ),
    ]
  }
  if (newest > known) {
    return [
      fault(
        'schema',
        `The database is at migration ${newest}, but this program knows only ${known}.`,
        'A newer program wrote it. This one refuses to start, because it could damage data.',
        'Start the newer program. Migrations are forward only; to go back, restore a backup.',
      ),
    ]
  }
  if (newest === known) return [good('schema', `At migration ${newest}, as this program.`)]
  if (schemaName === null) {
    return [
      fault(
        'schema',
        'search_path names no existing schema that this user can use.',
        'The service cannot start.',
        'Reset it for the database and the user of DATABASE_URL (alter database … reset ' +
          'search_path), or create the schema.',
      ),
    ]
  }
  if (mayCreate) {
    const found = `At migration ${newest}; the next start or pinfold migrate brings it to ${known}.`
    return [good('schema', found)]
  }
  const { actsAsOwner, owner } = await examineRole(database)
  if (owner !== null && !actsAsOwner) {
    return [
      fault(
        'schema',
        `The database is at migration ${newest}, and this program is at ${known}.`,
        'The service cannot start.',
        `Run pinfold migrate with MIGRATION_DATABASE_URL, which names the role ${owner}.`,
      ),
    ]
  }
  return [
    fault(
      'schema',
      `The database is at migration ${newest}, and this user cannot migrate it to ${known}.`,
      'The service cannot start.',
      `Run: grant create on schema ${schemaName} to the user of DATABASE_URL. Or run pinfold ` +
        'migrate with MIGRATION_DATABASE_URL, which names the owner of the database.',
    ),
  ]
}

/**
 * Checks whether the service's role writes protected tables through functions only, or owns the
 * schema.
 */
async function privilegeFindings(config: Config, database: Database): Promise<Finding[]> {
  const { actsAsOwner, owner, role, writableTables } = await examineRole(database)
  if (actsAsOwner) {
    const found =
      'One role owns the tables and serves: it can write tries, limits and the audit log directly.'
    if (config.sandbox || database.isCluster()) return [good('privileges', found)]
    return [
      warning(
        'privileges',
        found,
        'The password of the service is enough to restore tries and change records.',
        'Let another role own the tables and name it in MIGRATION_DATABASE_URL for pinfold ' +
          'migrate (docs/guides/going-to-production.md).',
      ),
    ]
  }
  if (writableTables.length === 0) {
    return [
      good(
        'privileges',
        `${role} writes tries, limits, idempotency keys, events, authorizations and the audit ` +
          `log by functions only; ${owner} owns them.`,
      ),
    ]
  }
  return [
    fault(
      'privileges',
      `${role} does not own the tables, and can write ${writableTables.join(', ')} directly.`,
      'The password of the service is enough to restore tries and change records.',
      'Run pinfold migrate with MIGRATION_DATABASE_URL, and revoke the additional privileges.',
    ),
  ]
}

/**
 * Checks on a cluster that every table is distributed as intended. A single server has no finding.
 */
async function clusterFindings(
  database: Database,
  { newestMigration }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  const cluster = await examineCluster(database)
  if (!cluster || newestMigration !== known) return []
  const unplaced = listUnplaced(cluster)
  if (unplaced.length === 0) {
    return [good('cluster', `Every table is in its place, on ${cluster.nodes} nodes.`)]
  }
  return [
    fault(
      'cluster',
      `Not distributed over the ${cluster.nodes} nodes yet: ${unplaced.join(', ')}.`,
      'These tables are on the coordinator only, and statements that join them with others may ' +
        'fail.',
      'Stop the processes, run pinfold cluster prepare, and start them again.',
    ),
  ]
}

/** Checks that the database belongs to this installation: its kind and its master key. */
async function installationFindings(
  config: Config,
  database: Database,
  { newestMigration }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  if (newestMigration === null || newestMigration > known) return []
  const installation = await findInstallation(database)
  if (!installation) return [good('installation', 'The database is new.')]
  const ours = selectInstallationKind(config)
  const remembered = installation.kind
  const kind =
    ours === remembered
      ? good('installation', `The database belongs to a ${ours}, as this program.`)
      : fault(
          'installation',
          `The database belongs to a ${remembered}, but this program runs as ${ours}.`,
          'Test keys and real cards must stay separate: the service refuses to start.',
          'Set SANDBOX to the kind of the database, or DATABASE_URL to another database.',
        )
  return [kind, ...(await masterKeyFindings(config, installation.masterKeyCheckValue))]
}

async function masterKeyFindings(config: Config, due: string): Promise<Finding[]> {
  if (config.pkcs11) return []
  const file = config.masterKeyFile ?? join(config.dataDir, 'master.key')
  const present = await readMasterKeys(file).then(
    (keys) => keys.map(masterKeyCheckValue),
    () => null,
  )
  if (present?.includes(due))
    return [good('master-key', `${file} has the master key of this database.`)]
  return [
    fault(
      'master-key',
      present === null
        ? `The database uses the master key with check value ${due}, and ${file} cannot be read.`
        : `The database uses the master key with check value ${due}, but ${file} has ` +
            `${present.join(', ')}.`,
      'No key, card or PIN in the database can be used without it.',
      'Restore the file of this database, or point DATABASE_URL to the database of this ' + 'file.',
    ),
  ]
}

const suspendedMost = 20

/** Lists deliveries that wait for suspended clients. */
export async function suspensionFindings(
  database: Database,
  { newestMigration }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  if (newestMigration !== known) return []
  const suspended = await listSuspendedDeliveries(database, suspendedMost)
  if (suspended.length === 0)
    return [good('deliveries', 'No deliveries wait for a disabled client.')]
  const each = suspended.map(({ clientId, suspendedAt, waiting }) => {
    const since = suspendedAt === null ? '' : ` since ${suspendedAt.toISOString()}`
    return `${clientId} (${waiting} wait${since})`
  })
  return [
    warning(
      'deliveries',
      'Deliveries are suspended, because their clients are disabled or lack events.read and ' +
        `webhooks.write: ${each.join(', ')}.`,
      'Suspended deliveries are stored until delivery, even beyond EVENT_RETENTION_DAYS.',
      'If this is intended, do nothing. Otherwise run pinfold clients enable CLIENT, or give ' +
        'it the scope: the deliveries resume in order.',
    ),
  ]
}

const failingMost = 20

/** Lists webhooks whose receivers have refused all deliveries for a long time. */
export async function webhookFindings(database: Database): Promise<Finding[]> {
  const failing = (await listFailingWebhooks(database, failingMost)).filter(({ isLong }) => isLong)
  if (failing.length === 0) return [good('webhooks', 'No webhook fails.')]
  const each = failing.map(
    ({ clientId, consecutiveFailures, webhookId }) =>
      `${webhookId} of ${clientId} (${consecutiveFailures} times in a row)`,
  )
  return [
    warning(
      'webhooks',
      `Webhook deliveries fail: ${each.join(', ')}.`,
      'Their receivers miss events, and a webhook that fails for three days is disabled.',
      'Read the answers of the receiver under Webhooks in the console, or in GET ' +
        '/clients/{clientId}/webhooks/{webhookId}/deliveries, and ask the client to correct its ' +
        'receiver.',
    ),
  ]
}

const dayMs = 24 * 3_600_000
const warnDays = 30

/** Lists keys that have reached the limit of their age or use. */
export async function keyFindings(database: Database, now: Date): Promise<readonly Finding[]> {
  const findings = currentVersions(await listHsmKeys(database)).flatMap((row) => {
    const { keyName, uses } = row
    if (!isInstallationKey(keyName)) return []
    const period = keyCatalogue[keyName].cryptoperiod
    const due = rotationDue(row, period, now)
    const daysLeft = Math.ceil((dueAt(row, period).getTime() - now.getTime()) / dayMs)
    if (due === null && daysLeft > warnDays) return []
    const found = {
      age: `The key ${keyName} has protected new data for more than ${period.originatorDays} days.`,
      uses: `The key ${keyName} has been used ${uses} times.`,
      soon: `A rotation of the key ${keyName} is due in ${daysLeft} days.`,
    }[due ?? 'soon']
    const why = 'The longer a key is used, the more data its loss exposes (NIST SP 800-57, 5.3.6).'
    return [warning('keys', found, why, `Run npx pinfold keys rotate ${keyName} --wait.`)]
  })
  if (findings.length > 0) return findings
  return [good('keys', `No rotation is due within ${warnDays} days.`)]
}

/** Checks the links of card networks, as their processes report them. */
export async function linkFindings(
  database: Database,
  { allowsPlainLinks, sandbox }: Pick<Config, 'allowsPlainLinks' | 'sandbox'>,
): Promise<Finding[]> {
  const links = (await listLinksAfter(database, '', linksLookedAt)).filter(({ active }) => active)
  const plain = links
    .filter(isPlainLink)
    .map((link) => (allowsPlainLinks ? warning : fault)('link', ...plainLinkFinding(link)))
  const portFaults = new Map<string, string>()
  for (const link of links) {
    // The check of the listeners looks at the port of the sandbox's own link.
    const isOwn = sandbox && link.linkName === sandboxLink.linkName
    const found = isOwn ? null : await findPortFault(link)
    if (found !== null) portFaults.set(link.linkName, found)
  }
  return [...plain, ...stateFindings(links, portFaults)]
}

/** Why the next start could not listen for a network; null where it could, or does already. */
async function findPortFault(link: KnownLinkRow): Promise<string | null> {
  const { direction, host, port, servingProcesses } = link
  if (direction !== 'listen' || servingProcesses > 0) return null
  const refusal = await findListeningRefusal(host, port)
  // A link of another machine of this service has an address that this one has not.
  return refusal === 'EADDRINUSE' ? 'The port is taken by another program (EADDRINUSE).' : null
}

const plainLinkFinding = ({ host, linkName, port }: KnownLinkRow): [string, string, string] => [
  `${linkName} (${host}:${port}) connects to another machine without TLS.`,
  'An attacker on the network can read card numbers and impersonate either side. ' +
    'Production runs no such link unless ACCEPT_PLAIN_LINKS=yes.',
  `Turn on TLS, with the certificate of the network: npx pinfold links change ${linkName} ` +
    '--tls --certificates SHA-256',
]

function stateFindings(
  links: readonly KnownLinkRow[],
  portFaults: ReadonlyMap<string, string>,
): Finding[] {
  return links.map((link) => {
    const { direction, host, lastSignedOnAt, linkName, port, sessions, signedOnSessions } = link
    const where = `${direction === 'dial' ? 'to' : 'at'} ${host}:${port}`
    const failure = link.fault ?? portFaults.get(linkName)
    if (failure !== undefined) {
      return warning(
        'link',
        `${linkName}, ${where}: ${failure}`,
        'Until every process serves it, its network may reach another program, or nothing.',
        'Stop the program that has the port, or change the link: npx pinfold links change ' +
          `${linkName} --port PORT`,
      )
    }
    if (signedOnSessions > 0) return good('link', `${linkName}, ${where}: signed on.`)
    // A peer that never signed on is not reported missing.
    if (direction === 'listen' && !lastSignedOnAt) {
      return good('link', `${linkName}, ${where}: waits for its network.`)
    }
    const state = sessions > 0 ? 'connected, but not signed on' : 'not connected'
    return warning(
      'link',
      `${linkName}, ${where}: ${state}.`,
      'Until it is signed on, its network cannot send authorization requests.',
      direction === 'dial'
        ? 'Check that the address is right and reachable; the log has the reason of a failed ' +
            'attempt.'
        : 'The network must connect and sign on. The log has the addresses that the link ' +
            'refused, and the reasons.',
    )
  })
}

const linksLookedAt = 100
