/**
 * Requests per second of the public listener on a PostgreSQL server, each beside a bare `node:http`
 * server with one prepared statement on the same database, in the same run: `npm run bench:api`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import type { SandboxFile } from '../src/sandbox/sandbox-file.ts'
import { openPostgres } from '../test/support/postgres.ts'

const secondsPerRun = 5
const rounds = 3
const connections = 32

interface Scenario {
  readonly name: string
  readonly baseline: 'GET' | 'POST'
  readonly method: 'GET' | 'POST'
  path(publicToken: string): string
  readonly body?: string
}

/** Calls go round these many cards: on a single one they would only wait for each other. */
const cardCount = 64

const children: ChildProcess[] = []

const run = (file: string, values: readonly string[], env: Record<string, string> = {}): void => {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [path, ...values], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  children.push(child)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No port is free.')
  return address.port
}

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

/** Requests per second. @throws Error when any is answered with something else than 2xx. */
async function measure(
  url: string,
  paths: readonly string[],
  { body, method }: Pick<Scenario, 'method' | 'body'>,
  headers: Record<string, string>,
): Promise<number> {
  const result = await autocannon({
    url,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    requests: paths.map((path) => ({ method, path, ...(body !== undefined && { body }) })),
    connections,
    duration: secondsPerRun,
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} not 2xx`)
  return result.requests.average
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

/** Start a service and the bare server on one database. */
async function startBoth(databaseUrl: string, dataDir: string) {
  const [port, privatePort, baselinePort] = [await freePort(), await freePort(), await freePort()]
  run('../src/main.ts', [], {
    DATABASE_URL: databaseUrl,
    SANDBOX: 'true',
    DATA_DIR: dataDir,
    PORT: String(port),
    PRIVATE_PORT: String(privatePort),
    RATE_LIMIT: 'off',
    DATABASE_POOL_SIZE: '10',
    LOG_LEVEL: 'warn',
  })
  await untilAnswering(`http://127.0.0.1:${privatePort}/readyz`)
  run('baseline-server.ts', [databaseUrl, String(baselinePort)])
  await untilAnswering(`http://127.0.0.1:${baselinePort}/`)
  const sandbox: SandboxFile = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
  return { sandbox, baselineUrl: `http://127.0.0.1:${baselinePort}` }
}

async function authorize({ clientId, clientSecret, tokenEndpoint }: SandboxFile) {
  const answer = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return { authorization: `Bearer ${token}` }
}

const newCard = JSON.stringify({
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-01-02' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
})

const scenariosOf = (base: string): readonly Scenario[] => [
  {
    name: 'Get PIN status',
    baseline: 'GET',
    method: 'GET',
    path: (publicToken) => `${base}/card-pin/${publicToken}/pin/status`,
  },
  {
    name: 'Read a card',
    baseline: 'GET',
    method: 'GET',
    path: (publicToken) => `${base}/cards/${publicToken}`,
  },
  {
    name: 'Get current PIN',
    baseline: 'POST',
    method: 'GET',
    path: (publicToken) => `${base}/card-pin/${publicToken}/pin`,
  },
  {
    name: 'Set PIN',
    baseline: 'POST',
    method: 'POST',
    path: (publicToken) => `${base}/card-pin/${publicToken}/pin`,
    body: JSON.stringify({ pin: '4829' }),
  },
  {
    name: 'Create Card',
    baseline: 'POST',
    method: 'POST',
    path: () => `${base}/cards`,
    body: newCard,
  },
]

async function compare(
  scenario: Scenario,
  urls: { readonly product: string; readonly baseline: string },
  publicTokens: readonly string[],
  headers: Record<string, string>,
): Promise<Record<string, string | number>> {
  const barePaths = publicTokens.map((publicToken) => `/${publicToken}`)
  const paths = publicTokens.map(scenario.path)
  const pairs: { product: number; baseline: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const baseline = await measure(urls.baseline, barePaths, { method: scenario.baseline }, {})
    const product = await measure(urls.product, paths, scenario, headers)
    pairs.push({ product, baseline })
  }
  return {
    operation: scenario.name,
    'requests/s': Math.round(median(pairs.map(({ product }) => product))),
    'bare read or write/s': Math.round(median(pairs.map(({ baseline }) => baseline))),
    ratio: median(pairs.map(({ baseline, product }) => product / baseline)).toFixed(2),
  }
}

async function createCards(url: string, headers: Record<string, string>): Promise<string[]> {
  const publicTokens: string[] = []
  while (publicTokens.length < cardCount) {
    const created = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: newCard,
    })
    const card = (await created.json()) as { publicToken: string }
    publicTokens.push(card.publicToken)
  }
  return publicTokens
}

async function main(): Promise<void> {
  const postgres = await openPostgres()
  if (postgres.leftOut) throw new Error(postgres.leftOut)
  const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-bench-'))
  const database = await postgres.createDatabase()
  try {
    const { baselineUrl, sandbox } = await startBoth(database.url, dataDir)
    const headers = await authorize(sandbox)
    const base = `/thr/${sandbox.processorPath}`
    const publicTokens = await createCards(`${sandbox.baseUrl}${base}/cards`, headers)
    const urls = { product: sandbox.baseUrl, baseline: baselineUrl }
    const rows = []
    for (const scenario of scenariosOf(base)) {
      rows.push(await compare(scenario, urls, publicTokens, headers))
    }
    console.table(rows)
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
    await database.close()
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

await main()
