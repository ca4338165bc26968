/**
 * A real PostgreSQL server for tests: one for the whole run where `postgres-global-setup.ts` started
 * it, otherwise one for this process. `TEST_POSTGRES_URL` names an existing one (a superuser's URL).
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
import pg from 'pg'

export type TestDatabase = {
  /** What `DATABASE_URL` would be. */
  url: string
  name: string
  /** Ends every session on it and drops it. */
  close: () => Promise<void>
}

export type TestPostgres = {
  /** For `test(title, { skip: postgres.leftOut }, …)`: `false`, or why there is no server. */
  leftOut: string | false
  /** The superuser's URL; unset where there is no server. */
  url: string | undefined
  /** A database of its own, empty or a copy of a template. */
  createDatabase: (options?: { template?: string }) => Promise<TestDatabase>
  /**
   * The name of a template database, prepared once per server whichever test process asks first.
   * `key` tells templates apart; `prepare` gets the URL and leaves no connection open.
   */
  template: (key: string, prepare: (url: string) => Promise<void>) => Promise<string>
  /** Stops the server if this process started it. A test that forgets leaves nothing behind. */
  stop: () => Promise<void>
}

export type PostgresOptions = {
  /** Survive a power cut, at a price in speed. A server of its own, never the shared one. */
  fsync?: boolean
  /** Debian's, beside which lie `pg_dump` and `pg_restore` of its version. A server of its own, too. */
  debian?: boolean
}

/** The run's server, or a new one. `TEST_POSTGRES=required` turns a missing one into an error. */
export const openPostgres = async (options: PostgresOptions = {}): Promise<TestPostgres> => {
  const { TEST_POSTGRES_URL: url, TEST_POSTGRES_LEFT_OUT: reason } = process.env
  const isShared = options.fsync !== true && options.debian !== true
  if (isShared && reason) return withoutServer(reason)
  if (isShared && url) return withServer(url, async () => {})
  return startPostgres(options)
}

/** Starts a server, or finds one, for every process that this one starts afterwards. */
export const sharePostgres = async (): Promise<TestPostgres> => {
  const postgres = await openPostgres()
  if (postgres.url) process.env.TEST_POSTGRES_URL = postgres.url
  if (postgres.leftOut) process.env.TEST_POSTGRES_LEFT_OUT = postgres.leftOut
  return postgres
}

type KeeperAnswer = { url: string } | { leftOut: string } | { failure: string }

const startPostgres = async ({
  debian = false,
  fsync = false,
}: PostgresOptions): Promise<TestPostgres> => {
  const keeperFile = fileURLToPath(new URL('postgres-keeper.ts', import.meta.url))
  // A group of its own, so that Ctrl-C reaches us first and the keeper cleans up in peace.
  const keeper = spawn(
    process.execPath,
    [keeperFile, ...(fsync ? ['--fsync'] : []), ...(debian ? ['--debian'] : [])],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    },
  )
  const answer = await firstLine(keeper.stdout)
  if ('failure' in answer) throw new Error(answer.failure)
  if ('leftOut' in answer) return withoutServer(`PostgreSQL leg left out: ${answer.leftOut}`)
  letProcessEnd(keeper)
  return withServer(answer.url, async () => {
    keeper.ref()
    keeper.stdin.end()
    if (keeper.exitCode === null) await once(keeper, 'exit')
  })
}

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
    createDatabase: refuse,
    template: refuse,
    stop: async () => {},
  }
}

const withServer = (url: string, stop: () => Promise<void>): TestPostgres => ({
  leftOut: false,
  url,
  createDatabase: ({ template } = {}) => createDatabase(url, template ?? 'template1'),
  template: (key, prepare) => prepareTemplate(url, key, prepare),
  stop,
})

const createDatabase = async (url: string, template: string): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`
  await administer(url, (client) => client.query(`create database ${name} template "${template}"`))
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

/** On a connection of its own, so that no idle one keeps a test process alive. */
const administer = async (
  url: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

const onDatabase = (url: string, name: string): string => {
  const database = new URL(url)
  database.pathname = `/${name}`
  return database.href
}
