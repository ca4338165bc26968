/**
 * Reads the entries of a log in order and checks that no number is missing and which entries were
 * erased.
 */

import type { Report } from './findings.ts'
import { type Beginning, createGaps, type Gaps } from './gaps.ts'
import { type Range, rangesIn } from './ranges.ts'
import { type EntryText, isCanonical, parseEntryText, textIn } from './said.ts'

/** The first entry of a successor, which describes the previous log. */
export interface Succession {
  /** The successor's number; the previous log has the number before it. */
  readonly log: number
  /** The newest known checkpoint of the previous log; null without one. */
  readonly predecessorCheckpoint: string | null
  readonly reason: string
}

/** An entry that requests an erasure. */
export interface ErasureRequest {
  readonly erasure: string
  readonly index: number
  /** The subject: a card, a client or old entries. */
  readonly of: string | null
  /** The requester; null for old entries. */
  readonly by: string | null
  readonly reason: string
}

/** An entry that lists erased entries. */
export interface ErasureEntry {
  readonly index: number
  /** The log of the erased entries. */
  readonly origin: string
  /** The erasure's ID. */
  readonly erasure: string | null
  readonly by: string | null
  /** Null when malformed. */
  readonly ranges: readonly Range[] | null
}

/** The results of reading one log's entries. */
export interface Acts {
  /**
   * @param text the entry's text; null if it is missing, undefined if it does not match the signed
   *   entry
   */
  see(index: number, text: string | null | undefined): void
  /** Reports faults that only the end of the log shows. */
  finish(): void
  /** Entries without text, in order. */
  readonly silent: readonly Range[]
  readonly requests: readonly ErasureRequest[]
  readonly erasures: readonly ErasureEntry[]
  readonly succession: Succession | null
  /** How often a sandbox was restored to a snapshot. The log of a production has none. */
  readonly restores: number
  /**
   * How many cards the log declares older than itself, and how many cards have a first number other
   * than 1.
   */
  readonly older: { readonly said: number; readonly met: number }
}

/** Creates the reader of one log's entries, in order. */
export function createActs(report: Report): Acts {
  const silent: [number, number][] = []
  const [requests, erasures]: [ErasureRequest[], ErasureEntry[]] = [[], []]
  const older = { said: 0, met: 0 }
  let succession: Succession | null = null
  let restores = 0
  let gaps: Gaps = createGaps({ isSuccessor: false, olderCards: 0 }, report)
  const begin = (text: string | null | undefined): void => {
    const said = parseEntryText(text ?? '')
    succession = parseSuccession(said)
    older.said = parseOlderCards(said)
    // The first log begins with 1. A successor declares itself in its first entry, which is never
    // erased.
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
    get restores() {
      return restores
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
      if (said.act === 'sandbox.restored') {
        restores += 1
        gaps.restart()
      }
      gaps.count(said, `entry ${index}`)
      if (said.act === 'erasure.requested') requests.push(parseRequest(said, index))
      if (said.act === 'entries.erased') erasures.push(parseErasure(said, index))
    },
    finish() {
      older.met = gaps.finish()
    },
  }
}

/** Adds an entry to ascending ranges. */
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
