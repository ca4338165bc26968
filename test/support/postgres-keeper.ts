/**
 * A process of its own that keeps one PostgreSQL server for as long as its standard input is open.
 * Whoever started it may end in any way, `kill -9` included: the pipe closes, the server stops and
 * its files go. Prints one line of JSON: `{url, pid}`, `{leftOut}` with the reason, or `{failure}`.
 * With `--standby-of=URL` it is a copy of another server that follows it; `--port=N` is where that
 * listens.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs, promisify } from 'node:util'
import { chooseRoot } from './folders.ts'
import {
  findDebianPrograms,
  findPostgresPrograms,
  type PostgresPrograms,
  type RunAs,
  reachableTemporaryFolder,
  unprivilegedUser,
} from './postgres-binaries.ts'

const startTries = 3
const maxConnections = 200
const keptLogLines = 40

/** Nothing more from outside: a developer's `PGDATA` or locale must not reach the server. */
const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }

type Cluster = { programs: PostgresPrograms; folder: string; runAs: RunAs }

const { values: asked } = parseArgs({
  options: {
    debian: { type: 'boolean' },
    fsync: { type: 'boolean' },
    port: { type: 'string' },
    settings: { type: 'string' },
    'standby-of': { type: 'string' },
  },
})
const standbyOf = asked['standby-of']

const keep = async (orphaned: AbortSignal): Promise<void> => {
  const runAs = await unprivilegedUser()
  const find = asked.debian ? findDebianPrograms : findPostgresPrograms
  const programs = await find(runAs)
  if ('leftOut' in programs) return answer(programs)
  const root = asked.fsync ? undefined : await chooseRoot()
  const parent = await reachableTemporaryFolder(runAs, root)
  const folder = await mkdtemp(join(parent, 'pinfold-postgres-run-'))
  const cluster = { programs, folder, runAs }
  try {
    if (runAs) await chown(folder, runAs.uid, runAs.gid)
    const password = await (standbyOf ? copy : initialise)(cluster, orphaned)
    const { server, port } = await start(cluster, orphaned)
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    answer({ url, pid: server.pid ?? 0 })
    await once(server, 'exit')
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

const answer = (
  line: { url: string; pid: number } | { leftOut: string } | { failure: string },
): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Copies a server that runs, to follow it, and answers the superuser's password. */
const copy = async (
  { folder, programs, runAs }: Cluster,
  orphaned: AbortSignal,
): Promise<string> => {
  const program = join(dirname(programs.postgres), 'pg_basebackup')
  const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync']
  await promisify(execFile)(
    program,
    [`--pgdata=${join(folder, 'data')}`, `--dbname=${standbyOf}`, ...options],
    { ...runAs, env, cwd: folder, signal: orphaned, killSignal: 'SIGQUIT' },
  )
  return decodeURIComponent(new URL(standbyOf ?? '').password)
}

/** Makes the cluster and answers the superuser's password. */
const initialise = async (cluster: Cluster, orphaned: AbortSignal): Promise<string> => {
  const { programs, folder, runAs } = cluster
  const password = randomBytes(18).toString('base64url')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (runAs) await chown(passwordFile, runAs.uid, runAs.gid)
  await promisify(execFile)(
    programs.initdb,
    [
      `--pgdata=${join(folder, 'data')}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { ...runAs, env, cwd: folder, signal: orphaned, killSignal: 'SIGQUIT' },
  )
  return password
}

/** Another process may take the free port before the server does: then the next one. */
const start = async (
  cluster: Cluster,
  orphaned: AbortSignal,
): Promise<{ server: ChildProcess; port: number }> => {
  let log = ''
  for (let tries = 0; tries < startTries; tries++) {
    const port = asked.port === undefined ? await freePort() : Number(asked.port)
    const server = launch(cluster, port, orphaned)
    const started = await reportsReady(server)
    if (started === true) return { server, port }
    log = started
  }
  throw new Error(`PostgreSQL did not start:\n${log}`)
}

const launch = (
  { programs, folder, runAs }: Cluster,
  port: number,
  orphaned: AbortSignal,
): ChildProcess => {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: maxConnections,
    fsync: asked.fsync ? 'on' : 'off',
    full_page_writes: asked.fsync ? 'on' : 'off',
    autovacuum_naptime: '10min',
    // It is stopped without ceremony: what its processes share goes with its folder.
    dynamic_shared_memory_type: 'mmap',
    // A standby whose primary has started anew asks it again soon, and what waits for it goes on.
    wal_retrieve_retry_interval: '200ms',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(JSON.parse(asked.settings ?? '{}') as Readonly<Record<string, string>>),
  }
  const server = spawn(
    programs.postgres,
    [
      '-D',
      join(folder, 'data'),
      ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`]),
    ],
    { ...runAs, env, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  // Immediate shutdown: nothing in the cluster is worth a checkpoint. A test may have stopped it.
  const quit = (): boolean => server.kill('SIGQUIT') && server.kill('SIGCONT')
  if (orphaned.aborted) quit()
  else orphaned.addEventListener('abort', quit)
  return server
}

/** `true` once it accepts connections, else the last lines of its log when it has ended. */
const reportsReady = async (server: ChildProcess): Promise<true | string> => {
  const log: string[] = []
  return new Promise((resolve) => {
    if (!server.stderr) throw new Error('the server’s log is not read')
    // Read to the end: a full pipe would stop the server.
    createInterface(server.stderr).on('line', (line) => {
      if (/database system is ready to accept (?:read-only )?connections$/.test(line)) resolve(true)
      log.push(line)
      if (log.length > keptLogLines) log.shift()
    })
    server.once('exit', () => resolve(log.join('\n')))
    server.once('error', (error) => resolve(error.message))
  })
}

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

const orphaned = new AbortController()
process.stdin.resume().once('close', () => orphaned.abort())
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => orphaned.abort())
}
try {
  await keep(orphaned.signal)
} catch (error) {
  answer({ failure: String(error) })
}
process.exit()
