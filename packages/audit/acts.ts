/**
 * What the entries of a log say, one after another: that no number is left out, and what was
 * erased.
 */

import type { Report } from './findings.ts'
import { type Beginning, createGaps, type Gaps } from './gaps.ts'
import { type Range, rangesIn } from './ranges.ts'
import { type EntryText, isCanonical, parseEntryText, textIn } from './said.ts'

/** What a successor's first entry says of the log before it. */
export interface Succession {
  /** Of the successor; the log before it has the number before. */
  readonly log: number
  /** The newest checkpoint that was known of the log before; null where it had none. */
  readonly predecessorCheckpoint: string | null
  readonly reason: string
}

/** An entry that asks for an erasure. */
export interface ErasureRequest {
  readonly erasure: string
  readonly index: number
  /** Of what: a card, a client, or what is old. */
  readonly of: string | null
  /** Who asked; null of what is old. */
  readonly by: string | null
  readonly reason: string
}

/** An entry that names other entries as erased. */
export interface ErasureEntry {
  readonly index: number
  /** The log whose entries it names. */
  readonly origin: string
  /** The request that it belongs to. */
  readonly erasure: string | null
  readonly by: string | null
  /** Null where they are none. */
  readonly ranges: readonly Range[] | null
}

/** What was read from the entries of one log. */
export interface Acts {
  /**
   * @param text what it says; null where that is not there, undefined where it is not what was
   *   signed
   */
  see(index: number, text: string | null | undefined): void
  /** Reports what can only be told when all entries were seen. */
  finish(): void
  /** Entries that say nothing, in their order. */
  readonly silent: readonly Range[]
  readonly requests: readonly ErasureRequest[]
  readonly erasures: readonly ErasureEntry[]
  readonly succession: Succession | null
  /**
   * How many cards the log says to be older than itself, and how many of these begin in its midst.
   */
  readonly older: { readonly said: number; readonly met: number }
}

/** Takes the entries of one log in, in their order. */
export function createActs(report: Report): Acts {
  const silent: [number, number][] = []
  const [requests, erasures]: [ErasureRequest[], ErasureEntry[]] = [[], []]
  const older = { said: 0, met: 0 }
  let succession: Succession | null = null
  let gaps: Gaps = createGaps({ isSuccessor: false, olderCards: 0 }, report)
  const begin = (text: string | null | undefined): void => {
    const said = parseEntryText(text ?? '')
    succession = parseSuccession(said)
    older.said = parseOlderCards(said)
    // The first log of all begins with 1. One that follows another says so in its first entry,
    // which is never erased.
    const isSuccessor = text === undefined || succession !== null
    const beginning: Beginning = { isSuccessor, olderCards: older.said }
    gaps = createGaps(beginning, report)
  }
  return {
    silent,
    requests,
    erasures,
    older,
    get succession() {
      return succession
    },
    see(index, text) {
      if (index === 0) begin(text)
      if (typeof text !== 'string') {
        gaps.skip()
        if (text === null) extend(silent, index)
        return
      }
      if (!isCanonical(text)) {
        report('form_changed', `entry ${index}`, 'its text does not have the form of an entry')
      }
      const said = parseEntryText(text)
      gaps.count(said, `entry ${index}`)
      if (said.act === 'erasure.requested') requests.push(parseRequest(said, index))
      if (said.act === 'entries.erased') erasures.push(parseErasure(said, index))
    },
    finish() {
      older.met = gaps.finish()
    },
  }
}

/** Adds an entry to ranges that end before it. */
function extend(ranges: [number, number][], index: number): void {
  const last = ranges.at(-1)
  if (last?.[1] === index - 1) last[1] = index
  else ranges.push([index, index])
}

const parseRequest = ({ client, details, subject }: EntryText, index: number): ErasureRequest => ({
  erasure: String(subject),
  index,
  of: textIn(details.of),
  by: textIn(client),
  reason: textIn(details.reason) ?? '',
})

const parseErasure = ({ details, subject }: EntryText, index: number): ErasureEntry => ({
  index,
  origin: String(subject),
  erasure: textIn(details.erasure),
  by: textIn(details.requestedBy),
  ranges: rangesIn(details.ranges),
})

function parseSuccession({ act, details, reason }: EntryText): Succession | null {
  const { log } = details
  if (act !== 'log.succeeded' || !Number.isSafeInteger(log)) return null
  const predecessorCheckpoint = textIn(details.predecessorCheckpoint)
  return { log: Number(log), predecessorCheckpoint, reason: textIn(reason) ?? '' }
}

function parseOlderCards({ act, details }: EntryText): number {
  const { olderCards } = details
  return act === 'log.began' && Number.isSafeInteger(olderCards) ? Number(olderCards) : 0
}
