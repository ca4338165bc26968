/**
 * Numbers that entries bear without gaps: of acts, of a card's events, and of its tries of each
 * kind.
 */
import type { Report } from './findings.ts'
import type { EntryText } from './said.ts'
import { createTries } from './tries.ts'

/** Follows the numbers of one log. */
export interface Gaps {
  /** Takes in an entry that says nothing. */
  skip(): void
  /** Takes in what an entry says. */
  count(said: EntryText, where: string): void
  /**
   * Reports what can only be told at the end.
   * @returns how many cards begin with another number than 1.
   */
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

type Kind = 'number' | 'sequence'

const names: Readonly<Record<Kind, string>> = { number: 'act', sequence: 'event' }

const before: Place = { value: 0, silences: 0 }

/** Follows the numbers of one log from its beginning. */
export function createGaps({ isSuccessor, olderCards }: Beginning, report: Report): Gaps {
  const cards = new Map<string, Place>()
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
        ? `${names[kind]} ${value}${of} is the first, and 1 is missing`
        : `${names[kind]} ${value}${of} follows ${last?.value}`
    const missing = last ? value - last.value - 1 : 0
    if (missing < 0) report(`${kind}_repeated`, where, detail)
    // Where so many entries between the two say nothing any more, what is missing may be among
    // them.
    if (missing > silences - (last?.silences ?? 0)) report(`${kind}_skipped`, where, detail)
    return { value, silences }
  }
  const countEvent = (card: string, sequence: number, where: string): void => {
    const last = cards.get(card) ?? first
    const isLate = last === before && sequence - 1 > silences
    const known = isLate && isOlder(card) ? null : last
    cards.set(card, follow('sequence', known, sequence, where, ` of card ${card}`))
  }
  const tries = createTries({ isSuccessor, isOlder }, report)
  return {
    skip: () => {
      silences += 1
    },
    count({ act, at, card, details, number, sequence }, where) {
      const time = Date.parse(String(at)) || 0
      tries.pass(time)
      if (number !== undefined) lastNumber = follow('number', lastNumber, Number(number), where)
      if (typeof card !== 'string') return
      if (typeof sequence === 'number') countEvent(card, sequence, where)
      const blocked = /^(pin|cvv)\.blocked$/.exec(String(act))?.[1]
      if (blocked && details.blockedBy === 'client') tries.takeAway(card, `${blocked}.attempted`)
      const { tryNumber } = details
      const isTry = act === 'pin.attempted' || act === 'cvv.attempted'
      if (isTry && typeof tryNumber === 'number') {
        tries.count({ card, act, value: tryNumber, where, time, silences })
      }
    },
    finish() {
      tries.finish()
      return older.size
    },
  }
}
