import {
  type Algorithm,
  type Card,
  type Counter,
  countedAttempts,
  giveBack,
  isAttemptPending,
  type Local,
  left,
  put,
  type RequestStep,
  resolved,
  restore,
  settle,
  spend,
} from './tries-algorithm.ts'

/** Algorithms of tries that are wrong, each by one slip that is easily made, and the rules that it breaks. */

type Slip = {
  readonly algorithm: Algorithm<Card>
  /** The number of the rule that refutes it; 0: a request is never answered. */
  readonly rule: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
}

type Restored = (counter: Counter, local: Local) => Counter

const compare = { act: 'compare' } as const
const spends = { act: 'spend', take: spend } as const
const settles = { act: 'settle', take: settle } as const

const withSteps = (...steps: readonly RequestStep<Card>[]): Algorithm<Card> => ({
  ...countedAttempts,
  steps,
})

const isOfAnOldEpoch = (held: Counter, { epoch }: Local): boolean => epoch !== held.epoch
const isOver = (held: Counter, local: Local): boolean =>
  isOfAnOldEpoch(held, local) || held.blockReported

/** Settles as the algorithm in use does, but for what is given. */
const settlesWith = ({
  givesBack = restore,
  changesNothing = isOver,
  mayTell = (counter: Counter) => !isAttemptPending(counter),
}: {
  givesBack?: Restored
  changesNothing?: typeof isOver
  mayTell?: (counter: Counter, local: Local) => boolean
}): RequestStep<Card> => ({
  act: 'settle',
  take: (card, local) => {
    const held = card[local.kind]
    const isIdle = changesNothing(held, local)
    const restored = isIdle ? held : givesBack(held, local)
    const counter = { ...restored, attempts: resolved(restored, local) }
    const isUsedUp = local.comparison === 'mismatch' && !isIdle && left(counter) === 0
    const isBlock = isUsedUp && mayTell(counter, local)
    return {
      stored: put(card, local.kind, { ...counter, blockReported: held.blockReported || isBlock }),
      local,
      answer: { remaining: left(counter), recorded: isBlock ? ['blocked'] : [] },
    }
  },
})

const restoring = (givesBack: Restored): Algorithm<Card> =>
  withSteps(spends, compare, settlesWith({ givesBack }))

/** Reads how many were spent, and writes one more than that in another transaction. */
const readsThenSpends: readonly RequestStep<Card>[] = [
  {
    act: 'read',
    take: (stored, local) => ({ stored, local: { ...local, read: stored[local.kind].spent } }),
  },
  {
    act: 'spend',
    take: (card, local) => {
      const counter = card[local.kind]
      return spend(put(card, local.kind, { ...counter, spent: local.read ?? 0 }), local)
    },
  },
]

/** Looks for other tries before it has waited for the lock, and believes it after. */
const looksBeforeTheLock: readonly RequestStep<Card>[] = [
  {
    act: 'read',
    take: (stored, local) => {
      const counter = stored[local.kind]
      const others = counter.attempts.filter(({ number }) => number !== local.number)
      const read = isAttemptPending({ ...counter, attempts: others }) ? 1 : 0
      return { stored, local: { ...local, read } }
    },
  },
  settlesWith({ mayTell: (_, { read }) => read === 0 }),
]

/** One more may be spent than there is. */
const spendsOneMore: RequestStep<Card> = {
  act: 'spend',
  take: (card, local) => {
    const { limit } = card[local.kind]
    const taken = spend(put(card, local.kind, { limit: limit + 1 }), local)
    return taken && { ...taken, stored: put(taken.stored, local.kind, { limit }) }
  },
}

