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

/** Called when the verification is over, or any time later. */
type Leave = () => void

/** Somebody who waits to be verified. */
interface Waiter {
  /** Resolves when it may begin; to null where it waited too long or went away. */
  readonly admitted: Promise<Leave | null>
  begin(leave: Leave): void
}

/**
 * Bounds how many proofs of identity are verified at once. Verifying costs a look-up, a hash or a signature
 * and comes before anything is charged, so that a right secret passes: without a bound strangers could buy as
 * much of it as they like. Subjects (networks, mostly) begin one after the other, so that each waits for itself
 * and not for a flood of another's.
 */
export function verificationQueue({ failuresLeft }: VerificationQueueOptions): {
  /**
   * Waits until it may begin.
   * @param gone aborted when nobody waits for the answer any more.
   * @throws `Problem` `rate_limited` or `unavailable` when there are too many before it.
   */
  enter(subject: string, gone: AbortSignal): Promise<Leave>
} {
  const running = createRunning()
  // A map keeps the order in which its keys came: the first subject is the next one.
  const waiting = new Map<string, readonly Waiter[]>()

  const waitingOf = (subject: string) => waiting.get(subject) ?? []

  const mayBegin = (subject: string): boolean =>
    running.ofAll() < runningMax &&
    running.of(subject) < Math.max(runningWithoutFailuresLeft, failuresLeft(subject))

  const isFull = (subject: string): boolean =>
    sum([...waiting.values()].map(({ length }) => length)) >= waitingMax ||
    (waitingOf(subject).length >= waitingPerSubjectMax && failuresLeft(subject) < 1)

  function setWaiting(subject: string, waiters: readonly Waiter[]): void {
    if (waiters.length > 0) waiting.set(subject, waiters)
    else waiting.delete(subject)
  }

  function beginNext(): void {
    const [subject = ''] = [...waiting.keys()].filter(mayBegin)
    const [first, ...others] = waitingOf(subject)
    // Its next one comes after all other subjects.
    waiting.delete(subject)
    setWaiting(subject, others)
    first?.begin(running.begin(subject, beginNext))
  }

  return {
    async enter(subject, gone) {
      if (mayBegin(subject) && !waiting.has(subject)) {
        return running.begin(subject, beginNext)
      }
      if (isFull(subject)) throw tooMany(failuresLeft(subject))
      const waiter = createWaiter(gone, () => {
        setWaiting(
          subject,
          waitingOf(subject).filter((each) => each !== waiter),
        )
      })
      waiting.set(subject, [...waitingOf(subject), waiter])
      const leave = await waiter.admitted
      if (!leave) throw tooMany(failuresLeft(subject))
      return leave
    },
  }
}

/** How many are verified now, of each subject and of all. */
function createRunning() {
  const running = new Map<string, number>()
  return {
    ofAll: (): number => sum([...running.values()]),
    of: (subject: string): number => running.get(subject) ?? 0,
    /** @param onOver called once, when it is over. */
    begin(subject: string, onOver: () => void): Leave {
      running.set(subject, this.of(subject) + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        const left = this.of(subject) - 1
        if (left > 0) running.set(subject, left)
        else running.delete(subject)
        onOver()
      }
    },
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** @param onGivenUp called at once when it waits no more, so that nothing begins for it. */
function createWaiter(gone: AbortSignal, onGivenUp: () => void): Waiter {
  const { promise: admitted, resolve } = Promise.withResolvers<Leave | null>()
  const settle = (outcome: Leave | null) => {
    clearTimeout(timer)
    gone.removeEventListener('abort', giveUp)
    resolve(outcome)
  }
  const giveUp = () => {
    onGivenUp()
    settle(null)
  }
  const timer = setTimeout(giveUp, waitMaxMs)
  gone.addEventListener('abort', giveUp)
  return { admitted, begin: settle }
}

const tooMany = (failuresLeft: number): Problem =>
  failuresLeft < 1
    ? new Problem('rate_limited', { detail: 'Too many requests of this address have failed.' })
    : new Problem('unavailable', {
        detail: 'Too many clients ask for tokens.',
        retryAfterSeconds: 1,
      })
