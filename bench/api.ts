/**
 * Requests per second of the public listener on a PostgreSQL server, each beside a bare `node:http`
 * server with one prepared statement on the same database, in the same run: `npm run bench -- api`.
 *
 * `--seconds 2` makes each of the six runs of an operation shorter, `--only 'list 100'` takes
 * the operations whose name has these words in it, and `--rounds 1` measures each once.
 */
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { createCards, headersFor, median, newCard, runBench, startBaseline } from './support.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
  },
})
const secondsPerRun = Number(options.seconds)
const rounds = Number(options.rounds)
const connections = 32

interface Scenario {
  readonly name: string
  /** The operation of the bare server for comparison. */
  readonly baseline: 'read' | 'write' | 'list'
  readonly method: 'GET' | 'POST' | 'PUT'
  path(publicToken: string): string
  readonly body?: string
  /** Whether each call has its own idempotency key. */
  readonly isKeyed?: boolean
}

/** The number of cards that calls cycle through. */
const cardCount = 128

/** Returns requests per second. @throws Error for an answer other than 2xx. */
async function measure(
  url: string,
  paths: readonly string[],
  { body, isKeyed, method }: Pick<Scenario, 'body' | 'isKeyed'> & { readonly method: string },
  headers: Record<string, string>,
): Promise<number> {
  const sent = body === undefined ? headers : { ...headers, 'content-type': 'application/json' }
  let asked = 0
  // All connections share one cycle of cards, since calls on one card wait for each other.
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    asked += 1
    const path = paths[asked % paths.length] ?? ''
    if (!isKeyed) return { ...request, path }
    return { ...request, path, headers: { ...request.headers, 'idempotency-key': randomUUID() } }
  }
  const result = await autocannon({
    url,
    headers: sent,
    requests: [{ method: method as 'GET', ...(body !== undefined && { body }), setupRequest }],
    connections,
    duration: secondsPerRun,
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} not 2xx`)
  return result.requests.average
}

function listScenarios(base: string): readonly Scenario[] {
  const read = (name: string, path: Scenario['path']): Scenario => ({
    name,
    baseline: 'read',
    method: 'GET',
    path,
  })
  /** A change, without and with a key. */
  const change = (name: string, path: Scenario['path'], body?: string): readonly Scenario[] => {
    const plain = { name, baseline: 'write', method: 'POST', path } as const
    const scenario = body === undefined ? plain : { ...plain, body }
    return [scenario, { ...scenario, name: `${name}, with a key`, isKeyed: true }]
  }
  return [
    read('Get PIN status', (token) => `${base}/card-pin/${token}/pin/status`),
    read('Get CVV status', (token) => `${base}/card-cvv/${token}/cvv/status`),
    read('Read a card', (token) => `${base}/cards/${token}`),
    { name: 'List 100 cards', baseline: 'list', method: 'GET', path: () => `${base}/cards` },
    {
      name: 'Get current PIN',
      baseline: 'write',
      method: 'GET',
      path: (token) => `${base}/card-pin/${token}/pin`,
    },
    ...change('Set PIN', (token) => `${base}/card-pin/${token}/pin`, '{"pin":"4829"}'),
    ...change('Unblock PIN', (token) => `${base}/card-pin/${token}/pin/unblock`),
    ...change('Create Card', () => `${base}/cards`, newCard),
  ]
}

/** The paths of the bare server. */
const barePaths = (
  { baseline }: Scenario,
  publicTokens: readonly string[],
  clientId: string,
): readonly string[] =>
  baseline === 'list' ? [`/clients/${clientId}`] : publicTokens.map((token) => `/${token}`)

async function compare(
  scenario: Scenario,
  target: { readonly product: string; readonly baseline: string; readonly clientId: string },
  publicTokens: readonly string[],
  headers: Record<string, string>,
): Promise<Record<string, string | number>> {
  const bare = barePaths(scenario, publicTokens, target.clientId)
  const method = scenario.baseline === 'write' ? 'POST' : 'GET'
  const paths = publicTokens.map(scenario.path)
  const pairs: { product: number; baseline: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const baseline = await measure(target.baseline, bare, { method }, {})
    const product = await measure(target.product, paths, scenario, headers)
    pairs.push({ product, baseline })
  }
  return {
    operation: scenario.name,
    'requests/s': Math.round(median(pairs.map(({ product }) => product))),
    'bare server/s': Math.round(median(pairs.map(({ baseline }) => baseline))),
    ratio: median(pairs.map(({ baseline, product }) => product / baseline)).toFixed(2),
  }
}

await runBench(async (bench) => {
  const service = await bench.startService()
  const baseline = await startBaseline(bench)
  const { 'content-type': _, ...headers } = await headersFor(service)
  const publicTokens = await createCards(service.base, await headersFor(service), cardCount)
  const { baseUrl, clientId, processorPath } = service.sandbox
  const target = { product: baseUrl, baseline, clientId }
  const words = options.only.toLowerCase()
  const rows = []
  for (const scenario of listScenarios(`/thr/${processorPath}`)) {
    if (!scenario.name.toLowerCase().includes(words)) continue
    rows.push(await compare(scenario, target, publicTokens, headers))
  }
  console.table(rows)
})
