/** The tries of cards, which are numbered from 1 on: of each card and each kind. */
import type { Report } from './findings.ts'

/** A try as an entry tells of it. */
interface EnteredTry {
  readonly card: string
  readonly act: string
  readonly value: number
  readonly where: string
  /** When, in milliseconds, by the entry's own time. */
  readonly time: number
  /** How many entries have said nothing by then. */
  readonly silences: number
}

/**
 * The tries of a card and a kind. They are entered as their results become known, so not quite in
 * their order.
 */
interface Tries {
  readonly card: string
  readonly act: string
  /**
   * The first that was seen; all from it to `top` were, and `others` beyond or before, so many of
   * them before.
   */
  readonly base: number
  top: number
  readonly others: Set<number>
  below: number
  highest: number
  silences: number
  where: string
  /** Since when one is missing, by the entries' own times; null where none is. */
  missingSince: number | null
}

/** For how long the result of a try may be awaited while those after it are entered. */
const settleMs = 120_000

/**
 * The most tries of a card. A client's block takes those that are left, and with them their
 * numbers.
 */
const triesMost = 15

/** Follows the tries that the entries of one log tell of. */
export function createTries(
  {
    isOlder,
    isSuccessor,
  }: {
    /** Whether the log follows another, which may have the first tries. */
    readonly isSuccessor: boolean
    /** Whether a card may begin with another number than 1, since it is older than the log. */
    readonly isOlder: (card: string) => boolean
  },
  report: Report,
) {
  const tries = new Map<string, Tries>()
  /** How many numbers clients' blocks may have taken, of each card and kind. */
  const taken = new Map<string, number>()
  let newest = 0
  const countMissing = ({ base, below, highest, others, top }: Tries) => ({
    inner: highest - top - (others.size - below),
    leading: isSuccessor ? 0 : base - 1 - below,
  })
  const finish = (own: Tries): void => {
    const { act, card, missingSince, silences, where } = own
    // Where the log ends so soon, the missing one may still come.
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
    /** Takes in the time of any entry. */
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
      const { act, card, silences, time, value, where } = entered
      const key = `${card} ${act}`
      const known = tries.get(key)
      const own = known ?? beginTries(entered)
      if (known && ((value >= own.base && value <= own.top) || own.others.has(value))) {
        report('try_repeated', where, `${act} ${value} of card ${card} occurs twice`)
        return
      }
      if (known) own.others.add(value)
      if (value < own.base) own.below += 1
      own.highest = Math.max(own.highest, value)
      while (own.others.delete(own.top + 1)) own.top += 1
      const { inner, leading } = countMissing(own)
      own.missingSince = inner + leading > 0 ? (own.missingSince ?? time) : null
      own.silences = silences
      own.where = where
      tries.set(key, own)
    },
    /** Reports what is missing. */
    finish(): void {
      for (const each of tries.values()) finish(each)
    },
  }
}

const beginTries = ({ act, card, silences, value, where }: EnteredTry): Tries => ({
  card,
  act,
  base: value,
  top: value,
  others: new Set(),
  below: 0,
  highest: value,
  silences,
  where,
  missingSince: null,
})
