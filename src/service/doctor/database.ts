import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StartRefusal } from '../../domain/problem.ts'
import { masterKeyCheckValue, readMasterKeys } from '../../hsm/software/master-keys.ts'
import { listSuspendedDeliveries } from '../../storage/clients/suspensions.ts'
import { holdDataDirectory, readHolder } from '../../storage/engine/data-directory.ts'
import type { Database } from '../../storage/engine/database.ts'
import {
  type DatabaseFacts,
  examineDatabase,
  findInstallation,
} from '../../storage/engine/installation.ts'
import { openPglite } from '../../storage/engine/pglite.ts'
import { openPostgres } from '../../storage/engine/postgres.ts'
import type { Config } from '../config/config.ts'
import { installationKindOf } from '../database.ts'
import { type Check, type Finding, fault, good, messageOf, warning } from './examine.ts'
import { judgeKeys } from './keys.ts'
import { readJson } from './listeners.ts'

const migrations = new URL('../../../migrations/', import.meta.url)

/** The database: it answers, keeps what it acknowledges, and is this installation's. */
export const checkDatabase: Check = async (examined) => {
  const { databaseUrl } = examined.config
  return databaseUrl === null ? checkEmbedded(examined) : checkServer(examined, databaseUrl)
}

const checkServer = async (
  { config, now }: Parameters<Check>[0],
  connectionString: string,
): Promise<readonly Finding[]> => {
  try {
    const database = openPostgres({ connectionString, poolSize: 1, onIdleError: () => undefined })
    try {
      const before = now()
      const facts = await examineDatabase(database)
      const known = await newestKnown()
      return [
        ...judgeServer(facts),
        ...judgeDurability(facts),
        ...judgeClock(facts.clock, before, now()),
        ...judgeSchema(facts, known),
        ...(await judgeInstallation(config, database, facts, known)),
        ...(await suspensionFindings(database, facts, known)),
        // The table of keys is read as this program's schema has it.
        ...(facts.newestMigration === known ? await judgeKeys(database, now()) : []),
      ]
    } finally {
      await database.close()
    }
  } catch (error) {
    return [
      fault(
        'database',
        `The database does not answer: ${withoutPassword(messageOf(error), connectionString)}`,
        'Every call is 503 until it does.',
        'Check host, port, name and password in DATABASE_URL, that the server runs, and that it lets this machine in (pg_hba.conf).',
      ),
    ]
  }
}

/** A driver's message may quote the URL, and with it the password. */
function withoutPassword(message: string, connectionString: string): string {
  if (!URL.canParse(connectionString)) return 'DATABASE_URL is no URL.'
  const { password } = new URL(connectionString)
  return password === '' ? message : message.replaceAll(password, '***')
}

const newestKnown = async (): Promise<number> =>
  Math.max(...(await readdir(migrations)).map((name) => Number.parseInt(name, 10) || 0))

/** PostgreSQL in the process, in the data directory: held by a server, or looked at here. */
async function checkEmbedded({ config, now }: Parameters<Check>[0]): Promise<readonly Finding[]> {
  const folder = join(config.dataDir, 'pgdata')
  if (!(await stat(folder).catch(() => null))) {
    return [good('database', 'It is made in the data directory at the first start.')]
  }
  try {
    const holder = { pid: process.pid, startedAt: new Date().toISOString() }
    const release = await holdDataDirectory(config.dataDir, {
      ...holder,
      privateUrl: config.privateUrl,
    })
    try {
      const database = await openPglite(folder)
      try {
        return await judgeEmbedded(config, database, now())
      } finally {
        await database.close()
      }
    } finally {
      release()
    }
  } catch (error) {
    return error instanceof StartRefusal ? checkHolder(config, error) : [broken(folder, error)]
  }
}

async function judgeEmbedded(
  config: Config,
  database: Database,
  now: Date,
): Promise<readonly Finding[]> {
  const facts = await examineDatabase(database)
  const known = await newestKnown()
  return [
    good('database', 'The embedded database opens.'),
    // Its commits are put on the disk together, before any is acknowledged, and not each by itself.
    ...judgeDurability({ ...facts, synchronousCommit: 'on' }),
    ...judgeSchema(facts, known),
    ...(await judgeInstallation(config, database, facts, known)),
    ...(await suspensionFindings(database, facts, known)),
    ...(facts.newestMigration === known ? await judgeKeys(database, now) : []),
  ]
}

const broken = (folder: string, error: unknown): Finding =>
  fault(
    'database',
    `The embedded database in ${folder} does not open: ${messageOf(error)}`,
    'The service cannot start.',
    'Restore the directory from a backup. In a sandbox whose data is of no use, move DATA_DIR away.',
  )

