import { Problem } from '../errors.ts'

/** Lets few do a costly thing at once, and the others after them, so that nobody waits for one alone. */
export interface Turns {
  /**
   * Does something when it is the subject's turn.
   * @throws `Problem` `rate_limited` when too many of the subject wait already.
   */
  take<Result>(subject: string, work: () => Promise<Result>): Promise<Result>
}

export interface TurnsOptions {
  readonly atOnce: number
  readonly waitingPerSubject: number
}

/** Turns of this process. Of those who wait, each subject gets one in its turn, its oldest first. */
export function createTurns({ atOnce, waitingPerSubject }: TurnsOptions): Turns {
  // A map keeps the order in which its keys came: the first subject is the next one.
  const waiting = new Map<string, (() => void)[]>()
  let free = atOnce

  function wait(subject: string): Promise<void> {
    const queue = waiting.get(subject) ?? []
    if (queue.length >= waitingPerSubject) throw tooMany(waitingPerSubject)
    const { promise, resolve } = Promise.withResolvers<void>()
    queue.push(resolve)
    waiting.set(subject, queue)
    return promise
  }

  function next(): void {
    const [first] = waiting
    if (!first) {
      free += 1
      return
    }
    const [subject, [start, ...others]] = first
    waiting.delete(subject)
    if (others.length > 0) waiting.set(subject, others)
    start?.()
  }

  return {
    async take(subject, work) {
      if (free > 0) free -= 1
      else await wait(subject)
      try {
        return await work()
      } finally {
        next()
      }
    },
  }
}

const tooMany = (waiting: number): Problem =>
  new Problem('rate_limited', {
    detail: `${waiting} such calls may wait at once.`,
    retryAfterSeconds: 1,
  })
