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
const hangMs = 2_200
const otherPerSecond = 25

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

/** Sends a purchase of a card, and resolves with the milliseconds until its answer. */
function authorize(
  { privateUrl }: BenchService,
  headers: Readonly<Record<string, string>>,
  publicToken: string,
): Promise<number> {
  const purchase = { publicToken, entryMode: 'ecommerce', reference: 'BENCH' }
  const body = JSON.stringify({ ...purchase, amount: 1_234, currency: 'EUR' })
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(`${privateUrl}/network/authorizations`, { method: 'POST', agent, headers })
    sent.once('error', reject)
    sent.once('response', async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      if (!text.includes('"approved":true')) declinedCount += 1
      if (response.statusCode === 200) resolve(performance.now() - startedMs)
      else reject(new Error(text))
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
): Promise<number[]> {
  const sent: Promise<number>[] = []
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
  const [p50, p99] = [percentile(figures, 0.5), percentile(figures, 0.99)]
  console.log(`${name}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`)
}

/** The seconds and the number of the requests to clients, as the service counts them. */
async function readAsking({ privateUrl, sandbox }: BenchService): Promise<[number, number]> {
  const headers = await headersFor({ sandbox }, sandbox.admin)
  const text = await (await fetch(`${privateUrl}/metrics`, { headers })).text()
  const read = (name: string) =>
    Number(new RegExp(`^${name}{purpose="authorize"} (.+)$`, 'm').exec(text)?.[1] ?? 0)
  return [read('pinfold_decision_seconds_sum'), read('pinfold_decision_seconds_count')]
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

/** What the same authorizations need more if a client decides them. */
async function compareWithAndWithout(
  service: BenchService,
  deciding: Tenant,
  other: Tenant,
): Promise<void> {
  for (const tenant of [deciding, other]) await measureAt(service, tenant, perSecond, 5)
  const differences: { p50: number; p99: number }[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const without = await measureAt(service, other, perSecond, seconds)
    const [secondsBefore, countBefore] = await readAsking(service)
    const asked = await measureAt(service, deciding, perSecond, seconds)
    const [secondsAfter, countAfter] = await readAsking(service)
    const askingMs = ((secondsAfter - secondsBefore) * 1_000) / (countAfter - countBefore)
    show(`round ${round}, nobody asked`, without)
    show(`round ${round}, asked (${askingMs.toFixed(2)} ms of it at the client)`, asked)
    differences.push({
      p50: percentile(asked, 0.5) - percentile(without, 0.5) - askingMs,
      p99: percentile(asked, 0.99) - percentile(without, 0.99) - askingMs,
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
    rules: { judgeAddress, resolve: async () => ['127.0.0.1'], httpsOnly: false },
    signer: { signDecision: async (_clientId, id) => ({ 'webhook-id': id }) },
    isSandbox: true,
    observe: {
      asked: () => undefined,
      answeredLate: () => undefined,
      breakerChanged: () => undefined,
    },
  })
  const timeoutMs = 500
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
      asker.ask(someEndpoint(settings), asked).then(({ durationMs, error }) => {
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

/** Another client, alone and beside one whose requests are answered at once, or hang. */
async function measureBulkhead(
  service: BenchService,
  hanging: Tenant,
  other: Tenant,
  url: string,
): Promise<void> {
  // A little less, so that none is beyond the bound.
  const rate = Math.floor((hangingCount * 960) / hangMs)
  show('another client, alone', await measureAt(service, other, otherPerSecond, seconds))
  const figures: Record<string, number> = {}
  for (const [name, address] of [
    ['answered at once', `${url}?after=0`],
    ['hanging', `${url}?after=${hangMs}`],
  ] as const) {
    await letDecide(service, hanging, address)
    const beside = measureAt(service, hanging, rate, seconds + 10)
    await wait(5_000)
    const measured = await measureAt(service, other, otherPerSecond, seconds)
    await beside
    show(`another client, beside ${rate} a second ${name}`, measured)
    figures[name] = percentile(measured, 0.99)
  }
  const ratio = (figures.hanging ?? 0) / (figures['answered at once'] ?? 1)
  console.log(`p99 beside hanging ones: ${ratio.toFixed(2)} times that beside answered ones`)
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
  await measureBulkhead(service, deciding, other, url)
  console.log(`answers that approved nothing: ${declinedCount}`)
})
