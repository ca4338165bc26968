import { countExpiries } from '../../operations/cards/expiries.ts'
import { listSilentEndpoints } from '../../operations/decisions/watched-endpoints.ts'
import { measureKeys } from '../../operations/keys/uses.ts'
import { listLinks } from '../../operations/links/links.ts'
import { findBacklog } from '../../operations/webhooks/deliveries.ts'
import { listFailingEndpoints } from '../../operations/webhooks/operator-acts.ts'
import type { Metrics, TimedRoute } from '../http/metrics.ts'

/** How long a read is cached: monitoring polls frequently, possibly from several systems. */
const goodForMs = 2_000
/** One sample per minute, for at most a day. */
const everyMs = 60_000
const samplesMost = 24 * 60

/** The maximum number of links that are read. */
const linksMost = 1_000

/** The state at an instant; calls are those of this process. */
interface Sample {
  readonly at: string
  readonly backlog: Awaited<ReturnType<typeof findBacklog>>
  readonly calls: Latency
}

/** The durations of calls in milliseconds; null without calls. */
interface Latency {
  readonly calls: number
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
}

/**
 * The source of health and figures. It reads at most every two seconds, however many callers ask.
 */
export interface Watching {
  readonly backlog: () => ReturnType<typeof findBacklog>
  readonly failingWebhooks: () => ReturnType<typeof listFailingEndpoints>
  readonly degradedEndpoints: () => ReturnType<typeof listSilentEndpoints>
  readonly keys: () => ReturnType<typeof measureKeys>
  readonly links: () => ReturnType<typeof listLinks>
  readonly expiries: () => ReturnType<typeof countExpiries>
  /** The samples in the memory of this process, oldest first. */
  readonly samples: () => readonly Sample[]
  /** Takes a sample now. */
  readonly sample: () => Promise<void>
}

interface Watched {
  /** Registers a function to call when the server closes. */
  onClose(stop: () => void): void
  readonly cards: Parameters<typeof countExpiries>[0]
  readonly keys: Parameters<typeof measureKeys>[0]
  readonly links: Parameters<typeof listLinks>[0]
  readonly metrics: Metrics
}

/**
 * Watches the facts for health and figures, and takes a sample each minute until the server closes.
 */
export function createWatching({ cards, keys, links, metrics, onClose }: Watched): Watching {
  const backlog = atMostEvery(goodForMs, () => findBacklog(cards))
  const samples: Sample[] = []
  let before: TimedRoute['within'] = []
  const sample = async () => {
    const measured = await backlog()
    const now = sumRoutes(await metrics.readTimes('this'))
    const since = now.map(
      ([seconds, requests], at) => [seconds, requests - (before[at]?.[1] ?? 0)] as const,
    )
    before = now
    samples.push({ at: new Date().toISOString(), backlog: measured, calls: computeLatency(since) })
    if (samples.length > samplesMost) samples.shift()
  }
  // Unreadable facts are missing in this sample only.
  const timer = setInterval(() => void sample().catch(() => undefined), everyMs).unref()
  onClose(() => clearInterval(timer))
  return {
    backlog,
    failingWebhooks: atMostEvery(goodForMs, () => listFailingEndpoints(cards)),
    degradedEndpoints: atMostEvery(goodForMs, () => listSilentEndpoints(cards)),
    keys: atMostEvery(goodForMs, () => measureKeys(keys)),
    links: atMostEvery(goodForMs, () => listLinks(links, '', linksMost)),
    expiries: atMostEvery(goodForMs, () => countExpiries(cards)),
    samples: () => samples,
    sample,
  }
}

/** Reads again if the last result is old; a failed read is not cached. */
function atMostEvery<Value>(goodMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let known: { readonly value: Promise<Value>; readonly untilMs: number } | null = null
  return () => {
    if (known && performance.now() < known.untilMs) return known.value
    const value = read()
    const kept = { value, untilMs: performance.now() + goodMs }
    known = kept
    value.catch(() => {
      if (known === kept) known = null
    })
    return value
  }
}

/** Sums the calls of several routes. */
const sumRoutes = (routes: readonly TimedRoute[]): TimedRoute['within'] =>
  (routes[0]?.within ?? []).map(([seconds], at) => [
    seconds,
    routes.reduce((sum, { within }) => sum + (within[at]?.[1] ?? 0), 0),
  ])

/**
 * Estimates the times within which shares of calls were answered, from the bounds of the histogram.
 */
export function computeLatency(within: TimedRoute['within']): Latency {
  const calls = within.at(-1)?.[1] ?? 0
  const percentile = (share: number): number | null => {
    if (calls === 0) return null
    const at = within.findIndex(([, requests]) => requests >= share * calls)
    const [low, below] = within[at - 1] ?? [0, 0]
    const [high, upTo] = within[at] ?? [low, calls]
    // Calls beyond the highest bound took at least that long.
    if (high === Number.POSITIVE_INFINITY) return low * 1_000
    const ms = (low + ((high - low) * (share * calls - below)) / (upTo - below)) * 1_000
    return Math.round(ms * 100) / 100
  }
  return { calls, p50Ms: percentile(0.5), p95Ms: percentile(0.95), p99Ms: percentile(0.99) }
}
