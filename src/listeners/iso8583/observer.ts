import type { Logger } from 'pino'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Why a connection of a link ended, or a message was not answered. */
export type LinkFault =
  | 'frame'
  | 'slow frame'
  | 'message'
  | 'mac'
  | 'deadline'
  | 'not reading'
  | 'refused peer'
  | 'handshake'
  | 'too many connections'

/** Receives the facts about links that operators monitor, without values of messages. */
export interface LinkObserver {
  /** `detail` comes from the codec: a field and an offset. */
  failed(linkName: string, fault: LinkFault, detail?: string): void
  answered(linkName: string, answer: LinkAnswer): void
  /** A reversal found no original. */
  unmatched(linkName: string): void
  connected(linkName: string, peer: string): void
  ended(linkName: string, why: string): void
  signedOn(linkName: string, isSignedOn: boolean): void
  /** The link cannot listen, for a reason that an operator can correct. */
  unserved(linkName: string, reason: string): void
  faulted(linkName: string, error: unknown): void
}

interface LinkAnswer {
  /** The message type; `other` for unsupported types, so that peers cannot create labels. */
  readonly type: string
  readonly outcome: string
  readonly replayed: boolean
  /** The arrival of the message. */
  readonly at: number
}

/** The present load of the links in this process. */
export interface LinkLoad {
  readonly linkName: string
  /** Where it listens, or what it dials. */
  readonly address: string
  readonly connections: number
  readonly signedOn: number
  readonly inFlight: number
  /** Why the link cannot be served; null where it can. */
  readonly fault: string | null
}

/** Registers metrics of the links of this process. */
export function watchLinks(registry: Registry, load: () => readonly LinkLoad[]): void {
  const gauges: readonly (readonly [string, string, (load: LinkLoad) => number])[] = [
    ['connections', 'Open connections of a link.', (each) => each.connections],
    ['signed_on', 'Signed-on connections of a link.', (each) => each.signedOn],
    ['in_flight', 'Messages of a link in progress.', (each) => each.inFlight],
  ]
  for (const [name, help, measure] of gauges) {
    new Gauge({
      name: `pinfold_link_${name}`,
      help,
      labelNames: ['link'],
      registers: [registry],
      collect() {
        this.reset()
        for (const each of load()) this.set({ link: each.linkName }, measure(each))
      },
    })
  }
}

/**
 * A fault of a link has at most one log line per interval, because the peer controls the number of
 * faults.
 */
const lineEveryMs = 60_000

type FaultLine = (linkName: string, reason: LinkFault, detail: string | undefined) => void

/**
 * Logs the first fault of a link and a reason at once, and the last of each following minute with
 * their number.
 */
function createFaultLines(log: Logger): FaultLine {
  const open = new Map<string, { count: number; detail: string | undefined }>()
  return (link, reason, detail) => {
    const key = `${link}\n${reason}`
    const write = (count: number, said: string | undefined) =>
      log.warn(
        { link, reason, count, ...(said !== undefined && { detail: said }) },
        'a link was refused',
      )
    const known = open.get(key)
    if (known) {
      known.count += 1
      known.detail = detail
      return
    }
    const line = { count: 0, detail }
    open.set(key, line)
    write(1, detail)
    const timer = setInterval(() => {
      if (line.count > 0) write(line.count, line.detail)
      else {
        clearInterval(timer)
        open.delete(key)
      }
      line.count = 0
    }, lineEveryMs).unref()
  }
}

/** Counts metrics, and writes the log. */
export function linkObserver(registry: Registry, log: Logger): LinkObserver {
  const counter = (name: string, help: string, ...labels: readonly string[]) =>
    new Counter({
      name: `pinfold_link_${name}_total`,
      help,
      labelNames: ['link', ...labels],
      registers: [registry],
    })
  const answers = counter(
    'messages',
    'Messages of a link answered, by message type and outcome (ISO 8583:1987, field 39).',
    'type',
    'outcome',
  )
  const repeats = counter('repeats', 'Requests of a link that got the answer of the first request.')
  const unmatched = counter('unmatched_reversals', 'Reversals of a link whose original is unknown.')
  const failures = counter(
    'failures',
    'Rejected frames, messages and MACs of a link, and connections that were ended.',
    'reason',
  )
  const seconds = new Histogram({
    name: 'pinfold_link_seconds',
    help: 'Time from reading a message of a link to its answer.',
    labelNames: ['link'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 4],
    registers: [registry],
  })
  const writeFault = createFaultLines(log)
  return {
    failed(link, reason, detail) {
      failures.inc({ link, reason })
      writeFault(link, reason, detail)
    },
    answered(link, { at, outcome, replayed, type }) {
      answers.inc({ link, type, outcome })
      if (replayed) repeats.inc({ link })
      seconds.observe({ link }, (performance.now() - at) / 1_000)
      log.debug({ link, type, outcome, replayed }, 'a message of a link was answered')
    },
    unmatched: (link) => unmatched.inc({ link }),
    connected: (link, peer) => log.info({ link, peer }, 'a link is connected'),
    ended: (link, why) => log.info({ link, why }, 'a connection of a link ended'),
    signedOn: (link, isSignedOn) =>
      log.info({ link }, isSignedOn ? 'a link is signed on' : 'a link is signed off'),
    unserved: (link, reason) => log.warn({ link }, `A link is not served: ${reason}`),
    faulted: (link, err) => log.error({ link, err }, 'a link failed'),
  }
}
