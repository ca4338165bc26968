/** Numbers that entries bear without gaps: of acts, of a card's events, and of its tries of each kind. */
import type { Report } from './findings.ts'
import type { Said } from './said.ts'

/** Follows the numbers of one log. */
export interface Gaps {
  /** Takes in an entry that says nothing. */
  skip(): void
  /** Takes in what an entry says. */
  count(said: Said, where: string): void
  /** Reports what can only be told at the end. @returns how many cards begin with another number than 1. */
  finish(): number
}

/** Where a log begins. */
export interface Beginning {
  /** Whether it follows another log, which may have the numbers before its own. */
  readonly isSuccessor: boolean
  /** How many cards it says to be older than itself: the first numbers of these are in no log. */
  readonly olderCards: number
}

/** A number that was seen, and how many entries had said nothing by then. */
interface Place {
  readonly value: number
  readonly silences: number
}

/** The tries of a card and a kind. They are entered as their results become known, so not quite in their order. */
interface Tries {
  readonly card: string
  /** The first that was seen; all from it to `top` were, and these, which are beyond or before. */
  readonly base: number
  top: number
  readonly others: Set<number>
  silences: number
  where: string
}

type Kind = 'number' | 'sequence'

const names: Readonly<Record<Kind, string>> = { number: 'act', sequence: 'event' }

const before: Place = { value: 0, silences: 0 }

/** Follows the numbers of one log from its beginning. */
export function createGaps({ isSuccessor, olderCards }: Beginning, report: Report): Gaps {
  const cards = new Map<string, Place>()
  const tries = new Map<string, Tries>()
  const older = new Set<string>()
  const first = isSuccessor ? null : before
  let lastNumber = first
  let silences = 0
  /** Whether a card may begin with another number than 1: as many may as are older than the log. */
  const isOlder = (card: string): boolean => {
    if (older.size < olderCards) older.add(card)
    return older.has(card)
  }
  /** Reports a gap before a number. @returns its place. */
  const follow = (kind: Kind, last: Place | null, value: number, where: string, of = ''): Place => {
    const detail =
      last === before
        ? `${names[kind]} ${value}${of} is the first, and 1 is not there`
        : `${names[kind]} ${value}${of} comes after ${last?.value}`
    const missing = last ? value - last.value - 1 : 0
    if (missing < 0) report(`${kind}_repeated`, where, detail)
    // Where so many entries between the two say nothing any more, what is missing may be among them.
    if (missing > silences - (last?.silences ?? 0)) report(`${kind}_skipped`, where, detail)
    return { value, silences }
  }
  const countEvent = (card: string, sequence: number, where: string): void => {
    const last = cards.get(card) ?? first
    const isLate = last === before && sequence - 1 > silences
    const known = isLate && isOlder(card) ? null : last
    cards.set(card, follow('sequence', known, sequence, where, ` of card ${card}`))
  }
  const countTry = (card: string, act: string, value: number, where: string): void => {
    const key = `${card} ${act}`
    const known = tries.get(key)
    if (!known) {
      tries.set(key, { card, base: value, top: value, others: new Set(), silences, where })
      return
    }
    const { base, others } = known
    if ((value >= base && value <= known.top) || others.has(value)) {
      report('try_repeated', where, `${act} ${value} of card ${card} is there twice`)
    }
    others.add(value)
    while (others.delete(known.top + 1)) known.top += 1
    known.silences = silences
    known.where = where
  }
  const finishTries = (act: string, { base, card, others, top, ...last }: Tries): void => {
    const above = [...others].filter((value) => value > top)
    const below = others.size - above.length
    const inner = above.length > 0 ? above.reduce((a, b) => Math.max(a, b)) - top - above.length : 0
    const leading = isSuccessor ? 0 : base - 1 - below
    const isBefore = leading > last.silences && isOlder(card)
    const missing = inner + (isBefore ? 0 : leading)
    if (missing > last.silences) {
      const detail = `${missing} tries (${act}) of card ${card} up to here were never entered`
      report('try_skipped', last.where, detail)
    }
  }
  return {
    skip: () => {
      silences += 1
    },
    count({ act, card, details, number, sequence }, where) {
      if (number !== undefined) lastNumber = follow('number', lastNumber, Number(number), where)
      if (typeof card !== 'string') return
      if (typeof sequence === 'number') countEvent(card, sequence, where)
      const { tryNumber } = details
      const isTry = act === 'pin.attempted' || act === 'cvv.attempted'
      if (isTry && typeof tryNumber === 'number') countTry(card, act, tryNumber, where)
    },
    finish() {
      for (const [key, each] of tries) finishTries(key.slice(each.card.length + 1), each)
      return older.size
    },
  }
}
