/**
 * Shared parts of the benchmarks: a service in its own process on a PostgreSQL server, a token,
 * cards.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { SandboxFile } from '../src/sandbox/sandbox-file.ts'
import type { Credentials } from '../src/sandbox/seed.ts'
import { prepareCluster } from '../src/storage/engine/cluster.ts'
import { migrate } from '../src/storage/engine/migrate.ts'
import { openPostgres as openPool } from '../src/storage/engine/postgres.ts'
import { openPostgres, type PostgresOptions } from '../test/support/postgres.ts'
import type { TestPostgres } from '../test/support/test-databases.ts'

export interface BenchService {
  readonly child: ChildProcess
  readonly sandbox: SandboxFile
  /** `http://127.0.0.1:8080/thr/processor` */
  readonly base: string
  readonly privateUrl: string
  /** Returns everything that it printed so far. */
  log(): string
}

/** The environment of a benchmark: one database, and processes that are stopped with it. */
export interface Bench {
  readonly databaseUrl: string
  /** The data directory of its services, with the master key. */
  readonly dataDir: string
  /** Opens a connection to the database, which is closed with the benchmark, after a fault too. */
  connect(): Promise<pg.Client>
  /** Starts a process of the service and waits until it is ready. */
  startService(env?: Readonly<Record<string, string>>): Promise<BenchService>
  /** Starts a program of this folder with Node. */
  startProgram(file: string, values: readonly string[]): ChildProcess
}

/** Runs a benchmark and removes everything afterwards. */
export async function runBench(
  work: (bench: Bench) => Promise<void>,
  server: PostgresOptions = {},
): Promise<void> {
  const postgres = await openPostgres(server)
  if (postgres.leftOut) throw new Error(postgres.leftOut)
  try {
    await runOnServer(postgres, work)
  } finally {
    await postgres.stop()
  }
}

/** Runs a benchmark on its own database on a server. */
export async function runOnServer(
  postgres: TestPostgres,
  work: (bench: Bench) => Promise<void>,
): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-bench-'))
  const database = await postgres.createDatabase()
  // With TEST_SERVER=cluster and TEST_CITUS_URL: beside one server, on the same machine.
  if (postgres.isCluster) await spread(database.url)
  const children: ChildProcess[] = []
  const clients: pg.Client[] = []
  const run = (file: string, values: readonly string[], env: Record<string, string> = {}) => {
    const path = fileURLToPath(new URL(file, import.meta.url))
    const child = spawn(process.execPath, [path, ...values], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    return child
  }
  try {
    await work({
      databaseUrl: database.url,
      dataDir,
      startProgram: run,
      async connect() {
        const client = new pg.Client({ connectionString: database.url })
        clients.push(client)
        await client.connect()
        return client
      },
      async startService(env = {}) {
        const [port, privatePort] = await freePorts(2)
        const child = run('../src/main.ts', [], {
          DATABASE_URL: database.url,
          SANDBOX: 'true',
          DATA_DIR: dataDir,
          PORT: String(port),
          PRIVATE_PORT: String(privatePort),
          RATE_LIMIT: 'off',
          LOG_LEVEL: 'warn',
          // The same cards in each run: some random cards contain the digits of a PIN that is set.
          SANDBOX_SEED: 'bench',
          ...env,
        })
        const log = await untilPrinted(child, 'Pinfold is ready')
        const sandbox: SandboxFile = JSON.parse(
          await readFile(join(dataDir, 'sandbox.json'), 'utf8'),
        )
        const base = `${sandbox.baseUrl}/thr/${sandbox.processorPath}`
        return { child, sandbox, base, privateUrl: sandbox.privateUrl, log }
      },
    })
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(children.map(untilEnded))
    // The end of the database would break an open connection, and its error would hide a fault.
    await Promise.all(clients.map((client) => client.end()))
    await database.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Waits for the end of a process, which may have ended already, on its own or by a signal. */
const untilEnded = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

async function spread(connectionString: string): Promise<void> {
  const database = openPool({ connectionString, poolSize: 1, onIdleError: () => undefined })
  await migrate(database, new URL('../database/migrations/', import.meta.url))
  await prepareCluster(database)
  await database.close()
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port ?? 0
}

/** Ports that are free now, each another one: all are held until the last is found. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) server.close()
  await Promise.all(servers.map((server) => once(server, 'close')))
  return ports
}

/** Waits for a text on standard output, and keeps reading it. */
async function untilPrinted(child: ChildProcess, text: string): Promise<() => string> {
  const { stdout } = child
  if (!stdout) throw new Error('Its standard output is not read.')
  let printed = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk
    if (printed.includes(text)) break
  }
  if (!printed.includes(text)) throw new Error(`A process ended early: ${printed}`)
  stdout.on('data', (chunk) => {
    printed += chunk
  })
  return () => printed
}

/** Returns the headers of a client's call with a body, with all of its scopes. */
export async function headersFor(
  { sandbox }: Pick<BenchService, 'sandbox'>,
  { clientId, clientSecret }: Credentials = sandbox,
): Promise<Record<string, string>> {
  const answer = await fetch(sandbox.tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
}

const order = {
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-01-02' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
}

/** The request body for a card of the demo product. */
export const newCard = JSON.stringify(order)

/** Creates cards and returns their public tokens. */
export async function createCards(
  base: string,
  headers: Readonly<Record<string, string>>,
  count: number,
  members: object = {},
): Promise<string[]> {
  const body = JSON.stringify({ ...order, ...members })
  const publicTokens: string[] = []
  while (publicTokens.length < count) {
    const answer = await fetch(`${base}/cards`, { method: 'POST', headers, body })
    const { publicToken } = (await answer.json()) as { publicToken: string }
    publicTokens.push(publicToken)
  }
  return publicTokens
}

export const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

async function untilAnswering(url: string): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const isUp = await fetch(url)
      .then((answer) => answer.ok)
      .catch(() => false)
    if (isUp) return
    await wait(100)
  }
  throw new Error(`${url} did not answer within 30 seconds.`)
}

const countedWithinMs = 300_000

/**
 * Waits until a service has counted all authorizations in the background. The newest of them may be
 * of any age.
 * @throws Error if that takes more than five minutes.
 */
export async function untilCounted(client: pg.Client): Promise<void> {
  const fromMs = performance.now()
  while (performance.now() - fromMs < countedWithinMs) {
    const { rows } = await client.query(
      `select max(decided_at) < (select max(minute) + interval '1 minute' from authorization_count)
         as "isCounted"
       from authorization_request`,
    )
    if (rows[0].isCounted) return
    await wait(1_000)
  }
  throw new Error('The authorizations were not counted within five minutes.')
}

/** Starts the bare server on the service's database. */
export async function startBaseline(bench: Bench): Promise<string> {
  const port = await freePort()
  bench.startProgram('baseline-server.ts', [bench.databaseUrl, String(port)])
  const url = `http://127.0.0.1:${port}`
  await untilAnswering(`${url}/`)
  return url
}
