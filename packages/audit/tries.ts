/** Checks the tries of cards, which are numbered from 1 for each card and kind. */
import type { Report } from './findings.ts'

/** A try in an entry. */
interface EnteredTry {
  readonly card: string
  readonly act: string
  readonly value: number
  /** Whether the entry says that the try had no result. */
  readonly isUnresolved: boolean
  readonly where: string
  /** The entry's time in milliseconds. */
  readonly time: number
  /** The number of entries without text before it. */
  readonly silences: number
}

/**
 * The tries of a card and a kind. They are entered when their results become known, so roughly in
 * order.
 */
interface Tries {
  readonly card: string
  readonly act: string
  /**
   * The first number seen; all from it to `top` were seen, and `others` beyond or before, with
   * their number before it.
   */
  readonly base: number
  top: number
  readonly others: Set<number>
  /** Those without a result, which a late answer may still give. */
  readonly unresolved: Set<number>
  below: number
  highest: number
  silences: number
  where: string
  /** Since when a number is missing, by the entries' times; null if none is. */
  missingSince: number | null
}

/** How long the result of a try may be pending while later ones are entered. */
const settleMs = 120_000

/**
 * The maximum number of tries of a card. A client's block uses the remaining ones with their
 * numbers.
 */
const triesMost = 15

/** Creates the check of the tries in one log. */
export function createTries(
  {
    isOlder,
    isSuccessor,
  }: {
    /** Whether the log follows another one, which may contain the first tries. */
    readonly isSuccessor: boolean
    /** Whether a card may begin with another number than 1, since it is older than the log. */
    readonly isOlder: (card: string) => boolean
  },
  report: Report,
) {
  const tries = new Map<string, Tries>()
  /** The maximum number of tries that clients' blocks may have used, by card and kind. */
  const taken = new Map<string, number>()
  let newest = 0
  let isResumed = isSuccessor
  const countMissing = ({ base, below, highest, others, top }: Tries) => ({
    inner: highest - top - (others.size - below),
    leading: isResumed ? 0 : base - 1 - below,
  })
  const finish = (own: Tries): void => {
    const { act, card, missingSince, silences, where } = own
    // If the log ends soon after, the missing try may be pending.
    if (missingSince === null || newest - missingSince < settleMs) return
    const { inner, leading } = countMissing(own)
    const explained = silences + (taken.get(`${card} ${act}`) ?? 0)
    const isBefore = leading > explained && isOlder(card)
    const missing = inner + (isBefore ? 0 : leading)
    if (missing <= explained) return
    const detail = `${missing} tries (${act}) of card ${card} up to here were never entered`
    report('try_skipped', where, detail)
  }
  return {
    /** Notes the time of an entry. */
    pass(time: number): void {
      newest = Math.max(newest, time)
    },
    /**
     * Counts a block by the client: it takes the remaining tries of the card, which then have no
     * entries.
     */
    takeAway(card: string, act: string): void {
      const key = `${card} ${act}`
      taken.set(key, (taken.get(key) ?? 0) + triesMost)
    },
    count(entered: EnteredTry): void {
      const { act, card, isUnresolved, silences, time, value, where } = entered
      const key = `${card} ${act}`
      const known = tries.get(key)
      const own = known ?? beginTries(entered)
      if (known && hasTry(own, value)) {
        const isLateAnswer = own.unresolved.delete(value)
        if (isLateAnswer) return
        report('try_repeated', where, `${act} ${value} of card ${card} occurs twice`)
        return
      }
      if (isUnresolved) own.unresolved.add(value)
      if (known) addTry(own, value)
      const { inner, leading } = countMissing(own)
      own.missingSince = inner + leading > 0 ? (own.missingSince ?? time) : null
      own.silences = silences
      own.where = where
      tries.set(key, own)
    },
    /** Begins anew, with any numbers: the cards of a sandbox were restored. */
    restart(): void {
      for (const each of tries.values()) finish(each)
      tries.clear()
      taken.clear()
      isResumed = true
    },
    /** Reports missing tries. */
    finish(): void {
      for (const each of tries.values()) finish(each)
    },
  }
}

const hasTry = ({ base, others, top }: Tries, value: number): boolean =>
  (value >= base && value <= top) || others.has(value)

function addTry(own: Tries, value: number): void {
  own.others.add(value)
  if (value < own.base) own.below += 1
  own.highest = Math.max(own.highest, value)
  while (own.others.delete(own.top + 1)) own.top += 1
}

const beginTries = ({ act, card, silences, value, where }: EnteredTry): Tries => ({
  card,
  act,
  base: value,
  top: value,
  others: new Set(),
  unresolved: new Set(),
  below: 0,
  highest: value,
  silences,
  where,
  missingSince: null,
})
