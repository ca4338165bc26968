/**
 * Measures authorizations that a client decides: the time that they need more than others at 300 a
 * second, how exact time-outs are in 2,000 requests, and what another client waits beside a
 * thousand requests of one client that hang. `npm run bench -- decisions`
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { createAsker } from '../src/operations/decisions/ask.ts'
import { createLanes } from '../src/operations/decisions/lanes.ts'
import { addressPolicy } from '../src/outbound/address-policy.ts'
import { someEndpoint, someFacts } from '../test/operations/decisions/requests.ts'
import { hang, openDecisionEndpoint } from '../test/support/decision-endpoint.ts'
import {
  type Bench,
  type BenchService,
  createCards,
  headersFor,
  median,
  runBench,
} from './support.ts'

const perSecond = 300
const seconds = 10
const rounds = 3
const timeoutsCount = 2_000
/** Of one client, as many as an endpoint may have. */
const hangingCount = 1_000
/** How long a hanging request hangs: it is answered, so that no breaker ends the measurement. */
const hangMs = 2_300
const hangingRounds = 10
const otherPerSecond = 100

/** A client with its cards. */
interface Tenant {
  readonly headers: Readonly<Record<string, string>>
  /** Of the network that authorizes with its cards. */
  readonly network: Readonly<Record<string, string>>
  readonly publicTokens: readonly string[]
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** Answers that approved nothing, where all should approve. */
let declinedCount = 0

/** An answered authorization. */
interface Answered {
  readonly ms: number
  /** Equal to the id of the authorization. */
  readonly paymentId: string
}

const toTimes = (answered: readonly Answered[]): number[] => answered.map(({ ms }) => ms)

/** Sends a purchase of a card, and resolves with its answer. */
function authorize(
  { privateUrl }: BenchService,
  headers: Readonly<Record<string, string>>,
  publicToken: string,
): Promise<Answered> {
  const purchase = { publicToken, entryMode: 'ecommerce', reference: 'BENCH' }
  const body = JSON.stringify({ ...purchase, amount: 1_234, currency: 'EUR' })
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(`${privateUrl}/network/authorizations`, { method: 'POST', agent, headers })
    sent.once('error', reject)
    sent.once('response', async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      const ms = performance.now() - startedMs
      if (response.statusCode !== 200) return reject(new Error(text))
      const { approved, paymentId = '' } = JSON.parse(text)
      if (!approved) declinedCount += 1
      resolve({ ms, paymentId })
    })
    sent.end(body)
  })
}

/** Sends authorizations at a rate, whatever their answers take. */
async function measureAt(
  service: BenchService,
  { network, publicTokens }: Tenant,
  rate: number,
  forSeconds: number,
): Promise<Answered[]> {
  const sent: Promise<Answered>[] = []
  const startedMs = performance.now()
  for (let at = 0; at < rate * forSeconds; at += 1) {
    const dueMs = startedMs + (at * 1_000) / rate
    if (performance.now() < dueMs) await wait(Math.max(0, dueMs - performance.now()))
    sent.push(authorize(service, network, publicTokens[at % publicTokens.length] ?? ''))
  }
  return Promise.all(sent)
}