/** Whoever holds the data directory must answer. */
async function checkHolder(
  { dataDir, privateListener }: Config,
  refusal: StartRefusal,
): Promise<readonly Finding[]> {
  const privateUrl = (await readHolder(dataDir))?.privateUrl
  if (privateListener.tls?.clientCertificates === 'required') {
    // Who is asked for a certificate here has none, as with the listeners.
    return [
      good('lock', `It is held by ${privateUrl ?? 'a start'}; whether that answers is not seen.`),
    ]
  }
  const answer = privateUrl === undefined ? null : await readJson(`${privateUrl}/livez`)
  if (answer?.json.status === 'alive')
    return [good('database', `A server works with it: ${privateUrl}.`)]
  return [
    fault(
      'lock',
      `${refusal.message} It does not answer.`,
      'Nothing else can use this data directory, and nothing serves it.',
      'End that process, or start this one with another DATA_DIR.',
    ),
  ]
}

const versionLeast = 150_000

/** The server's version, and whether it can be written to. */
export function judgeServer({ isStandby, versionNumber }: DatabaseFacts): Finding[] {
  const version = `PostgreSQL ${Math.floor(versionNumber / 10_000)}.${versionNumber % 10_000}`
  if (versionNumber < versionLeast) {
    return [
      fault(
        'database',
        `The server is ${version}.`,
        'The statements are proven on 18, and held to nothing before 15.',
        'Move the database to a server that is still maintained.',
      ),
    ]
  }
  if (!isStandby) return [good('database', `${version} answers.`)]
  return [
    fault(
      'database',
      'The server is a standby: it can be read only.',
      'No try can be spent, so nothing is authorized.',
      'Point DATABASE_URL to the primary, or promote this one.',
    ),
  ]
}

/** A try that was spent must survive a crash: otherwise it can be guessed again. */
export function judgeDurability(facts: DatabaseFacts): Finding[] {
  const off = [
    ...(facts.fsync === 'off' ? ['fsync'] : []),
    ...(facts.fullPageWrites === 'off' ? ['full_page_writes'] : []),
    ...(facts.synchronousCommit === 'off' ? ['synchronous_commit'] : []),
  ]
  if (off.length === 0) return [good('durability', 'What is committed survives a crash.')]
  return [
    fault(
      'durability',
      `The server runs with ${off.join(' and ')} off.`,
      'A crash gives back PIN tries that were spent, and loses disclosures that are to be on record.',
      `Turn ${off.join(' and ')} on: alter system set ${off[0]} = on; select pg_reload_conf().`,
    ),
  ]
}

const skewMostMs = 5_000

/** The database's clock and this machine's. Asking took from one instant to the other. */
export function judgeClock(database: Date, before: Date, after: Date): Finding[] {
  const aheadMs = database.getTime() - after.getTime()
  const behindMs = before.getTime() - database.getTime()
  const skewMs = Math.max(aheadMs, behindMs, 0)
  if (skewMs <= skewMostMs) return [good('clock', 'This machine and the database agree.')]
  const seconds = Math.round(skewMs / 1_000)
  return [
    fault(
      'clock',
      `This machine's clock is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the database's.`,
      'Tokens, assertions and sealed PINs are dated: good ones are refused, and old ones taken.',
      'Let both machines follow a time server (timedatectl set-ntp true), then look again.',
    ),
  ]
}

/** The schema: not newer than this program, and one that it may bring up to date. */
export function judgeSchema(
  { mayCreate, newestMigration }: DatabaseFacts,
  known: number,
): Finding[] {
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

const suspendedMost = 20

/** Deliveries that wait for clients that may be told nothing. */
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

/** Whether the database is that of this installation: of its kind, and under its master key. */
export async function judgeInstallation(
  config: Config,
  database: Database,
  { newestMigration }: DatabaseFacts,
  known: number,
): Promise<Finding[]> {
  if (newestMigration === null || newestMigration > known) return []
  const installation = await findInstallation(database)
  if (!installation) return [good('installation', 'The database is new.')]
  return [
    ...judgeKind(installationKindOf(config), installation.kind),
    ...(await judgeMasterKey(config, installation.masterKeyCheckValue)),
  ]
}

function judgeKind(ours: string, remembered: string): Finding[] {
  if (ours === remembered) return [good('installation', `The database is a ${ours}'s, as this is.`)]
  return [
    fault(
      'installation',
      `The database is a ${remembered}'s, and this program runs as ${ours}.`,
      'Test keys and real cards must never meet: the service refuses to start.',
      'Set SANDBOX to what the database is, or DATABASE_URL to another database.',
    ),
  ]
}

async function judgeMasterKey(config: Config, due: string): Promise<Finding[]> {
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
