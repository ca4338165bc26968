import { Problem } from '../../domain/problem.ts'

interface VerificationQueueOptions {
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

/** What ends a turn. */
type EndTurn = () => void

/** Somebody who waits for a turn. */
interface Waiter {
  /** Its turn, or null where it waited too long or went away. */
  readonly turn: Promise<EndTurn | null>
  begin(endTurn: EndTurn): void
}

/**
 * Bounds how many proofs of identity are verified at once. Verifying costs a look-up, a hash or a signature
 * and comes before anything is charged, so that a right secret passes: without a bound strangers could buy as
 * much of it as they like. Subjects (networks, mostly) take turns, so that each waits for itself and not for a
 * flood of another's.
 */
export function verificationQueue({ failuresLeft }: VerificationQueueOptions): {
  /**
   * Waits for its turn.
   * @param gone aborted when nobody waits for the answer any more.
   * @throws `Problem` `rate_limited` or `unavailable` when there are too many before it.
   */
  enter(subject: string, gone: AbortSignal): Promise<EndTurn>
} {
  // A map keeps the order in which its keys came: the first subject is the next one.
  const waiting = new Map<string, readonly Waiter[]>()
  const running = runningTurns(failuresLeft)

  const waitingOf = (subject: string) => waiting.get(subject) ?? []

  const isFull = (subject: string): boolean =>
    sum([...waiting.values()].map(({ length }) => length)) >= waitingMax ||
    (waitingOf(subject).length >= waitingPerSubjectMax && failuresLeft(subject) < 1)

  function setWaiting(subject: string, waiters: readonly Waiter[]): void {
    if (waiters.length > 0) waiting.set(subject, waiters)
    else waiting.delete(subject)
  }

  function beginNext(): void {
    const [subject = ''] = [...waiting.keys()].filter(running.mayBegin)
    const [first, ...others] = waitingOf(subject)
    // Its next one comes after all other subjects.
    waiting.delete(subject)
    setWaiting(subject, others)
    first?.begin(running.begin(subject, beginNext))
  }

  return {
    async enter(subject, gone) {
      if (running.mayBegin(subject) && !waiting.has(subject)) {
        return running.begin(subject, beginNext)
      }
      if (isFull(subject)) throw tooMany(failuresLeft(subject))
      const waiter = createWaiter(gone, () =>
        setWaiting(
          subject,
          waitingOf(subject).filter((each) => each !== waiter),
        ),
      )
      waiting.set(subject, [...waitingOf(subject), waiter])
      const turn = await waiter.turn
      if (!turn) throw tooMany(failuresLeft(subject))
      return turn
    },
  }
}

/** Counts what is verified now, in all and of each subject. */
function runningTurns(failuresLeft: (subject: string) => number) {
  const running = new Map<string, number>()
  return {
    mayBegin: (subject: string): boolean =>
      sum([...running.values()]) < runningMax &&
      (running.get(subject) ?? 0) < Math.max(runningWithoutFailuresLeft, failuresLeft(subject)),
    begin(subject: string, onEnd: () => void): EndTurn {
      running.set(subject, (running.get(subject) ?? 0) + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        const left = (running.get(subject) ?? 1) - 1
        if (left > 0) running.set(subject, left)
        else running.delete(subject)
        onEnd()
      }
    },
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** @param leave called at once when it waits no more, so that no turn is given to it. */
function createWaiter(gone: AbortSignal, leave: () => void): Waiter {
  const { promise: turn, resolve } = Promise.withResolvers<EndTurn | null>()
  const settle = (outcome: EndTurn | null) => {
    clearTimeout(timer)
    gone.removeEventListener('abort', giveUp)
    resolve(outcome)
  }
  const giveUp = () => {
    leave()
    settle(null)
  }
  const timer = setTimeout(giveUp, waitMaxMs)
  gone.addEventListener('abort', giveUp)
  return { turn, begin: settle }
}

const tooMany = (failuresLeft: number): Problem =>
  failuresLeft < 1
    ? new Problem('rate_limited', { detail: 'Too many requests of this address have failed.' })
    : new Problem('unavailable', {
        detail: 'Too many clients ask for tokens.',
        retryAfterSeconds: 1,
      })
