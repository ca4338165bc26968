import {
  type Card,
  count,
  giveBack,
  isPending,
  left,
  outstandingTries,
  put,
  type RequestStep,
  settle,
  spend,
} from './tries-algorithm.ts'
import {
  compare,
  counting,
  isOfAnOldEpoch,
  type Slip,
  settles,
  settlesWith,
  spends,
  withSteps,
} from './tries-slip.ts'

/**
 * Algorithms of tries that are wrong, each by one slip that is easily made, and the rules that it
 * breaks.
 */

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
      const others = counter.outstanding.filter(({ number }) => number !== local.number)
      const read = isPending({ ...counter, outstanding: others }) ? 1 : 0
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
    algorithm: counting((counter, local) =>
      local.comparison === 'match' ? giveBack(counter, () => true) : count(counter, local),
    ),
    rule: 2,
  },
  'a match gives back its own try alone': {
    algorithm: counting((counter, local) =>
      local.comparison === 'match'
        ? giveBack(counter, ({ number }) => number === local.number)
        : count(counter, local),
    ),
    rule: 2,
  },
  'a match gives back what was given back before': {
    algorithm: counting((counter, local) => {
      const after = count(counter, local)
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
      }),
    ),
    rule: 3,
  },
  'an unblock opens no epoch': {
    algorithm: {
      ...outstandingTries,
      change: (card, kind, act) => {
        const { epoch } = card[kind]
        return put(
          outstandingTries.change(card, kind, act),
          kind,
          act === 'unblock' ? { epoch } : {},
        )
      },
    },
    rule: 3,
  },
  'a silent HSM costs the try': {
    algorithm: counting((counter, local) =>
      local.comparison === 'unresolved' ? counter : count(counter, local),
    ),
    rule: 4,
  },
  'a silent HSM gives back a try that a match gave back already': {
    algorithm: counting((counter, local) =>
      local.comparison === 'unresolved'
        ? { ...count(counter, local), restored: counter.restored + 1 }
        : count(counter, local),
    ),
    rule: 4,
  },
  'a sweep gives back the tries that were lost': {
    algorithm: {
      ...outstandingTries,
      sweep: (card, kind) => {
        const counter = card[kind]
        const swept = counter.blockReported
          ? counter
          : giveBack(counter, ({ open }) => open === 'old')
        return outstandingTries.sweep(put(card, kind, swept), kind)
      },
    },
    rule: 4,
  },
  'one more is compared than there are tries': {
    algorithm: withSteps(spendsOneMore, compare, settles),
    rule: 5,
  },
  'a mismatch gives back its try': {
    algorithm: counting((counter, local) =>
      local.comparison === 'mismatch'
        ? giveBack(counter, ({ number }) => number === local.number)
        : count(counter, local),
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
      ...outstandingTries,
      view: (card, kind) => {
        const { attempts, ...others } = outstandingTries.view(card, kind)
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
    algorithm: { ...outstandingTries, sweep: (stored) => ({ stored, recorded: [] }) },
    rule: 7,
  },
  'a sweep does not wait for tries that may still match': {
    algorithm: {
      ...outstandingTries,
      sweep: (stored, kind) => {
        const isDue = !stored[kind].blockReported && left(stored[kind]) === 0
        return isDue
          ? { stored: put(stored, kind, { blockReported: true }), recorded: ['blocked'] }
          : { stored, recorded: [] }
      },
    },
    rule: 7,
  },
  'the first try of an epoch keeps what the one before it left outstanding': {
    algorithm: withSteps(
      {
        act: 'spend',
        take: (card, local) => {
          const { outstanding } = card[local.kind]
          const taken = spend(card, local)
          const own = taken?.stored[local.kind].outstanding.at(-1)
          return taken && own && !taken.answer
            ? {
                ...taken,
                stored: put(taken.stored, local.kind, { outstanding: [...outstanding, own] }),
              }
            : taken
        },
      },
      compare,
      settles,
    ),
    rule: 2,
  },
  'a mismatch leaves its try as one that may match': {
    algorithm: counting((counter, local) =>
      local.comparison === 'mismatch' ? counter : count(counter, local),
    ),
    rule: 7,
  },
  'a mismatch takes itself off what a match would give back': {
    algorithm: counting((counter, local) => {
      const { outstanding } = counter
      const others = outstanding.filter(({ number }) => number !== local.number)
      return local.comparison === 'mismatch'
        ? { ...counter, outstanding: others }
        : count(counter, local)
    }),
    rule: 2,
  },
  'a result waits until nobody else is being compared': {
    algorithm: withSteps(spends, compare, {
      act: 'settle',
      take: (card, local) => {
        const { outstanding } = card[local.kind]
        const others = outstanding.filter(({ number }) => number !== local.number)
        return others.some(({ open }) => open) ? null : settle(card, local)
      },
    }),
    rule: 0,
  },
}
