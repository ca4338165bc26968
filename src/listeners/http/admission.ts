import { Problem } from '../../domain/problem.ts'

/** How much is done at once, in all and for one caller, and how much of the rest waits how long. */
export interface AdmissionBounds {
  readonly atOnce: number
  readonly atOncePerCaller: number
  readonly waitingPerCaller: number
  readonly waitMs: number
  /** What a caller at its own bound is answered; who waits for others is answered `unavailable`. */
  readonly ownBound: 'rate_limited' | 'unavailable'
}

/** What a call counts for, and whether anybody still waits for its answer. */
interface AdmissionRequest {
  /** A call that costs as much as several counts as so many, at most as all that a caller may have. */
  readonly weight?: number
  /** Aborted when the caller has gone. */
  readonly gone?: AbortSignal
}

/** Lets calls begin: first come, first served for one caller, and one caller after the other. */
export interface Admission {
  /**
   * Resolves when a call may begin, to what is to be called when it is done.
   * @throws `Problem` where too much of the caller waits, or the call waited too long; the reason of the
   *   signal where the caller has gone.
   */
  enter(caller: string, request?: AdmissionRequest): Promise<() => void>
  /** How much has begun, and how much waits. */
  load(): { readonly running: number; readonly waiting: number }
}

/** What one caller has begun, by weight, and what it waits with, in order. */
interface Queue {
  running: number
  readonly waiting: Set<Waiting>
}

/** An admission to this process. Nothing is kept of a caller that has neither begun nor waits. */
export function createAdmission(bounds: AdmissionBounds): Admission {
  const { atOnce, atOncePerCaller, waitingPerCaller, waitMs } = bounds
  // In the order in which they are next: who has begun something goes to the end.
  const queues = new Map<string, Queue>()
  let running = 0
  const isAtOwnBound = (queue: Queue, weight: number) => queue.running + weight > atOncePerCaller

  function beginNext(): void {
    for (const [caller, queue] of queues) {
      const [next] = queue.waiting
      if (!next || isAtOwnBound(queue, next.weight)) continue
      // No light call overtakes a heavy one: they could keep it waiting for ever.
      if (running + next.weight > atOnce) return
      queues.delete(caller)
      queues.set(caller, queue)
      queue.waiting.delete(next)
      next.begin(run(caller, queue, next.weight))
    }
  }

  function run(caller: string, queue: Queue, weight: number): () => void {
    running += weight
    queue.running += weight
    let counted = weight
    return () => {
      running -= counted
      queue.running -= counted
      counted = 0
      goOn(caller, queue)
    }
  }

  /** Also after one that waited has gone: a heavy one may have kept others waiting. */
  function goOn(caller: string, queue: Queue): void {
    if (queue.running === 0 && queue.waiting.size === 0) queues.delete(caller)
    beginNext()
  }

  return {
    enter(caller, { gone, weight: asked = 1 } = {}) {
      if (gone?.aborted) return Promise.reject(gone.reason)
      const weight = Math.min(asked, atOncePerCaller)
      const queue = queues.get(caller) ?? { running: 0, waiting: new Set() }
      queues.set(caller, queue)
      const refuse = () => refusal(bounds, isAtOwnBound(queue, weight))
      const waiting = startWaiting(weight, { gone, refuse, waitMs }, () => {
        queue.waiting.delete(waiting)
        goOn(caller, queue)
      })
      queue.waiting.add(waiting)
      beginNext()
      if (queue.waiting.size > waitingPerCaller) waiting.giveUp(refuse())
      return waiting.begun
    },
    load: () => ({
      running,
      waiting: [...queues.values()].reduce((sum, { waiting }) => sum + waiting.size, 0),
    }),
  }
}

/** A call that is not begun yet. */
interface Waiting {
  readonly weight: number
  readonly begun: Promise<() => void>
  begin(leave: () => void): void
  giveUp(reason: unknown): void
}

interface WaitOptions {
  readonly gone: AbortSignal | undefined
  readonly waitMs: number
  refuse(): Problem
}

/** Waits until it begins, its time is over, or its caller has gone, whichever is first. */
function startWaiting(
  weight: number,
  { gone, refuse, waitMs }: WaitOptions,
  onGivenUp: () => void,
): Waiting {
  const { promise: begun, reject, resolve } = Promise.withResolvers<() => void>()
  const settle = () => {
    clearTimeout(timer)
    gone?.removeEventListener('abort', leave)
  }
  const giveUp = (reason: unknown) => {
    settle()
    reject(reason)
    onGivenUp()
  }
  const leave = () => giveUp(gone?.reason)
  const timer = setTimeout(() => giveUp(refuse()), waitMs)
  gone?.addEventListener('abort', leave)
  return {
    weight,
    begun,
    begin(done) {
      settle()
      resolve(done)
    },
    giveUp,
  }
}

const refusal = (
  { atOncePerCaller, ownBound, waitMs }: AdmissionBounds,
  isOwn: boolean,
): Problem =>
  isOwn && ownBound === 'rate_limited'
    ? new Problem('rate_limited', {
        detail:
          `${atOncePerCaller} calls of a client are worked on at once. This one was not begun within ` +
          `${waitMs / 1_000} seconds, or too many waited before it.`,
        retryAfterSeconds: 1,
      })
    : new Problem('unavailable', {
        detail: `It was not begun within ${waitMs / 1_000} seconds: nothing was done.`,
        retryAfterSeconds: 1,
      })
