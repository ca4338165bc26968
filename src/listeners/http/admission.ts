import type { Problem } from '../../domain/problem.ts'

/** How much is done at once, in all and for one caller, and how much of the rest waits how long. */
export interface AdmissionBounds {
  readonly atOnce: number
  readonly atOncePerCaller: number | ((caller: string) => number)
  readonly waitingPerCaller: number | ((caller: string) => number)
  /** Calls of all callers that may wait; no bound of their own where it is left out. */
  readonly waitingInAll?: number
  readonly waitMs: number
  /** What a call is answered that waited too long, or that too many others wait before. */
  refuse(caller: string, isAtOwnBound: boolean): Problem
}

/** What a call counts for, and whether anybody still waits for its answer. */
interface AdmissionRequest {
  /**
   * A call that costs as much as several counts as so many, at most as all that a caller may have.
   */
  readonly weight?: number
  /** Aborted when the caller has gone. */
  readonly gone?: AbortSignal
}

/** Lets calls begin: first come, first served for one caller, and one caller after the other. */
export interface Admission {
  /**
   * Resolves when a call may begin, to a function to call when it is done, once or more often.
   * @throws `Problem` where too many calls wait, or the call waited too long; the reason of the
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
  const { atOnce, waitingInAll = Number.POSITIVE_INFINITY, waitMs } = bounds
  const findBound = (caller: string) => boundFor(bounds.atOncePerCaller, caller)
  // In the order in which they are next: who has begun something goes to the end.
  const queues = new Map<string, Queue>()
  let running = 0
  let waitingCount = 0
  const isAtOwnBound = (caller: string, queue: Queue, weight: number): boolean =>
    queue.running + weight > findBound(caller)

  function beginNext(): void {
    for (const [caller, queue] of queues) {
      const [next] = queue.waiting
      if (!next || isAtOwnBound(caller, queue, next.weight)) continue
      // No light call overtakes a heavy one: they could keep it waiting for ever.
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

  /** Also after one that waited has gone: a heavy one may have kept others waiting. */
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

const boundFor = (bound: number | ((caller: string) => number), caller: string): number =>
  typeof bound === 'number' ? bound : bound(caller)
