/** The texts of entries: a file for each 256 entries, with one line each. */
import { AuditFault } from './audit-fault.ts'
import { fromBase64, isSame, toBase64, utf8 } from './bytes.ts'
import type { Report } from './findings.ts'
import { tileWidth } from './tiles.ts'
import { computeCommitment, encodeEntry, leafHash } from './tree.ts'

/**
 * Reads a file of a log by its path; null when it does not exist. @throws AuditFault `unreachable`
 */
export type ReadFile = (path: string) => Promise<Uint8Array | null>

/** The files of a log, and the receiver of findings. */
export interface Files {
  readonly read: ReadFile
  readonly report: Report
}

/** The text of an entry and the leaf hash computed from it. */
export interface Opening {
  readonly text: string
  readonly leaf: Uint8Array
}

/** A line of an entry: salt and text, or null if it was erased. */
interface Line {
  readonly index: number
  readonly said: { readonly salt: Uint8Array; readonly text: string } | null
}

/** Returns the path of a bundle's openings. */
export const openingsPath = (index: number): string => `openings/${index}.jsonl`

/**
 * Reads the openings of a bundle by position, and reports lines without an entry or in another than
 * the canonical form.
 */
export async function readOpenings(
  { read, report }: Files,
  index: number,
  width: number,
): Promise<(Opening | undefined)[]> {
  const path = openingsPath(index)
  const openings: (Opening | undefined)[] = Array.from({ length: width })
  const bytes = await read(path)
  if (!bytes) return openings
  const { isWhole, lines } = linesIn(bytes)
  const placed = placeLines(lines, index, report)
  const others = placed.filter(
    ({ at, line, text }, place) => text !== formatLine(line) || at < (placed[place - 1]?.at ?? 0),
  )
  const count = others.length + (isWhole ? 0 : 1)
  if (count > 0) {
    const detail = `${count} of its lines do not have the form or order of an export`
    report('form_changed', path, detail)
  }
  const behind = placed.filter(({ at }) => at >= width)
  if (behind.length > 0) {
    const last = index * tileWidth + width - 1
    report('entry_added', path, `it has ${behind.length} entries after the last one, ${last}`)
  }
  for (const { at, line } of placed) {
    if (at < width) openings[at] = parseOpening(line)
  }
  return openings
}

/** A line, and the position of its entry in the bundle. */
interface PlacedLine {
  readonly text: string
  readonly line: Line
  readonly at: number
}

/** Returns the lines of a bundle, the first of each entry, and reports the others. */
function placeLines(lines: readonly string[], index: number, report: Report): PlacedLine[] {
  const path = openingsPath(index)
  const seen = new Set<number>()
  return lines.flatMap((text, number): PlacedLine[] => {
    const line = parseLine(text)
    const at = (line?.index ?? -1) - index * tileWidth
    if (!line || at < 0 || at >= tileWidth) {
      report('opening_changed', path, `line ${number + 1} is not an opening of an entry`)
      return []
    }
    if (seen.has(at)) {
      report('opening_changed', `entry ${line.index}`, `${path} has it twice`)
      return []
    }
    seen.add(at)
    return [{ text, line, at }]
  })
}

/**
 * The maximum number of lines: four times as many as an export writes. More lines make the file
 * invalid.
 */
const mostLines = 4 * tileWidth

/**
 * Splits a file into lines. Reports whether the file is entirely UTF-8 and every line is
 * terminated.
 */
function linesIn(bytes: Uint8Array): { readonly lines: string[]; readonly isWhole: boolean } {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const lines = text.split('\n', mostLines)
  const isEnded = lines.at(-1) === ''
  if (isEnded) lines.pop()
  // Decoding invalid UTF-8 yields a text with other bytes.
  return { lines, isWhole: isEnded && isSame(utf8(text), bytes) }
}

function parseOpening({ said }: Line): Opening | undefined {
  if (!said) return undefined
  const { salt, text } = said
  return { text, leaf: leafHash(encodeEntry(computeCommitment(salt, text))) }
}

/** Formats a line canonically: an equivalent form could hide the line from a text search. */
const formatLine = ({ index, said }: Line): string =>
  JSON.stringify(
    said ? { index, salt: toBase64(said.salt), text: said.text } : { index, erased: true },
  )

function parseLine(line: string): Line | null {
  try {
    const { erased, index, salt, text } = JSON.parse(line)
    if (!Number.isSafeInteger(index)) return null
    if (erased === true) return { index, said: null }
    if (typeof text !== 'string' || typeof salt !== 'string') return null
    return { index, said: { salt: fromBase64(salt), text } }
  } catch (error) {
    const isNoLine = error instanceof SyntaxError || error instanceof TypeError
    if (isNoLine || error instanceof AuditFault) return null
    throw error
  }
}
