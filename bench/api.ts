/**
 * Requests per second of the public listener on a PostgreSQL server, each beside a bare `node:http`
 * server with one prepared statement on the same database, in the same run: `npm run bench:api`.
 */
import { setTimeout as wait } from 'node:timers/promises'
import autocannon from 'autocannon'
import {
  type Bench,
  createCards,
  freePort,
  headersFor,
  median,
  newCard,
  runBench,
} from './support.ts'

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

/** The bare server, on the service's database. */
async function startBaseline(bench: Bench): Promise<string> {
  const port = await freePort()
  bench.startProgram('baseline-server.ts', [bench.databaseUrl, String(port)])
  const url = `http://127.0.0.1:${port}`
  await untilAnswering(`${url}/`)
  return url
}

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

await runBench(async (bench) => {
  const service = await bench.startService()
  const baseline = await startBaseline(bench)
  const { 'content-type': _, ...headers } = await headersFor(service)
  const publicTokens = await createCards(service.base, await headersFor(service), cardCount)
  const { baseUrl, processorPath } = service.sandbox
  const rows = []
  for (const scenario of scenariosOf(`/thr/${processorPath}`)) {
    rows.push(await compare(scenario, { product: baseUrl, baseline }, publicTokens, headers))
  }
  console.table(rows)
})
