/** What the entries of a log say, one after another: that no number is left out, and what was erased. */
import type { Report } from './findings.ts'

/** Entries of a log from one to another, both among them. */
type Range = readonly [from: number, to: number]

/** What a successor's first entry says of the log before it. */
export interface Succession {
  /** Of the successor; the log before it has the number before. */
  readonly log: number
  /** The newest checkpoint that was known of the log before; null where it had none. */
  readonly predecessorCheckpoint: string | null
  readonly reason: string
}

/** What was read from the entries of one log. */
export interface Acts {
  /** @param text what it says; null where that is not there, undefined where it is not what was signed */
  see(index: number, text: string | null | undefined): void
  /** Entries that say nothing, in their order. */
  readonly silent: readonly Range[]
  /** What erasures cover, by the origin of their log. */
  readonly erasures: readonly { readonly origin: string; readonly range: Range }[]
  readonly succession: Succession | null
}

/** Takes the entries of one log in, in their order. */
export function createActs(report: Report): Acts {
  const cards = new Map<string, Place>()
  const silent: [number, number][] = []
  const erasures: Acts['erasures'][number][] = []
  let lastNumber: Place | null = null
  let succession: Succession | null = null
  let silences = 0
  /** Reports a gap before a number. @returns its place. */
  const follow = (kind: Kind, last: Place | null, value: number, where: string, of = ''): Place => {
    const detail = `${names[kind]} ${value}${of} comes after ${last?.value}`
    const missing = last ? value - last.value - 1 : 0
    if (missing < 0) report(`${kind}_repeated`, where, detail)
    // Where so many entries between the two say nothing any more, what is missing may be among them.
    if (missing > silences - (last?.silences ?? 0)) report(`${kind}_skipped`, where, detail)
    return { value, silences }
  }
  const begin = (text: string | null | undefined): void => {
    succession = typeof text === 'string' ? successionOf(read(text)) : null
    // The first log of all begins with 1. One that follows another says so in its first entry, which is never erased.
    if (text !== undefined && !succession) lastNumber = { value: 0, silences: 0 }
  }
  const count = ({ card, number, sequence }: Said, where: string): void => {
    if (number !== undefined) lastNumber = follow('number', lastNumber, Number(number), where)
    if (typeof card === 'string' && typeof sequence === 'number') {
      const last = cards.get(card) ?? null
      cards.set(card, follow('sequence', last, sequence, where, ` of card ${card}`))
    }
  }
  return {
    silent,
    erasures,
    get succession() {
      return succession
    },
    see(index, text) {
      if (index === 0) begin(text)
      if (typeof text !== 'string') {
        silences += 1
        if (text === null) extend(silent, index)
        return
      }
      const said = read(text)
      count(said, `entry ${index}`)
      erasures.push(...erasuresOf(said))
    },
  }
}

/** Adds an entry to ranges that end before it. */
function extend(ranges: [number, number][], index: number): void {
  const last = ranges.at(-1)
  if (last?.[1] === index - 1) last[1] = index
  else ranges.push([index, index])
}

/** A number that was seen, and how many entries had said nothing by then. */
interface Place {
  readonly value: number
  readonly silences: number
}

type Kind = 'number' | 'sequence'

const names: Readonly<Record<Kind, string>> = { number: 'act', sequence: 'event' }

type Said = Readonly<Record<string, unknown>>

/** The members of an entry's text; none where it is no object. */
function read(text: string): Said {
  try {
    const said: unknown = JSON.parse(text)
    return typeof said === 'object' && said !== null ? { ...said } : {}
  } catch {
    return {}
  }
}

const detailsOf = ({ details }: Said): Record<string, unknown> =>
  typeof details === 'object' && details !== null ? { ...details } : {}

function erasuresOf(said: Said): Acts['erasures'][number][] {
  if (said.act !== 'entries.erased') return []
  const { ranges } = detailsOf(said)
  const pairs: unknown[] = Array.isArray(ranges) ? ranges : []
  return pairs.flatMap((pair) => {
    const [from, to] = Array.isArray(pair) ? pair : []
    const isRange = Number.isSafeInteger(from) && Number.isSafeInteger(to)
    return isRange ? [{ origin: String(said.subject), range: [from, to] as const }] : []
  })
}

function successionOf(said: Said): Succession | null {
  const { log, predecessorCheckpoint } = detailsOf(said)
  if (said.act !== 'log.succeeded' || !Number.isSafeInteger(log)) return null
  const checkpoint = typeof predecessorCheckpoint === 'string' ? predecessorCheckpoint : null
  return { log: Number(log), predecessorCheckpoint: checkpoint, reason: String(said.reason ?? '') }
}

/** Of ranges in their order what others do not cover. */
export function uncovered(ranges: readonly Range[], covers: readonly Range[]): Range[] {
  const sorted = covers.toSorted((one, other) => one[0] - other[0])
  let next = 0
  const left: Range[] = []
  for (const [from, to] of ranges) {
    let at = from
    // Covers may overlap: the one before may reach into this range, too.
    for (let cover = sorted[next]; cover && cover[0] <= to; cover = sorted[next]) {
      if (cover[0] > at) left.push([at, cover[0] - 1])
      at = Math.max(at, cover[1] + 1)
      if (cover[1] > to) break
      next += 1
    }
    if (at <= to) left.push([at, to])
  }
  return left
}
