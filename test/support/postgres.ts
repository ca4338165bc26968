/**
 * A real PostgreSQL server for tests: one for the whole run where `postgres-global-setup.ts`
 * started it, otherwise one for this process. `TEST_POSTGRES_URL` names an existing one (a
 * superuser's URL).
 *
 * ```ts
 * const postgres = await openPostgres()
 * test('…', { skip: postgres.leftOut }, async (t) => {
 *   const database = await postgres.createDatabase({ template: await postgres.template('schema', migrateAt) })
 *   t.after(database.close)
 * ```
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { openCitus } from './citus.ts'
import { administer, onDatabase, type TestDatabase, type TestPostgres } from './test-databases.ts'

export type PostgresOptions = {
  /** Survive a power cut, at a price in speed. A server of its own, never the shared one. */
  fsync?: boolean
  /**
   * Debian's, beside which lie `pg_dump` and `pg_restore` of its version. A server of its own, too.
   */
  debian?: boolean
  /**
   * A copy of another server of Debian's, which follows it: the URL of that one, and where the copy
   * listens.
   */
  standbyOf?: { url: string; port?: number }
  /** Of the server, by their names. A server of its own, too. */
  settings?: Readonly<Record<string, string>>
}

/**
 * The run's server, or a new one. `TEST_POSTGRES=required` turns a missing one into an error, and
 * `TEST_SERVER=cluster` has a cluster in its place.
 */
export const openPostgres = async (options: PostgresOptions = {}): Promise<TestPostgres> => {
  const { TEST_POSTGRES_URL: url, TEST_POSTGRES_LEFT_OUT: reason } = process.env
  const { debian, fsync, settings, standbyOf } = options
  const isShared = !fsync && !debian && !standbyOf && !settings
  if (isShared && process.env.TEST_SERVER === 'cluster') return openCitus()
  if (isShared && reason) return withoutServer(reason)
  if (isShared && url) return withServer({ url }, async () => {})
  return startPostgres(options)
}

/** Starts a server, or finds one, for every process that this one starts afterwards. */
export const sharePostgres = async (): Promise<TestPostgres> => {
  const postgres = await openPostgres()
  if (postgres.url) process.env.TEST_POSTGRES_URL = postgres.url
  if (postgres.leftOut) process.env.TEST_POSTGRES_LEFT_OUT = postgres.leftOut
  return postgres
}

type KeeperAnswer = { url: string; pid: number } | { leftOut: string } | { failure: string }

const startPostgres = async (options: PostgresOptions): Promise<TestPostgres> => {
  const keeperFile = fileURLToPath(new URL('postgres-keeper.ts', import.meta.url))
  // A group of its own, so that Ctrl-C reaches us first and the keeper cleans up in peace.
  const keeper = spawn(process.execPath, [keeperFile, ...composeArguments(options)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  const answer = await firstLine(keeper.stdout)
  if ('failure' in answer) throw new Error(answer.failure)
  if ('leftOut' in answer) return withoutServer(`PostgreSQL leg left out: ${answer.leftOut}`)
  letProcessEnd(keeper)
  return withServer(answer, async () => {
    keeper.ref()
    keeper.stdin.end()
    if (keeper.exitCode === null) await once(keeper, 'exit')
  })
}

const composeArguments = ({ debian, fsync, settings, standbyOf }: PostgresOptions): string[] => [
  ...(fsync ? ['--fsync'] : []),
  ...(debian || standbyOf ? ['--debian'] : []),
  ...(standbyOf ? [`--standby-of=${standbyOf.url}`] : []),
  ...(standbyOf?.port ? [`--port=${standbyOf.port}`] : []),
  ...(settings ? [`--settings=${JSON.stringify(settings)}`] : []),
]

const firstLine = async (stdout: Readable): Promise<KeeperAnswer> => {
  for await (const line of createInterface(stdout)) return JSON.parse(line)
  return { failure: 'PostgreSQL’s keeper ended without an answer' }
}

/** A test that forgets to stop its server still ends, and with it the server. */
const letProcessEnd = (keeper: ChildProcessByStdio<Writable, Readable, null>): void => {
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stdout]) if (pipe instanceof Socket) pipe.unref()
}

const withoutServer = (leftOut: string): TestPostgres => {
  if (process.env.TEST_POSTGRES === 'required') throw new Error(leftOut)
  const refuse = async (): Promise<never> => {
    throw new Error(leftOut)
  }
  return {
    leftOut,
    url: undefined,
    isCluster: false,
    pid: undefined,
    createDatabase: refuse,
    template: refuse,
    stop: async () => {},
  }
}

const withServer = (
  { pid, url }: { url: string; pid?: number },
  stop: () => Promise<void>,
): TestPostgres => ({
  leftOut: false,
  url,
  isCluster: false,
  pid,
  createDatabase: ({ template } = {}) => createDatabase(url, template ?? 'template1'),
  template: (key, prepare) => prepareTemplate(url, key, prepare),
  stop,
})

const createDatabase = async (url: string, template: string): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`
  // File by file: page by page, through the log, costs twice the processor.
  const create = `create database ${name} template "${template}" strategy file_copy`
  await administer(url, (client) => client.query(create))
  return {
    url: onDatabase(url, name),
    name,
    close: async () => {
      await administer(url, (client) =>
        client.query(`drop database if exists ${name} with (force)`),
      )
    },
  }
}

const prepareTemplate = async (
  url: string,
  key: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> => {
  const name = `template_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
  await administer(url, async (client) => {
    // Held by this session: the other test processes wait here until the template is complete.
    await client.query('select pg_advisory_lock(hashtext($1))', [name])
    const found = await client.query('select from pg_database where datname = $1', [name])
    if (found.rowCount === 1) return
    const draft = `${name}_draft`
    await client.query(`drop database if exists ${draft} with (force)`)
    await client.query(`create database ${draft}`)
    await prepare(onDatabase(url, draft))
    await client.query(`alter database ${draft} with allow_connections false`)
    await client.query(`alter database ${draft} rename to ${name}`)
  })
  return name
}
