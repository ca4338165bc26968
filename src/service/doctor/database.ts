import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'pg-connection-string'
import { StartRefusal } from '../../domain/problem.ts'
import { lockDataDirectory, readHolder } from '../../storage/engine/data-directory.ts'
import { parseDatabaseUrl } from '../../storage/engine/database-url.ts'
import { type DatabaseFacts, examineDatabase } from '../../storage/engine/installation.ts'
import { openPglite } from '../../storage/engine/pglite.ts'
import { openPostgres } from '../../storage/engine/postgres.ts'
import type { Config } from '../config/config.ts'
import { type DatabaseFault, findDatabaseFault, poolingFault } from '../database.ts'
import { type Check, describeError, type Finding, fault, good, warning } from './finding.ts'
import { healthFindings } from './health.ts'
import { contentFindings } from './installation.ts'
import { readJson } from './listeners.ts'

/** Checks that the database answers, is durable and belongs to this installation. */
export const checkDatabase: Check = (examined) => {
  const { databaseUrl } = examined.config
  return databaseUrl === null ? checkEmbedded(examined) : checkServer(examined, databaseUrl)
}

const checkServer = async (
  { config, now }: Parameters<Check>[0],
  connectionString: string,
): Promise<readonly Finding[]> => {
  const { addresses } = parseDatabaseUrl(connectionString)
  const database = openPostgres({ connectionString, poolSize: 1, onIdleError: () => undefined })
  try {
    const pooling = await poolingFault(connectionString)
    if (pooling) return [refusedFinding(pooling)]
    const before = now()
    const facts = await examineDatabase(database)
    const unsuitable = findDatabaseFault(facts)
    return [
      serverFinding(facts),
      ...(unsuitable ? [refusedFinding(unsuitable)] : []),
      durabilityFinding(facts),
      ...(addresses.length > 1 ? [standbyFinding(facts)] : []),
      clockFinding(facts.clock, before, now()),
      ...(await contentFindings(config, database, facts, now())),
    ]
  } catch (error) {
    return [
      fault(
        'database',
        withoutPassword(describeError(error), addresses[0]),
        'Until it answers, every call returns 503.',
        'Check hosts, ports, name and password in DATABASE_URL, that a writable server is ' +
          'running, and that pg_hba.conf allows this machine.',
      ),
    ]
  } finally {
    await database.close()
  }
}

/** Turns a start refusal into a finding. */
const refusedFinding = ({ found, remedy }: DatabaseFault): Finding =>
  fault('database', found, 'The service refuses to start.', remedy)

/** A driver's message may quote the URL with its password. */
function withoutPassword(message: string, address: string): string {
  const { password } = parse(address)
  return password ? message.replaceAll(password, '***') : message
}

/**
 * Checks PostgreSQL in the process: through the server that uses the data directory, or directly.
 */
async function checkEmbedded({ config, now }: Parameters<Check>[0]): Promise<readonly Finding[]> {
  const folder = join(config.dataDir, 'pgdata')
  if (!(await stat(folder).catch(() => null))) {
    return [good('database', 'The first start creates it in the data directory.')]
  }
  try {
    const holder = { pid: process.pid, startedAt: new Date().toISOString() }
    const release = await lockDataDirectory(config.dataDir, {
      ...holder,
      privateUrl: config.privateUrl,
    })
    try {
      const database = await openPglite(folder)
      try {
        const facts = await examineDatabase(database)
        return [
          good('database', 'The embedded database opens.'),
          // Its commits are flushed to disk together before they are acknowledged.
          durabilityFinding({ ...facts, synchronousCommit: 'on' }),
          ...(await contentFindings(config, database, facts, now())),
        ]
      } finally {
        await database.close()
      }
    } finally {
      release()
    }
  } catch (error) {
    if (error instanceof StartRefusal) return holderFindings(config, error)
    return [
      fault(
        'database',
        `The embedded database in ${folder} does not open: ${describeError(error)}`,
        'The service cannot start.',
        'Restore the directory from a backup. If it is a sandbox without useful data, move ' +
          'DATA_DIR away.',
      ),
    ]
  }
}

