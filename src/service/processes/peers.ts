import type { IssuerAnswer, IssuerExchange } from '../../console/people-issuer.ts'
import type { DemoSite } from '../../listeners/public/routes/demo.ts'

/**
 * What the processes of one command ask of each other, and what each answers. All of them run the
 * same program, so that nothing is checked again on arrival.
 */
export interface PeerRequests {
  /** The metrics of a process, as its registry describes them. */
  metrics: { content: null; answer: readonly object[] }
  /**
   * By how much the sandbox's clock of who asks is ahead, in milliseconds; and of who answers,
   * then.
   */
  clock: { content: number; answer: number }
  /** A request to the demo; null from a process that does not keep what the demo remembers. */
  demo: {
    content: Parameters<DemoSite['answer']>[0]
    answer: Awaited<ReturnType<DemoSite['answer']>> | null
  }
  /**
   * A request to the sandbox's issuer of identities; null from a process that does not keep who is
   * signed in there.
   */
  identities: { content: IssuerExchange; answer: IssuerAnswer | null }
}

/** What they let each other know without an answer. */
interface Notices {
  /** Calls that were counted against limits: for each limiter, callers with how many. */
  spent: readonly (readonly [limiter: string, calls: readonly (readonly [string, number])[]])[]
}

/** What a process sends to the primary one. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly welcome: string }
  /** It could not start. @see describeStartFailure */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'notice'; readonly about: keyof Notices; readonly content: unknown }
  | PeerRequest
  | Answer

/** What the primary process sends to another. */
export type FromPrimary =
  | { readonly kind: 'all-ready' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'notice'; readonly about: keyof Notices; readonly content: unknown }
  | PeerRequest
  /** The answers of the other processes to a request that arrived in time. */
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
 * Whether each process listens by itself, and the system hands a new connection to one of them.
 * Elsewhere the primary process takes connections and hands them on.
 */
export const canSharePorts = process.platform === 'linux'

/** The other processes of one command, as each of them knows them. */
export interface Peers {
  /** Which of them this one is, from 1 on. It stays when a process that ended is started anew. */
  readonly number: number
  /** Whether all of them were ready once. */
  areReady(): boolean
  /** Requests from all others. @returns the answers that arrived in time, in no order. */
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

/** The same for the program of a process, which is started and stopped by the primary one. */
interface PrimaryConnection {
  readonly peers: Peers
  /** Says that this process serves, or why it cannot. */
  report(message: Extract<FromWorker, { kind: 'ready' | 'failed' }>): Promise<void>
}

/** Longer than the primary's own time limit for all answers. */
const answersTimeoutMs = 3_000

/** @param onStop called when the primary process wants this one to stop. */
export function connectToPrimary(number: number, onStop: () => void): PrimaryConnection {
  const answerers = new Map<string, (content: unknown) => unknown>()
  const takers = new Map<string, (content: unknown) => void>()
  const asked = new Map<number, (contents: readonly unknown[]) => void>()
  let requestCount = 0
  let areReady = false
  const answer = async ({ about, content, id }: Extract<FromPrimary, { kind: 'request' }>) => {
    const answerer = answerers.get(about)
    // What fails here is not known here; the one that asks does without.
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

/** Resolves when it was handed over. Where the primary has gone, this process is about to end. */
const send = (message: FromWorker): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) return resolve()
    process.send?.(message, undefined, undefined, () => resolve())
  })