const percentile = (figures: readonly number[], share: number): number => {
  const sorted = figures.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

const show = (name: string, figures: readonly number[]): void => {
  const p50 = percentile(figures, 0.5)
  const p99 = percentile(figures, 0.99)
  console.log(`${name}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`)
}

/** Reads how long the client took to answer, in milliseconds, by authorization. */
async function readAsking(
  { base }: BenchService,
  { headers }: Tenant,
  count: number,
): Promise<ReadonlyMap<string, number>> {
  const askedMs = new Map<string, number>()
  const { 'content-type': _, ...bodiless } = headers
  let next: string | undefined = `${base}/decisions?limit=100`
  while (next !== undefined && askedMs.size < count) {
    const answer: Response = await fetch(new URL(next, base), { headers: bodiless })
    if (!answer.ok) throw new Error(await answer.text())
    const page = (await answer.json()) as { authorizationId: string; durationMs: number }[]
    for (const { authorizationId, durationMs } of page) {
      askedMs.set(authorizationId, durationMs)
    }
    next = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
  }
  return askedMs
}

/** @returns the URL of an endpoint in its own process. */
async function startEndpoint(bench: Bench): Promise<string> {
  const child = bench.startProgram('decision-endpoint.ts', [])
  if (!child.stdout) throw new Error('Its output is not read.')
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return url
}

/** Registers an endpoint of a client, and puts it in force. */
async function letDecide(
  { base }: BenchService,
  { headers }: Pick<Tenant, 'headers'>,
  url: string,
): Promise<void> {
  const { 'content-type': _, ...bodiless } = headers
  const body = JSON.stringify({ url, timeoutMs: 2_500, maxInFlight: hangingCount })
  const calls = [
    () => fetch(`${base}/decision-endpoint`, { method: 'PUT', headers, body }),
    () => fetch(`${base}/decision-endpoint/activate`, { method: 'POST', headers: bodiless }),
  ]
  for (const call of calls) {
    const answer = await call()
    if (!answer.ok) throw new Error(await answer.text())
  }
  // A process takes a change within a second.
  await wait(1_500)
}

/** Measures the additional time of the same authorizations if a client decides them. */
async function compareWithAndWithout(
  service: BenchService,
  deciding: Tenant,
  other: Tenant,
): Promise<void> {
  for (const tenant of [deciding, other]) await measureAt(service, tenant, perSecond, 5)
  const differences: { p50: number; p99: number }[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const without = toTimes(await measureAt(service, other, perSecond, seconds))
    const asked = await measureAt(service, deciding, perSecond, seconds)
    const askedMs = await readAsking(service, deciding, asked.length)
    // The client's own time does not count. The record has whole milliseconds.
    const own = asked.map(({ ms, paymentId }) => ms - (askedMs.get(paymentId) ?? 0))
    show(`round ${round}, no decision`, without)
    show(`round ${round}, asked`, toTimes(asked))
    show(`round ${round}, asked, without the time of the client`, own)
    differences.push({
      p50: percentile(own, 0.5) - percentile(without, 0.5),
      p99: percentile(own, 0.99) - percentile(without, 0.99),
    })
  }
  const p50 = median(differences.map((each) => each.p50)).toFixed(2)
  const p99 = median(differences.map((each) => each.p99)).toFixed(2)
  console.log(`overhead without network: p50 ${p50} ms (aim 1), p99 ${p99} ms (aim 5)`)
}

/** How long after its deadline a request that hangs has an outcome. */
async function measureTimeouts(): Promise<void> {
  const endpoint = await openDecisionEndpoint(hang)
  const judgeAddress = addressPolicy({ allowCidrs: ['127.0.0.0/8'], ownPorts: [], ports: null })
  const asker = createAsker({
    lanes: createLanes({ judgeAddress, resolve: async () => ['127.0.0.1'], httpsOnly: false }),
    signer: { signDecision: async (_clientId, id) => ({ 'webhook-id': id }) },
    isSandbox: true,
    now: () => new Date(),
    observe: {
      answeredLate: () => undefined,
      breakerChanged: () => undefined,
      faulted: () => undefined,
    },
  })
  const timeoutMs = 500
  const noCalledAnswer = new Promise<null>(() => {})
  const asking: Promise<number>[] = []
  for (let at = 0; at < timeoutsCount; at += 1) {
    // Each breaker sees less than opens it.
    const settings = { url: endpoint.url, timeoutMs, version: 1 + (at % 200) }
    const reserved = {
      decisionId: crypto.randomUUID(),
      sequence: 1,
      hold: null,
      deadline: new Date(Date.now() + timeoutMs),
    }
    const asked = { facts: someFacts(), reserved, purpose: 'authorize' } as const
    asking.push(
      asker.ask(someEndpoint(settings), asked, noCalledAnswer).then(({ durationMs, error }) => {
        if (error !== null) throw new Error(error)
        return durationMs - timeoutMs
      }),
    )
    await wait(1_000 / perSecond)
  }
  const after = await Promise.all(asking)
  asker.close()
  await endpoint.close()
  show(`${timeoutsCount} time-outs, after the deadline`, after)
  console.log(`the latest: ${Math.max(...after).toFixed(2)} ms (aim 25)`)
}

/** The requests to clients that wait for an answer, as the service counts them. */
async function countInFlight(
  { privateUrl }: BenchService,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const text = await (await fetch(`${privateUrl}/metrics`, { headers })).text()
  return Number(/^pinfold_decision_requests_in_flight(?:{[^}]*})? (.+)$/m.exec(text)?.[1] ?? 0)
}

/**
 * Another client, alone and beside a thousand requests of one client that hang. The thousand come
 * at once, and the other client is measured while nothing else happens.
 */
async function measureBulkhead(
  service: BenchService,
  hanging: Tenant,
  other: Tenant,
): Promise<void> {
  const admin = await headersFor(service, service.sandbox.admin)
  const times = { alone: [] as number[], beside: [] as number[] }
  console.log(`${hangingRounds} times, ${hangingCount} at once that hang`)
  for (let round = 0; round < hangingRounds; round += 1) {
    times.alone.push(...toTimes(await measureAt(service, other, otherPerSecond, 1)))
    const startedMs = performance.now()
    const hung = hanging.publicTokens.map((token) => authorize(service, hanging.network, token))
    while ((await countInFlight(service, admin)) < 0.98 * hangingCount) await wait(20)
    // The first of them is answered after hangMs.
    const leftMs = hangMs - 100 - (performance.now() - startedMs)
    times.beside.push(...toTimes(await measureAt(service, other, otherPerSecond, leftMs / 1_000)))
    await Promise.all(hung)
    await wait(500)
  }
  show('another client, alone', times.alone)
  show(`another client, beside ${hangingCount} that hang`, times.beside)
  const ratio = percentile(times.beside, 0.99) / percentile(times.alone, 0.99)
  console.log(`p99 beside them: ${ratio.toFixed(2)} times that alone (aim 1.1)`)
}

await runBench(async (bench) => {
  await measureTimeouts()
  const service = await bench.startService()
  const { base, sandbox } = service
  const network = await headersFor(service, sandbox.network)
  const openTenant = async (
    credentials: typeof sandbox.otherClient,
    count: number,
    product: object,
  ): Promise<Tenant> => {
    const headers = await headersFor(service, credentials)
    return { headers, network, publicTokens: await createCards(base, headers, count, product) }
  }
  const deciding = await openTenant(sandbox, hangingCount, {})
  const other = await openTenant(sandbox.otherClient, 200, { cardProduct: 2001 })
  const url = await startEndpoint(bench)
  await letDecide(service, deciding, url)
  await compareWithAndWithout(service, deciding, other)
  await letDecide(service, other, url)
  await letDecide(service, deciding, `${url}?after=${hangMs}`)
  await measureBulkhead(service, deciding, other)
  console.log(`answers that approved nothing: ${declinedCount}`)
})
