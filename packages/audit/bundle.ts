/**
 * 256 entries of a log, which its files contain three times: as a tile, as a bundle and as
 * openings.
 */
import { isSame } from './bytes.ts'
import type { FindingCode, Report } from './findings.ts'
import { type Files, type Opening, readOpenings } from './openings.ts'
import { splitBundle, splitTile, tilePath, tileWidth } from './tiles.ts'
import { leafHash } from './tree.ts'

/** An unverified bundle. */
export interface Bundle {
  readonly index: number
  readonly width: number
  /** Leaf hashes of the tile and of the entries; null if the file is missing or malformed. */
  readonly tile: readonly Uint8Array[] | null
  readonly entries: readonly Uint8Array[] | null
  /** The opening at each position; undefined without one. */
  readonly openings: readonly (Opening | undefined)[]
}

/** Reads a bundle and reports missing or malformed files. */
export async function readBundle(
  { read, report }: Files,
  index: number,
  width: number,
): Promise<Bundle> {
  const tile = await readTile({ read, report }, 0, index, width)
  const path = tilePath('entries', index, width)
  const bytes = await read(path)
  const entries = bytes && splitBundle(bytes)
  if (!bytes) report('tile_missing', path, 'it is missing')
  else if (!entries) report('entry_changed', path, 'it ends within an entry')
  const openings = await readOpenings({ read, report }, index, width)
  return {
    index,
    width,
    tile,
    openings,
    entries: entries?.map(leafHash) ?? null,
  }
}

/** Returns the hashes of a tile; null, which is reported, if it is missing or has too few. */
export async function readTile(
  { read, report }: Files,
  level: number,
  index: number,
  width: number,
): Promise<Uint8Array[] | null> {
  const path = tilePath(level, index, width)
  const bytes = await read(path)
  const hashes = bytes && splitTile(bytes)
  if (hashes?.length === width) return hashes
  if (bytes) report('tile_changed', path, `it does not have ${width} hashes`)
  else report('tile_missing', path, 'it is missing')
  return null
}

/** Lists the possible leaves of a bundle: the majority of its files, its tile, and its entries. */
export function listCandidates({ entries, openings, tile, width }: Bundle): Uint8Array[][] {
  const most = Array.from({ length: width }, (_, at) => {
    const inTile = tile?.[at]
    const entry = entries?.[at]
    const opening = openings[at]?.leaf
    if (opening && entry && isSame(opening, entry)) return entry
    return inTile ?? entry ?? opening ?? new Uint8Array(32)
  })
  const whole = [tile, entries].filter((each) => each?.length === width)
  return [most, ...whole.map((each) => [...(each ?? [])])]
}

/** An entry or its text that differs from the signed one. */
export interface Difference {
  readonly index: number
  readonly kind: 'entry' | 'opening'
  readonly right: Uint8Array
  readonly found: Uint8Array
}

/**
 * Compares the files of a bundle with the signed leaves.
 * @returns the differences that are not reported yet.
 */
export function compareBundle(
  bundle: Bundle,
  right: readonly Uint8Array[],
  report: Report,
): Difference[] {
  const { entries, index, openings, tile, width } = bundle
  const first = index * tileWidth
  const bent = right.flatMap((leaf, at) =>
    tile?.[at] && !isSame(tile[at], leaf) ? [first + at] : [],
  )
  if (bent.length > 0) {
    const where = bent.length === 1 ? `entry ${bent[0]}` : `${bent.length} entries from ${bent[0]}`
    report('tile_changed', tilePath(0, index, width), `the hash of ${where} is another`)
  }
  const differences = openings.flatMap((opening, at): Difference[] => {
    const leaf = right[at]
    if (!opening || !leaf || isSame(opening.leaf, leaf)) return []
    return [{ index: first + at, kind: 'opening', right: leaf, found: opening.leaf }]
  })
  return [...differences, ...(entries ? compareEntries(entries, right, first, report) : [])]
}

function compareEntries(
  found: readonly Uint8Array[],
  right: readonly Uint8Array[],
  first: number,
  report: Report,
): Difference[] {
  const differences: Difference[] = []
  let at = 0
  for (const [place, leaf] of right.entries()) {
    const entry = found[at]
    const next = right[place + 1]
    const isElsewhere = (): boolean => found.some((each) => isSame(each, leaf))
    const isDeleted =
      entry === undefined || (next !== undefined && isSame(entry, next) && !isElsewhere())
    const following = found.length > right.length ? found[at + 1] : undefined
    if (entry && isSame(entry, leaf)) at += 1
    else if (following && isSame(following, leaf)) {
      report('entry_added', `entry ${first + place}`, 'the bundle has another entry before it')
      at += 2
    } else if (isDeleted) report('entry_deleted', `entry ${first + place}`, 'the bundle lacks it')
    else {
      differences.push({ index: first + place, kind: 'entry', right: leaf, found: entry })
      at += 1
    }
  }
  const more = found.length - at
  if (more > 0) {
    const last = `entry ${first + right.length - 1}`
    report('entry_added', last, `the bundle has ${more} more after it`)
  }
  return differences
}

/** Reports differing entries; two entries in each other's position are reported as swapped. */
export function reportDifferences(differences: readonly Difference[], report: Report): void {
  const rightful = new Map(
    differences.map((each) => [composeKey(each.kind, each.right), each.index]),
  )
  for (const { found, index, kind } of differences) {
    const owner = rightful.get(composeKey(kind, found))
    const code: FindingCode = owner === undefined ? `${kind}_changed` : `${kind}_swapped`
    const verb = kind === 'entry' ? 'is' : 'says'
    const what =
      owner === undefined ? 'it differs from what was entered' : `what entry ${owner} ${verb}`
    report(code, `entry ${index}`, `it ${verb} ${what}`)
  }
}

const composeKey = (kind: string, hash: Uint8Array): string => `${kind} ${hash.join()}`