/** Every slip, by what somebody did. */
export const slips: Readonly<Record<string, Slip>> = {
  'the value is compared before its try is spent': {
    algorithm: withSteps(compare, spends, settles),
    rule: 1,
  },
  'a spend reads the counter in one transaction and writes it in another': {
    algorithm: withSteps(...readsThenSpends, compare, settles),
    rule: 5,
  },
  'a match gives back every try, later ones too': {
    algorithm: restoring((counter, local) =>
      local.comparison === 'match'
        ? giveBack(counter, ({ epoch }) => epoch === local.epoch)
        : restore(counter, local),
    ),
    rule: 2,
  },
  'a match gives back its own try alone': {
    algorithm: restoring((counter, local) =>
      local.comparison === 'match'
        ? giveBack(counter, ({ number }) => number === local.number)
        : restore(counter, local),
    ),
    rule: 2,
  },
  'a match gives back what was given back before': {
    algorithm: restoring((counter, local) => {
      const after = restore(counter, local)
      return local.comparison === 'match' ? { ...after, restored: local.number ?? 0 } : after
    }),
    rule: 2,
  },
  'a match of an older epoch counts': {
    algorithm: withSteps(
      spends,
      compare,
      settlesWith({
        changesNothing: ({ blockReported }) => blockReported,
        givesBack: (counter, local) =>
          local.comparison === 'match'
            ? giveBack(counter, ({ number }) => number <= (local.number ?? 0))
            : restore(counter, local),
      }),
    ),
    rule: 3,
  },
  'an unblock opens no epoch': {
    algorithm: {
      ...countedAttempts,
      change: (card, kind, act) => {
        const { epoch } = card[kind]
        return put(
          countedAttempts.change(card, kind, act),
          kind,
          act === 'unblock' ? { epoch } : {},
        )
      },
    },
    rule: 3,
  },
  'a silent HSM costs the try': {
    algorithm: restoring((counter, local) =>
      local.comparison === 'unresolved' ? counter : restore(counter, local),
    ),
    rule: 4,
  },
  'a silent HSM gives back a try that a match gave back already': {
    algorithm: restoring((counter, local) =>
      local.comparison === 'unresolved'
        ? { ...restore(counter, local), restored: counter.restored + 1 }
        : restore(counter, local),
    ),
    rule: 4,
  },
  'a sweep gives back the tries that were lost': {
    algorithm: {
      ...countedAttempts,
      sweep: (card, kind) => {
        const counter = card[kind]
        const isLost = ({ epoch, isOld, result }: Counter['attempts'][number]) =>
          isOld && result === 'unresolved' && epoch === counter.epoch
        const swept = counter.blockReported ? counter : giveBack(counter, isLost)
        return countedAttempts.sweep(put(card, kind, swept), kind)
      },
    },
    rule: 4,
  },
  'one more is compared than there are tries': {
    algorithm: withSteps(spendsOneMore, compare, settles),
    rule: 5,
  },
  'a mismatch gives back its try': {
    algorithm: restoring((counter, local) =>
      local.comparison === 'mismatch'
        ? giveBack(counter, ({ number }) => number === local.number)
        : restore(counter, local),
    ),
    rule: 5,
  },
  'a card is blocked with a try left': {
    algorithm: withSteps(
      {
        act: 'spend',
        take: (card, local) => {
          const isLast = left(card[local.kind]) === 1
          return isLast
            ? { stored: card, local, answer: { remaining: 0, recorded: [] } }
            : spend(card, local)
        },
      },
      compare,
      settles,
    ),
    rule: 5,
  },
  'PIN and CVV spend from one counter': {
    algorithm: withSteps(
      {
        act: 'spend',
        take: (card, local) => {
          const taken = spend(card, local)
          const other = local.kind === 'pin' ? 'cvv' : 'pin'
          const spent = card[other].spent + 1
          return taken && { ...taken, stored: put(taken.stored, other, { spent }) }
        },
      },
      compare,
      settles,
    ),
    rule: 6,
  },
  'the attempt is put on record with its result only': {
    algorithm: {
      ...countedAttempts,
      view: (card, kind) => {
        const { attempts, ...others } = countedAttempts.view(card, kind)
        return { ...others, attempts: attempts.filter(({ result }) => result !== 'unresolved') }
      },
    },
    rule: 7,
  },
  'a block is told while another try may still match': {
    algorithm: withSteps(spends, compare, settlesWith({ mayTell: () => true })),
    rule: 7,
  },
  'a match that was taken for lost unblocks what was told as blocked': {
    algorithm: withSteps(spends, compare, settlesWith({ changesNothing: isOfAnOldEpoch })),
    rule: 7,
  },
  'the last two mismatches each take the other for pending, and nobody tells of the block': {
    algorithm: withSteps(spends, compare, ...looksBeforeTheLock),
    rule: 7,
  },
  'no sweep tells of a block whose process was lost': {
    algorithm: { ...countedAttempts, sweep: (stored) => ({ stored, recorded: [] }) },
    rule: 7,
  },
  'a sweep does not wait for tries that may still match': {
    algorithm: {
      ...countedAttempts,
      sweep: (stored, kind) => {
        const isDue = !stored[kind].blockReported && left(stored[kind]) === 0
        return isDue
          ? { stored: put(stored, kind, { blockReported: true }), recorded: ['blocked'] }
          : { stored, recorded: [] }
      },
    },
    rule: 7,
  },
  'a result waits until nobody else is being compared': {
    algorithm: withSteps(spends, compare, {
      act: 'settle',
      take: (card, local) => {
        const { attempts } = card[local.kind]
        const others = attempts.filter(({ number }) => number !== local.number)
        return others.some(({ result, restored }) => result === 'unresolved' && !restored)
          ? null
          : settle(card, local)
      },
    }),
    rule: 0,
  },
}
