import {
  type Algorithm,
  type Card,
  type Counter,
  count,
  isPending,
  type Local,
  left,
  outstandingTries,
  put,
  type RequestStep,
  resolved,
  settle,
  spend,
} from './tries-algorithm.ts'

/**
 * What slips are made of: the steps of the algorithm in use, and a settling of which a part is
 * another.
 */

/** An algorithm that is wrong by one slip. */
export type Slip = {
  readonly algorithm: Algorithm<Card>
  /** The number of the rule that refutes it; 0: a request is never answered. */
  readonly rule: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
}

type Counted = (counter: Counter, local: Local) => Counter

export const compare = { act: 'compare' } as const
export const spends = { act: 'spend', take: spend } as const
export const settles = { act: 'settle', take: settle } as const

export const withSteps = (...steps: readonly RequestStep<Card>[]): Algorithm<Card> => ({
  ...outstandingTries,
  steps,
})

export const isOfAnOldEpoch = (before: Counter, { epoch }: Local): boolean => epoch !== before.epoch
const isOver = (before: Counter, local: Local): boolean =>
  isOfAnOldEpoch(before, local) || before.blockReported

/** Settles as the algorithm in use does, but for what is given. */
export const settlesWith = ({
  counts = count,
  changesNothing = isOver,
  mayTell = (counter: Counter) => !isPending(counter),
}: {
  counts?: Counted
  changesNothing?: typeof isOver
  mayTell?: (counter: Counter, local: Local) => boolean
}): RequestStep<Card> => ({
  act: 'settle',
  take: (card, local) => {
    const before = card[local.kind]
    const isIdle = changesNothing(before, local)
    const counted = isIdle ? before : counts(before, local)
    const counter = { ...counted, attempts: resolved(counted, local) }
    const isUsedUp = local.comparison === 'mismatch' && !isIdle && left(counter) === 0
    const isBlock = isUsedUp && mayTell(counter, local)
    return {
      stored: put(card, local.kind, { ...counter, blockReported: before.blockReported || isBlock }),
      local,
      answer: { remaining: left(counter), recorded: isBlock ? ['blocked'] : [] },
    }
  },
})

export const counting = (counts: Counted): Algorithm<Card> =>
  withSteps(spends, compare, settlesWith({ counts }))
