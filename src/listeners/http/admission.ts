import type { Problem } from '../../domain/problem.ts'

/** The bounds of concurrent work, in total and for one caller, and of the calls that wait. */
export interface AdmissionBounds {
  readonly atOnce: number
  readonly atOncePerCaller: number | ((caller: string) => number)
  readonly waitingPerCaller: number | ((caller: string) => number)
  /** The maximum number of waiting calls of all callers; unlimited by default. */
  readonly waitingInAll?: number
  readonly waitMs: number
  /** The answer to a call that waited too long, or that arrived behind too many waiting calls. */
  refuse(caller: string, isAtOwnBound: boolean): Problem
}

/** The weight of a call, and the signal that its caller has gone. */
interface AdmissionRequest {
  /** An expensive call counts as several, at most as the bound of one caller. */
  readonly weight?: number
  /** Aborted when the caller has disconnected. */
  readonly gone?: AbortSignal
}

/** Admits calls: first come, first served within a caller, and callers take turns. */
export interface Admission {
  /**
   * Resolves when a call may begin, with a function to call at its end, once or more often.
   * @throws `Problem` if too many calls wait, or the call waited too long; the reason of the signal
   *   if the caller has gone.
   */
  enter(caller: string, request?: AdmissionRequest): Promise<() => void>
  /** The number of running and of waiting calls. */
  load(): { readonly running: number; readonly waiting: number }
}

/** The running calls of one caller, by weight, and its waiting calls, in order. */
interface Queue {
  running: number
  readonly waiting: Set<Waiting>
}

/**
 * Creates the admission of this process. It stores nothing about callers without running or waiting
 * calls.
 */
export function createAdmission(bounds: AdmissionBounds): Admission {
  const { atOnce, waitingInAll = Number.POSITIVE_INFINITY, waitMs } = bounds
  const findBound = (caller: string) => boundFor(bounds.atOncePerCaller, caller)
  // In the order of their turns: a caller whose call begins goes to the end.
  const queues = new Map<string, Queue>()
  let running = 0
  let waitingCount = 0
  const isAtOwnBound = (caller: string, queue: Queue, weight: number): boolean =>
    queue.running + weight > findBound(caller)

  function beginNext(): void {
    for (const [caller, queue] of queues) {
      const [next] = queue.waiting
      if (!next || isAtOwnBound(caller, queue, next.weight)) continue
      // A light call does not overtake a heavy one, which could otherwise wait forever.
      if (running + next.weight > atOnce) return
      queues.delete(caller)
      queues.set(caller, queue)
      queue.waiting.delete(next)
      waitingCount -= 1
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

  /** Also after a waiting call has left: if it was heavy, it may have blocked others. */
  function goOn(caller: string, queue: Queue): void {
    if (queue.running === 0 && queue.waiting.size === 0) queues.delete(caller)
    beginNext()
  }

  return {
    enter(caller, { gone, weight: asked = 1 } = {}) {
      if (gone?.aborted) return Promise.reject(gone.reason)
      const weight = Math.min(asked, findBound(caller))
      const queue = queues.get(caller) ?? { running: 0, waiting: new Set() }
      queues.set(caller, queue)
      const refuse = () => bounds.refuse(caller, isAtOwnBound(caller, queue, weight))
      const waiting = startWaiting(weight, { gone, refuse, waitMs }, () => {
        queue.waiting.delete(waiting)
        waitingCount -= 1
        goOn(caller, queue)
      })
      queue.waiting.add(waiting)
      waitingCount += 1
      beginNext()
      const isFull =
        waitingCount > waitingInAll ||
        queue.waiting.size > boundFor(bounds.waitingPerCaller, caller)
      if (isFull && queue.waiting.has(waiting)) waiting.giveUp(refuse())
      return waiting.begun
    },
    load: () => ({ running, waiting: waitingCount }),
  }
}

/** A waiting call. */
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

/** Waits until the call begins, its time is over, or its caller has gone. */
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

const boundFor = (bound: number | ((caller: string) => number), caller: string): number =>
  typeof bound === 'number' ? bound : bound(caller)
