import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { StartRefusal } from '../../errors.ts'
import { holdDataDirectory, readHolder } from '../../storage/data-directory.ts'
import type { Database } from '../../storage/database.ts'
import { examineDatabase } from '../../storage/examination.ts'
import { openPglite } from '../../storage/pglite.ts'
import { openPostgres } from '../../storage/postgres.ts'
import { judgeKeys } from './check-keys.ts'
import {
  judgeClock,
  judgeDurability,
  judgeInstallation,
  judgeSchema,
  judgeServer,
  suspensionFindings,
} from './database-findings.ts'
import { type Check, type Finding, fault, good, messageOf } from './finding.ts'
import { readJson } from './read-json.ts'

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
