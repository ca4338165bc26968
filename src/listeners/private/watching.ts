import { measureKeys } from '../../operations/keys/uses.ts'
import { listLinks } from '../../operations/links/links.ts'
import { findBacklog } from '../../operations/webhooks/deliveries.ts'
import { listFailingEndpoints } from '../../operations/webhooks/operator-acts.ts'
import type { Metrics, TimedRoute } from '../http/metrics.ts'

/** What is known is good for so long: whoever watches asks often, and several may. */
const goodForMs = 2_000
/** One sample a minute, of a day at most. */
const everyMs = 60_000
const samplesMost = 24 * 60

/** Links that are looked at. */
const linksMost = 1_000

/** How it was at an instant, in this process where it is about calls. */
interface Sample {
  readonly at: string
  readonly backlog: Awaited<ReturnType<typeof findBacklog>>
  readonly calls: Latency
}

/** How long calls took, in milliseconds; null where there were none. */
interface Latency {
  readonly calls: number
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
}

/**
 * What health and figures are read from: never more often than every two seconds, however many ask.
 */
export interface Watching {
  readonly backlog: () => ReturnType<typeof findBacklog>
  readonly failingWebhooks: () => ReturnType<typeof listFailingEndpoints>
  readonly keys: () => ReturnType<typeof measureKeys>
  readonly links: () => ReturnType<typeof listLinks>
  /** The samples that this process keeps in its memory, the oldest first. */
  readonly samples: () => readonly Sample[]
  /** Takes a sample now. */
  readonly sample: () => Promise<void>
}

interface Watched {
  /** Has something done when the server closes. */
  onClose(stop: () => void): void
  readonly cards: Parameters<typeof findBacklog>[0]
  readonly keys: Parameters<typeof measureKeys>[0]
  readonly links: Parameters<typeof listLinks>[0]
  readonly metrics: Metrics
}

/** Watches what health and figures tell of; a minute's sample is taken until the server closes. */
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
  // What cannot be read now is missing from the picture, and the next minute is there again.
  const timer = setInterval(() => void sample().catch(() => undefined), everyMs).unref()
  onClose(() => clearInterval(timer))
  return {
    backlog,
    failingWebhooks: atMostEvery(goodForMs, () => listFailingEndpoints(cards)),
    keys: atMostEvery(goodForMs, () => measureKeys(keys)),
    links: atMostEvery(goodForMs, () => listLinks(links, '', linksMost)),
    samples: () => samples,
    sample,
  }
}

/** Reads anew where what was read is old; a read that fails is not kept. */
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

/** All calls of some routes together. */
const sumRoutes = (routes: readonly TimedRoute[]): TimedRoute['within'] =>
  (routes[0]?.within ?? []).map(([seconds], at) => [
    seconds,
    routes.reduce((sum, { within }) => sum + (within[at]?.[1] ?? 0), 0),
  ])

/**
 * The times within which shares of calls were answered, by the bounds between which they were
 * counted.
 */
export function computeLatency(within: TimedRoute['within']): Latency {
  const calls = within.at(-1)?.[1] ?? 0
  const percentile = (share: number): number | null => {
    if (calls === 0) return null
    const at = within.findIndex(([, requests]) => requests >= share * calls)
    const [low, below] = within[at - 1] ?? [0, 0]
    const [high, upTo] = within[at] ?? [low, calls]
    // What took longer than the longest bound took at least that.
    if (high === Number.POSITIVE_INFINITY) return low * 1_000
    const ms = (low + ((high - low) * (share * calls - below)) / (upTo - below)) * 1_000
    return Math.round(ms * 100) / 100
  }
  return { calls, p50Ms: percentile(0.5), p95Ms: percentile(0.95), p99Ms: percentile(0.99) }
}
