import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { masterKeyCheckValue, readMasterKeys } from '../../hsm/software/master-keys.ts'
import { currentVersions, dueAt, rotationDue } from '../../operations/keys/uses.ts'
import { listSuspendedDeliveries } from '../../storage/clients/suspensions.ts'
import type { Database } from '../../storage/engine/database.ts'
import { type DatabaseFacts, findInstallation } from '../../storage/engine/installation.ts'
import { listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import type { Config } from '../config/config.ts'
import { installationKindOf } from '../database.ts'
import { type Finding, fault, good, warning } from './finding.ts'

const migrations = new URL('../../../migrations/', import.meta.url)

/** What is in a database that answers: its schema, whose it is, what waits in it, how worn its keys are. */
export async function contentFindings(
  config: Config,
  database: Database,
  facts: DatabaseFacts,
  now: Date,
): Promise<readonly Finding[]> {
  const names = await readdir(migrations)
  const known = Math.max(...names.map((name) => Number.parseInt(name, 10) || 0))
  return [
    ...schemaFindings(facts, known),
    ...(await installationFindings(config, database, facts, known)),
    ...(await suspensionFindings(database, facts, known)),
    // The table of keys is read as this program's schema has it.
    ...(facts.newestMigration === known ? await keyFindings(database, now) : []),
  ]
}

/** The schema: not newer than this program, and one that it may bring up to date. */
function schemaFindings({ mayCreate, newestMigration }: DatabaseFacts, known: number): Finding[] {
  const newest = newestMigration ?? 0
  if (newest > known) {
    return [
      fault(
        'schema',
        `The database is at migration ${newest}, and this program knows ${known}.`,
        'A newer program wrote it: this one refuses to start, because it could do harm.',
        'Start the newer program. Migrations go forward only; to go back, restore a backup.',
      ),
    ]
  }
  if (newest === known) return [good('schema', `At migration ${newest}, as this program.`)]
  if (mayCreate) {
    const found = `At migration ${newest}; the next start, or pinfold migrate, brings it to ${known}.`
    return [good('schema', found)]
  }
  return [
    fault(
      'schema',
      `The database is at migration ${newest}, and this user may not bring it to ${known}.`,
      'The service cannot start.',
      'grant create on schema public to the user of DATABASE_URL, or let the owner start it once.',
    ),
  ]
}

/** Whether the database is that of this installation: of its kind, and under its master key. */
async function installationFindings(
  config: Config,
  database: Database,
  { newestMigration }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  if (newestMigration === null || newestMigration > known) return []
  const installation = await findInstallation(database)
  if (!installation) return [good('installation', 'The database is new.')]
  const [ours, remembered] = [installationKindOf(config), installation.kind]
  const kind =
    ours === remembered
      ? good('installation', `The database is a ${ours}'s, as this is.`)
      : fault(
          'installation',
          `The database is a ${remembered}'s, and this program runs as ${ours}.`,
          'Test keys and real cards must never meet: the service refuses to start.',
          'Set SANDBOX to what the database is, or DATABASE_URL to another database.',
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
  if (present?.includes(due)) return [good('master-key', `${file} has the key of this database.`)]
  return [
    fault(
      'master-key',
      present === null
        ? `The database is under the master key with check value ${due}, and ${file} cannot be read.`
        : `The database is under the master key with check value ${due}; ${file} has ${present.join(', ')}.`,
      'No key, card or PIN in the database can be used without it.',
      'Bring back the file that belongs to this database; or point DATABASE_URL to the one of this file.',
    ),
  ]
}

const suspendedMost = 20

/** Deliveries that wait for clients that may be sent nothing. */
export async function suspensionFindings(
  database: Database,
  { newestMigration }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  if (newestMigration !== known) return []
  const suspended = await listSuspendedDeliveries(database, suspendedMost)
  if (suspended.length === 0) return [good('deliveries', 'None waits for a disabled client.')]
  const each = suspended.map(({ clientId, suspendedAt, waiting }) => {
    const since = suspendedAt === null ? '' : ` since ${suspendedAt.toISOString()}`
    return `${clientId} (${waiting} wait${since})`
  })
  return [
    warning(
      'deliveries',
      `Deliveries are suspended, as their clients are disabled or have lost events.read and webhooks.write: ${each.join(', ')}.`,
      'What waits is kept until it is delivered, also beyond EVENT_RETENTION_DAYS.',
      'Nothing, if so it is meant. pinfold clients enable CLIENT, or the scope, lets them go on in their order.',
    ),
  ]
}

const dayMs = 24 * 3_600_000
const warnDays = 30

/** Keys that have made new things for as long, or as often, as they should. */
export async function keyFindings(database: Database, now: Date): Promise<readonly Finding[]> {
  const findings = currentVersions(await listHsmKeys(database)).flatMap((row) => {
    const { keyName, uses } = row
    if (!isInstallationKey(keyName)) return []
    const period = keyCatalogue[keyName].cryptoperiod
    const due = rotationDue(row, period, now)
    const daysLeft = Math.ceil((dueAt(row, period).getTime() - now.getTime()) / dayMs)
    if (due === null && daysLeft > warnDays) return []
    const found = {
      age: `The key ${keyName} has made new things for longer than ${period.originatorDays} days.`,
      uses: `The key ${keyName} has been used ${uses} times.`,
      soon: `The key ${keyName} is to be rotated in ${daysLeft} days.`,
    }[due ?? 'soon']
    const why = 'The longer one key is used, the more is lost with it (NIST SP 800-57, 5.3.6).'
    return [warning('keys', found, why, `npx pinfold keys rotate ${keyName} --wait`)]
  })
  if (findings.length > 0) return findings
  return [good('keys', `No key is due to be rotated within ${warnDays} days.`)]
}
