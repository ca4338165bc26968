/**
 * What a client waits while the service does a mix of everything, at half of what it can carry:
 * `npm run bench -- mixed`. First as many calls as 32 callers get answered one after the other,
 * which is the capacity of the mix. Then half of that, each call sent at an instant that was
 * planned beforehand, whether or not the one before it was answered; how long it took is counted
 * from that instant, so that a stall counts for all calls that it kept waiting.
 *
 * `--seconds 60` makes the second part longer, `--capacity-seconds` the first, and `--rate 500`
 * leaves the first part out. Variables of the service (`PROCESSES=2`) are handed on. Fails where a
 * call does.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { type Card, composeRequest, issueCards } from './network.ts'
import { type BenchService, headersFor, newCard, runBench } from './support.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    'capacity-seconds': { type: 'string', default: '8' },
    rate: { type: 'string' },
  },
})

const callers = 32
const warmUpSeconds = 3
/** More than are in use at half of the capacity, so that no call waits here for a connection. */
const connections = 256
/** Many, so that few calls affect the same card. */
const cardCount = 400

/** Of a hundred calls. */
const mix = {
  'PIN or CVV status': 80,
  'page of 100 cards': 1,
  authorization: 10,
  'set or unblock PIN': 5,
  'Create Card': 4,
} as const
type Kind = keyof typeof mix

const reads: readonly Kind[] = ['PIN or CVV status', 'page of 100 cards']
const changes: readonly Kind[] = ['authorization', 'set or unblock PIN', 'Create Card']

