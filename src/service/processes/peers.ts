import type { IssuerAnswer, IssuerExchange } from '../../console/people-issuer.ts'
import type { DemoSite } from '../../listeners/public/routes/demo.ts'

/**
 * The requests between the processes of one command, and their answers. All run the same program,
 * so that nothing is validated on arrival.
 */
export interface PeerRequests {
  /** The metrics of a process, as its registry describes them. */
  metrics: { content: null; answer: readonly object[] }
  /**
   * How far the sandbox's clock of the sender is ahead, in milliseconds; the answer has the same of
   * the receiver.
   */
  clock: { content: number; answer: number }
  /**
   * Holds the calls of a process back for a snapshot of the sandbox, and lets them in again; then
   * with how far the clock is ahead. The answer is whether no call runs.
   */
  snapshot: { content: { readonly openAt: number | null }; answer: boolean }
  /** A request to the demo; null from a process that does not store the demo's state. */
  demo: {
    content: Parameters<DemoSite['answer']>[0]
    answer: Awaited<ReturnType<DemoSite['answer']>> | null
  }
  /**
   * A request to the sandbox's issuer of identities; null from a process that does not store its
   * sessions.
   */
  identities: { content: IssuerExchange; answer: IssuerAnswer | null }
}

/** Notices between the processes, without an answer. */
interface Notices {
  /** Calls counted against limits: for each limiter, the callers and their counts. */
  spent: readonly (readonly [limiter: string, calls: readonly (readonly [string, number])[]])[]
}

/** A message of a process to the primary one. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly welcome: string }
  /** The process could not start. @see describeStartFailure */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'notice'; readonly about: keyof Notices; readonly content: unknown }
  | PeerRequest
  | Answer

/** A message of the primary process to another one. */
export type FromPrimary =
  | { readonly kind: 'all-ready' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'notice'; readonly about: keyof Notices; readonly content: unknown }
  | PeerRequest
  /** The answers of the other processes that arrived in time. */
  | { readonly kind: 'answers'; readonly id: number; readonly contents: readonly unknown[] }

/** A request of one process, which the primary forwards to all others under its own number. */
export interface PeerRequest {
  readonly kind: 'request'
  readonly id: number
  readonly about: keyof PeerRequests
  readonly content: unknown
}

interface Answer {
  readonly kind: 'answer'
  readonly id: number
  readonly content: unknown
}

/**
 * Whether each process listens on the shared port, and the system distributes connections.
 * Otherwise the primary process accepts connections and distributes them.
 */
export const canSharePorts = process.platform === 'linux'

/** The other processes of one command. */
export interface Peers {
  /** The number of this process, from 1 on. A restarted process keeps it. */
  readonly number: number
  /** Whether all processes have been ready once. */
  areReady(): boolean
  /** Sends a request to all others. @returns the answers that arrived in time, in any order. */
  ask<About extends keyof PeerRequests>(
    about: About,
    content: PeerRequests[About]['content'],
  ): Promise<readonly PeerRequests[About]['answer'][]>
  /** Sets the function that answers requests of the other processes. */
  onRequest<About extends keyof PeerRequests>(
    about: About,
    answer: (
      content: PeerRequests[About]['content'],
    ) => PeerRequests[About]['answer'] | Promise<PeerRequests[About]['answer']>,
  ): void
  /** Notifies all other processes. */
  notify<About extends keyof Notices>(about: About, content: Notices[About]): void
  onNotice<About extends keyof Notices>(about: About, take: (content: Notices[About]) => void): void
}

/** The connection of a worker's program to the primary process, which starts and stops it. */
interface PrimaryConnection {
  readonly peers: Peers
  /** Reports that this process serves, or why it cannot. */
  report(message: Extract<FromWorker, { kind: 'ready' | 'failed' }>): Promise<void>
}

/** Longer than the primary's own time limit for all answers. */
const answersTimeoutMs = 3_000

/** @param onStop called when the primary process stops this one. */
export function connectToPrimary(number: number, onStop: () => void): PrimaryConnection {
  const answerers = new Map<string, (content: unknown) => unknown>()
  const takers = new Map<string, (content: unknown) => void>()
  const asked = new Map<number, (contents: readonly unknown[]) => void>()
  let requestCount = 0
  let areReady = false
  const answer = async ({ about, content, id }: Extract<FromPrimary, { kind: 'request' }>) => {
    const answerer = answerers.get(about)
    // The failure is not reported; the sender continues without this answer.
    const ask = async () => answerer?.(content)
    await send({ kind: 'answer', id, content: await ask().catch(() => undefined) })
  }
  process.on('message', (message: FromPrimary) => {
    if (message.kind === 'all-ready') areReady = true
    else if (message.kind === 'stop') onStop()
    else if (message.kind === 'notice') takers.get(message.about)?.(message.content)
    else if (message.kind === 'answers') asked.get(message.id)?.(message.contents)
    else void answer(message)
  })
  const peers: Peers = {
    number,
    areReady: () => areReady,
    async ask<About extends keyof PeerRequests>(
      about: About,
      content: PeerRequests[About]['content'],
    ) {
      requestCount += 1
      const id = requestCount
      const { promise, resolve } = Promise.withResolvers<readonly unknown[]>()
      asked.set(id, resolve)
      const timer = setTimeout(resolve, answersTimeoutMs, [])
      await send({ kind: 'request', id, about, content })
      const contents = await promise
      clearTimeout(timer)
      asked.delete(id)
      return contents as readonly PeerRequests[About]['answer'][]
    },
    onRequest<About extends keyof PeerRequests>(
      about: About,
      answerer: (content: PeerRequests[About]['content']) => unknown,
    ) {
      answerers.set(about, (content) => answerer(content as PeerRequests[About]['content']))
    },
    notify: (about, content) => void send({ kind: 'notice', about, content }),
    onNotice<About extends keyof Notices>(about: About, take: (content: Notices[About]) => void) {
      takers.set(about, (content) => take(content as Notices[About]))
    },
  }
  return { peers, report: send }
}

/** Resolves when the message was handed over. Without the primary, this process is about to end. */
const send = (message: FromWorker): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) return resolve()
    process.send?.(message, undefined, undefined, () => resolve())
  })
