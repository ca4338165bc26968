import { Problem } from '../../domain/problem.ts'
import type { DeviceSeal, SessionSealed } from '../../hsm/contract/hsm.ts'
import type { CardOperations, Requester } from '../cards/cards.ts'
import { refuseDisclosure, spendUse } from '../cards/limits.ts'

/** A session key that is to be taken in, and for what. */
interface SessionKeyQuestion {
  readonly publicToken: string
  readonly includePin: boolean
  readonly key: string
}

/**
 * Takes in a session key, when all that costs less than looking at it is in order.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`;
 * `invalid_session_key`, whatever is wrong with it, when that has been counted.
 */
export const importSessionKey = (
  issuing: CardOperations,
  caller: Requester,
  question: SessionKeyQuestion,
): Promise<DeviceSeal<SessionSealed>> =>
  // The limits are looked at within the turn: of many at once, few see a use that another one spends.
  issuing.sessionKeyQueue.take(caller.clientId, async () => {
    // Nothing is held: what is in order here is looked at again when the disclosure is recorded.
    const { includePin: includesPin, publicToken } = question
    const { badSessionKeys, reveals } = issuing.limits
    await refuseDisclosure(issuing, caller, { includesPin, publicToken }, [reveals, badSessionKeys])
    return (
      (await issuing.hsm.importSessionKey(question.key)) ?? refuseKey(issuing, caller, question)
    )
  })

/** Counted, and committed, before it is told: for the card and its client, or for neither. */
async function refuseKey(
  { database, limits }: CardOperations,
  { clientId }: Requester,
  { publicToken }: SessionKeyQuestion,
): Promise<never> {
  const { perCard = null, perClient = null } = limits.badSessionKeys ?? {}
  await database.transaction(async (connection) => {
    await spendUse(connection, 'card', publicToken, perCard)
    await spendUse(connection, 'client', clientId, perClient)
  })
  throw new Problem('invalid_session_key')
}

/** Lets few do a costly thing at once, and the others after them, so that nobody waits for one alone. */
export interface FairQueue {
  /**
   * Does something when it is the subject's turn.
   * @throws `Problem` `rate_limited` when too many of the subject wait already.
   */
  take<Result>(subject: string, work: () => Promise<Result>): Promise<Result>
}

interface FairQueueOptions {
  readonly runningMax: number
  readonly waitingMaxPerClient: number
}

/** Turns of this process. Of those who wait, each subject gets one in its turn, its oldest first. */
export function createFairQueue({ runningMax, waitingMaxPerClient }: FairQueueOptions): FairQueue {
  // A map keeps the order in which its keys came: the first subject is the next one.
  const waiting = new Map<string, (() => void)[]>()
  let free = runningMax

  function wait(subject: string): Promise<void> {
    const queue = waiting.get(subject) ?? []
    if (queue.length >= waitingMaxPerClient) throw tooMany(waitingMaxPerClient)
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
