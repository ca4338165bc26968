import { Problem } from '../errors.ts'

export interface VerificationQueueOptions {
  /** How many of a subject may fail still. So many are verified at once: what fails is charged only then. */
  failuresLeft(subject: string): number
}

/** Proofs of identity that are verified at once, of everybody together. */
const runningMax = 8
/** Of a subject that has no failures left: its right secrets pass still. */
const runningWithoutFailuresLeft = 2
const waitingMax = 2_048
const waitingPerSubjectMax = 256
const waitMaxMs = 4_000

interface Waiting {
  start(): void
}

/**
 * Bounds how many proofs of identity are verified at once. Verifying costs a look-up, a hash or a signature
 * and comes before anything is charged, so that a right secret passes: without a bound strangers could buy as
 * much of it as they like. Subjects (networks, mostly) take turns, so that each waits for itself and not for a flood of
 * another's.
 */
export function verificationQueue({ failuresLeft }: VerificationQueueOptions): {
  /**
   * Waits for its turn.
   * @param gone aborted when nobody waits for the answer any more.
   * @returns what ends the turn.
   * @throws `Problem` `rate_limited` or `unavailable` when there are too many before it.
   */
  enter(subject: string, gone: AbortSignal): Promise<() => void>
} {
  // A map keeps the order in which its keys came: the first subject is the next one.
  const waiting = new Map<string, Waiting[]>()
  const running = new Map<string, number>()
  let waitingCount = 0
  let runningCount = 0

  const isGuessing = (subject: string): boolean => failuresLeft(subject) < 1

  const mayRun = (subject: string): boolean =>
    runningCount < runningMax &&
    (running.get(subject) ?? 0) < Math.max(runningWithoutFailuresLeft, failuresLeft(subject))

  function run(subject: string): () => void {
    runningCount += 1
    running.set(subject, (running.get(subject) ?? 0) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      runningCount -= 1
      const left = (running.get(subject) ?? 1) - 1
      if (left > 0) running.set(subject, left)
      else running.delete(subject)
      startNext()
    }
  }

  function startNext(): void {
    for (const [subject, [first, ...others]] of waiting) {
      if (!mayRun(subject)) continue
      waiting.delete(subject)
      if (others.length > 0) waiting.set(subject, others)
      first?.start()
      return
    }
  }

  function wait(subject: string, gone: AbortSignal): Promise<() => void> {
    const queue = waiting.get(subject) ?? []
    const isFull = queue.length >= waitingPerSubjectMax && isGuessing(subject)
    if (isFull || waitingCount >= waitingMax) throw tooMany(isGuessing(subject))
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        clearTimeout(timer)
        gone.removeEventListener('abort', leave)
        waitingCount -= 1
        outcome()
      }
      const entry = { start: () => settle(() => resolve(run(subject))) }
      const leave = () => {
        const others = (waiting.get(subject) ?? []).filter((each) => each !== entry)
        if (others.length > 0) waiting.set(subject, others)
        else waiting.delete(subject)
        settle(() => reject(tooMany(isGuessing(subject))))
      }
      const timer = setTimeout(leave, waitMaxMs)
      gone.addEventListener('abort', leave)
      waiting.set(subject, [...queue, entry])
      waitingCount += 1
    })
  }

  return {
    async enter(subject, gone) {
      return mayRun(subject) && !waiting.has(subject) ? run(subject) : wait(subject, gone)
    },
  }
}

const tooMany = (isGuesser: boolean): Problem =>
  isGuesser
    ? new Problem('rate_limited', { detail: 'Too many requests of this address have failed.' })
    : new Problem('unavailable', {
        detail: 'Too many clients ask for tokens.',
        retryAfterSeconds: 1,
      })