interface Call {
  readonly kind: Kind
  readonly pool: Pool
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The outcome of a call. */
interface Outcome {
  readonly kind: Kind
  /** From the planned instant. */
  readonly tookMs: number
  /** From the planned instant until it was sent. */
  readonly lateMs: number
  /** A description of a failed call; null after success. */
  readonly fault: string | null
}

/** Distributes the kinds evenly over the hundred. */
function spreadKinds(): readonly Kind[] {
  const kinds = Object.entries(mix) as [Kind, number][]
  return kinds
    .flatMap(([kind, count]) =>
      Array.from({ length: count }, (_, at) => ({ kind, position: (at + 0.5) / count })),
    )
    .toSorted((a, b) => a.position - b.position)
    .map(({ kind }) => kind)
}

/** Plans successive calls. */
async function planCalls(service: BenchService, pools: Record<'public' | 'private', Pool>) {
  const cards = await issueCards(service, cardCount)
  const bodies = cards.map((card) => composeRequest(service, card))
  const client = await headersFor(service)
  const { 'content-type': _, ...bodiless } = client
  const network = await headersFor(service, service.sandbox.network)
  const base = `/thr/${service.sandbox.processorPath}`
  const get = { pool: pools.public, method: 'GET', headers: bodiless } as const
  const post = { pool: pools.public, method: 'POST', headers: client } as const
  const callsByKind: Record<Kind, (card: Card, number: number) => Omit<Call, 'kind'>> = {
    'PIN or CVV status': ({ publicToken }, number) => {
      const of = number % 2 === 0 ? 'pin' : 'cvv'
      return { ...get, path: `${base}/card-${of}/${publicToken}/${of}/status` }
    },
    'page of 100 cards': () => ({ ...get, path: `${base}/cards` }),
    authorization: (_card, number) => ({
      pool: pools.private,
      method: 'POST',
      path: '/network/authorizations',
      headers: network,
      body: bodies[number % bodies.length] ?? '',
    }),
    'set or unblock PIN': ({ pin, publicToken }, number) => {
      const path = `${base}/card-pin/${publicToken}/pin`
      // The same PIN again, so that a concurrent authorization is right before and after.
      if (number % 2 === 0) return { ...post, path, body: JSON.stringify({ pin }) }
      return { ...post, headers: bodiless, path: `${path}/unblock` }
    },
    'Create Card': () => ({ ...post, path: `${base}/cards`, body: newCard }),
  }
  const order = spreadKinds()
  const counts: Partial<Record<Kind, number>> = {}
  let planned = 0
  return (): Call => {
    const kind = order[planned % order.length] ?? 'PIN or CVV status'
    planned += 1
    const number = counts[kind] ?? 0
    counts[kind] = number + 1
    const card = cards[number % cards.length]
    if (!card) throw new Error('There is no card.')
    return { kind, ...callsByKind[kind](card, number) }
  }
}

/** Sends a call. @param plannedMs its planned instant. */
async function send(
  { body, headers, kind, method, path, pool }: Call,
  plannedMs = performance.now(),
): Promise<Outcome> {
  const lateMs = performance.now() - plannedMs
  const fault = await pool
    .request({ method, path, headers, ...(body !== undefined && { body }) })
    .then(async (answer) => findFault(kind, answer.statusCode, await answer.body.text()))
    .catch((error: unknown) => String(error))
  return { kind, lateMs, tookMs: performance.now() - plannedMs, fault }
}

/** A declined right PIN counts as a failed call. */
function findFault(kind: Kind, status: number, text: string): string | null {
  if (status >= 300) return `${kind}: ${status} ${text}`
  const isDeclined = kind === 'authorization' && JSON.parse(text).responseCode !== '00'
  return isDeclined ? `${kind}: ${text}` : null
}

/**
 * Sends calls of several callers in sequence, for a fixed time.
 * @returns the answers per second.
 */
async function findCapacity(next: () => Call, seconds: number): Promise<number> {
  const startMs = performance.now() + warmUpSeconds * 1_000
  const endMs = startMs + seconds * 1_000
  const faults: string[] = []
  let answered = 0
  const call = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const { fault } = await send(next())
      if (fault !== null) faults.push(fault)
      const now = performance.now()
      if (now >= startMs && now < endMs) answered += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  if (faults.length > 0) throw new Error(`${faults.length} calls failed, the first: ${faults[0]}`)
  return answered / seconds
}

/** Sends calls at a fixed rate, independent of the answers. */
async function sendAtRate(
  next: () => Call,
  perSecond: number,
  seconds: number,
): Promise<readonly Outcome[]> {
  const startMs = performance.now()
  const outcomes: Promise<Outcome>[] = []
  for (let number = 0; number < perSecond * seconds; ) {
    const due = ((performance.now() - startMs) / 1_000) * perSecond
    for (; number < due && number < perSecond * seconds; number += 1) {
      outcomes.push(send(next(), startMs + (number / perSecond) * 1_000))
    }
    await wait(1)
  }
  return Promise.all(outcomes)
}

function summarize(name: string, kinds: readonly Kind[], all: readonly Outcome[]) {
  const outcomes = all.filter(({ kind }) => kinds.includes(kind))
  const took = outcomes.map(({ tookMs }) => tookMs)
  return {
    calls: name,
    count: outcomes.length,
    'p50 ms': quantile(took, 0.5),
    'p99 ms': quantile(took, 0.99),
    'max ms': quantile(took, 1),
    errors: outcomes.filter(({ fault }) => fault !== null).length,
  }
}

/** Rounded to a tenth. */
function quantile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((a, b) => a - b)
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share))
  return Math.round((sorted[at] ?? 0) * 10) / 10
}

await runBench(async (bench) => {
  const service = await bench.startService()
  const pools = {
    public: new Pool(service.sandbox.baseUrl, { connections }),
    private: new Pool(service.privateUrl, { connections }),
  }
  try {
    const next = await planCalls(service, pools)
    // With a given rate, it only warms up.
    const capacity = await findCapacity(
      next,
      options.rate ? 0 : Number(options['capacity-seconds']),
    )
    if (!options.rate) console.log(`capacity of the mix: ${Math.round(capacity)} calls a second`)
    const perSecond = options.rate ? Number(options.rate) : Math.round(capacity / 2)
    const outcomes = await sendAtRate(next, perSecond, Number(options.seconds))
    const late = outcomes.map(({ lateMs }) => lateMs)
    console.log(
      `sent: ${perSecond} a second, p99 ${quantile(late, 0.99)} ms and at most ` +
        `${quantile(late, 1)} ms late`,
    )
    console.table([
      summarize('reads', reads, outcomes),
      summarize('changes', changes, outcomes),
      ...[...reads, ...changes].map((kind) => summarize(`  ${kind}`, [kind], outcomes)),
    ])
    const faults = outcomes.filter(({ fault }) => fault !== null)
    if (faults.length > 0) {
      console.error(`${faults.length} calls failed, the first: ${faults[0]?.fault}`)
      process.exitCode = 1
    }
  } finally {
    await Promise.all([pools.public.close(), pools.private.close()])
  }
})
