/** Checks numbers without gaps: of acts, of a card's events, and of its tries of each kind. */
import type { Report } from './findings.ts'
import type { EntryText } from './said.ts'
import { createTries } from './tries.ts'

/** Checks the numbers of one log. */
export interface Gaps {
  /** Counts an entry without text. */
  skip(): void
  /** Begins anew for cards, with any numbers: a sandbox was restored to a snapshot. */
  restart(): void
  /** Counts an entry's text. */
  count(said: EntryText, where: string): void
  /**
   * Reports gaps that only the end shows.
   * @returns the number of cards whose first number is not 1.
   */
  finish(): number
}

/** The beginning of a log. */
export interface Beginning {
  /** Whether it follows another log, which may contain the earlier numbers. */
  readonly isSuccessor: boolean
  /** The number of cards that it declares older than itself: no log has their first numbers. */
  readonly olderCards: number
}

/** A number, and the number of entries without text before it. */
interface Place {
  readonly value: number
  readonly silences: number
}

type Kind = 'number' | 'sequence'

const names: Readonly<Record<Kind, string>> = { number: 'act', sequence: 'event' }

const before: Place = { value: 0, silences: 0 }

/** Creates the check of one log from its beginning. */
export function createGaps({ isSuccessor, olderCards }: Beginning, report: Report): Gaps {
  const cards = new Map<string, Place>()
  const older = new Set<string>()
  let first = isSuccessor ? null : before
  let lastNumber = first
  let silences = 0
  /**
   * Whether a card may begin with another number than 1: at most as many cards as are older than
   * the log.
   */
  const isOlder = (card: string): boolean => {
    if (older.size < olderCards) older.add(card)
    return older.has(card)
  }
  /** Reports a gap before a number. @returns its position. */
  const follow = (kind: Kind, last: Place | null, value: number, where: string, of = ''): Place => {
    const detail =
      last === before
        ? `${names[kind]} ${value}${of} is the first, and 1 is missing`
        : `${names[kind]} ${value}${of} follows ${last?.value}`
    const missing = last ? value - last.value - 1 : 0
    if (missing < 0) report(`${kind}_repeated`, where, detail)
    // If enough entries between the two have no text, the missing numbers may be among them.
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
    restart() {
      tries.restart()
      cards.clear()
      first = null
    },
    count({ act, at, card, details, number, reason, sequence }, where) {
      const time = Date.parse(String(at)) || 0
      tries.pass(time)
      if (number !== undefined) lastNumber = follow('number', lastNumber, Number(number), where)
      if (typeof card !== 'string') return
      if (typeof sequence === 'number') countEvent(card, sequence, where)
      const blocked = /^(pin|cvv)\.blocked$/.exec(String(act))?.[1]
      if (blocked && details.blockedBy === 'client') tries.takeAway(card, `${blocked}.attempted`)
      const attempt = findAttempt(String(act), details)
      if (attempt) {
        const isUnresolved = reason === 'unresolved'
        tries.count({ ...attempt, card, isUnresolved, where, time, silences })
      }
    },
    finish() {
      tries.finish()
      return older.size
    },
  }
}

/** The acts of the entries of tries, by the check that spent one. */
const attemptActs: Readonly<Record<string, string>> = {
  pin: 'pin.attempted',
  cvv2: 'cvv.attempted',
}

/**
 * Finds the try in an entry: the last try of an authorization is in the entry of its answer; a try
 * without an answer has an entry of its own.
 */
function findAttempt(act: string, details: EntryText['details']) {
  const { checks, tryNumber } = details
  if (typeof tryNumber !== 'number') return null
  if (act === 'pin.attempted' || act === 'cvv.attempted') return { act, value: tryNumber }
  if (!act.startsWith('authorization.') || !Array.isArray(checks)) return null
  const acts = checks.flatMap((check: unknown) => {
    const isCheck = typeof check === 'object' && check !== null && 'check' in check
    return isCheck ? (attemptActs[String(check.check)] ?? []) : []
  })
  const last = acts.at(-1)
  return last === undefined ? null : { act: last, value: tryNumber }
}