/** The program that has locked the data directory must answer and reports its own checks. */
async function holderFindings(
  { dataDir, privateListener }: Config,
  refusal: StartRefusal,
): Promise<readonly Finding[]> {
  const privateUrl = (await readHolder(dataDir))?.privateUrl
  if (privateListener.tls?.clientCertificates === 'required') {
    // A listener with mutual TLS refuses this request, which has no certificate.
    const found = `${privateUrl ?? 'A starting process'} uses it. Whether that answers is unknown.`
    return [good('lock', found)]
  }
  const answer = privateUrl === undefined ? null : await readJson(`${privateUrl}/livez`)
  if (answer?.json.status === 'alive') {
    const health = await readJson(`${privateUrl}/health`)
    return [
      good('database', `A server is using it: ${privateUrl}.`),
      ...healthFindings(health?.json ?? null),
    ]
  }
  return [
    fault(
      'lock',
      `${refusal.message} The process does not answer.`,
      'No other process can use this data directory, and this one does not serve it.',
      'End that process, or start this one with another DATA_DIR.',
    ),
  ]
}

const versionLeast = 150_000

/** Checks the server's version and that it is writable. */
function serverFinding({ isReadOnly, isStandby, versionNumber }: DatabaseFacts): Finding {
  const version = `PostgreSQL ${Math.floor(versionNumber / 10_000)}.${versionNumber % 10_000}`
  if (versionNumber < versionLeast) {
    return fault(
      'database',
      `The server is ${version}.`,
      'The service is tested on 18, and not supported before 15.',
      'Move the database to a supported version.',
    )
  }
  if (!isReadOnly) return good('database', `${version} answers.`)
  if (!isStandby) {
    return fault(
      'database',
      'default_transaction_read_only is on for the server, the database or its user.',
      'The service refuses to start.',
      'Turn it off: alter database … set default_transaction_read_only = off.',
    )
  }
  return fault(
    'database',
    'The server is a standby, which is read-only.',
    'No try can be spent, so every authorization fails.',
    'Point DATABASE_URL to the primary, or name all servers in it and add ' +
      'target_session_attrs=read-write; or promote this one.',
  )
}

/** A spent try must survive a crash; otherwise it can be guessed again. */
function durabilityFinding(facts: DatabaseFacts): Finding {
  const off = [
    ...(facts.fsync === 'off' ? ['fsync'] : []),
    ...(facts.fullPageWrites === 'off' ? ['full_page_writes'] : []),
    ...(facts.synchronousCommit === 'off' ? ['synchronous_commit'] : []),
  ]
  if (off.length === 0) return good('durability', 'Committed data survives a crash.')
  return fault(
    'durability',
    `The server runs with ${off.join(' and ')} off.`,
    'A crash restores spent PIN tries, and loses recorded disclosures.',
    `Turn ${off.join(' and ')} on: alter system set ${off[0]} = on; select pg_reload_conf().`,
  )
}

/** Acknowledged commits must be on the server that takes over. */
function standbyFinding({ synchronousCommit, synchronousStandbys }: DatabaseFacts): Finding {
  const isWaitedFor = synchronousStandbys !== '' && synchronousCommit !== 'local'
  if (isWaitedFor) {
    return good('standby', 'Committed data is on a standby before it is acknowledged.')
  }
  return warning(
    'standby',
    'DATABASE_URL names several servers, but no commit waits for a standby.',
    'After a failover, the new primary lacks the last acknowledged changes: spent tries, ' +
      'changed PINs.',
    'Set synchronous_standby_names on each server, and leave synchronous_commit at on.',
  )
}

const skewMostMs = 5_000

/** Compares the database's clock with this machine's, before and after the query. */
function clockFinding(database: Date, before: Date, after: Date): Finding {
  const aheadMs = database.getTime() - after.getTime()
  const behindMs = before.getTime() - database.getTime()
  const skewMs = Math.max(aheadMs, behindMs, 0)
  if (skewMs <= skewMostMs)
    return good('clock', 'The clocks of this machine and the database agree.')
  const seconds = Math.round(skewMs / 1_000)
  return fault(
    'clock',
    `This machine's clock is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the database's.`,
    'Tokens, assertions and sealed PINs have times: valid ones are rejected, and expired ones ' +
      'accepted.',
    'Synchronize both machines with a time server (timedatectl set-ntp true), then check again.',
  )
}
