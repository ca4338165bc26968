/** Verifies the tree of a log from its first entry to its last against the signed root. */
import {
  type Bundle,
  compareBundle,
  type Difference,
  listCandidates,
  readBundle,
  readTile,
  reportDifferences,
} from './bundle.ts'
import { isSame } from './bytes.ts'
import type { Checkpoint } from './checkpoints.ts'
import type { Report } from './findings.ts'
import type { ReadFile } from './openings.ts'
import { tilePath, tileWidth } from './tiles.ts'
import { computeEdgeRoot, computeRoot } from './tree.ts'

/** The input of a verification. */
export interface Walk {
  readonly read: ReadFile
  readonly report: Report
  /** The sizes of older trees whose roots are requested. */
  readonly sizes: ReadonlySet<number>
  /**
   * Receives the entries in order.
   * @param text the entry's text; null if it is missing, undefined if it does not match the signed
   *   entry
   */
  see(index: number, text: string | null | undefined): void
}

/**
 * A tile above the leaves: computed from the level below, and as published; null if it is missing.
 */
interface Row {
  readonly level: number
  readonly index: number
  readonly made: Uint8Array[]
  readonly published: readonly Uint8Array[] | null
}

/**
 * Verifies a whole tree: each tile against its parent and its children up to the signed root, and
 * each entry and its text against its leaf. It ends at the first bundle that is missing, since an
 * unsigned size may be anything.
 * @returns the requested roots of older trees, whether the signed root is reached, and how many
 *   entries exist
 */
export async function walkTree(
  { root, size }: Pick<Checkpoint, 'root' | 'size'>,
  walk: Walk,
): Promise<{
  readonly roots: ReadonlyMap<number, Uint8Array>
  readonly isSigned: boolean
  readonly walked: number
}> {
  const differences: Difference[] = []
  const roots = new Map<number, Uint8Array>()
  const tiles = createRows(walk, size)
  const settle = (bundle: Bundle, leaves: readonly Uint8Array[]): void => {
    const first = bundle.index * tileWidth
    for (const each of compareBundle(bundle, leaves, walk.report)) differences.push(each)
    for (const [at, leaf] of leaves.entries()) {
      const opening = bundle.openings[at] ?? { leaf, text: null }
      walk.see(first + at, isSame(opening.leaf, leaf) ? opening.text : undefined)
      if (walk.sizes.has(first + at + 1)) {
        roots.set(first + at + 1, computeEdgeRoot([leaves.slice(0, at + 1), ...tiles.edge()]))
      }
    }
  }
  const full = Math.floor(size / tileWidth)
  for (let index = 0; index < full; index++) {
    const bundle = await readBundle(walk, index, tileWidth)
    if (isBare(bundle)) {
      reportDifferences(differences, walk.report)
      return { roots, isSigned: false, walked: index * tileWidth }
    }
    const leaves = selectCandidate(listCandidates(bundle), await tiles.findParent(0, index))
    settle(bundle, leaves)
    await tiles.add(computeRoot(leaves))
  }
  const width = size % tileWidth
  const last = width === 0 ? null : await readBundle(walk, full, width)
  const rows = await tiles.last()
  const candidates = last ? listCandidates(last) : [[]]
  const edge = findEdge(candidates, rows, root)
  const [leaves = []] = edge ?? candidates
  if (last) settle(last, leaves)
  for (const [at, row] of rows.entries()) compareRow(row, edge?.[at + 1] ?? row.made, walk.report)
  reportDifferences(differences, walk.report)
  return { roots, isSigned: edge !== null, walked: size }
}

const isBare = ({ entries, openings, tile }: Bundle): boolean =>
  !tile && !entries && openings.every((opening) => opening === undefined)

/** Computes the tiles above the leaves during the walk, beside the published ones. */
function createRows({ read, report }: Walk, size: number) {
  const levels: { index: number; made: Uint8Array[] }[] = []
  const kept = new Map<number, { readonly index: number; readonly hashes: Uint8Array[] | null }>()
  // Each level is read in sequence, so that one tile is kept.
  const published = async (level: number, index: number): Promise<Uint8Array[] | null> => {
    const known = kept.get(level)
    if (known?.index === index) return known.hashes
    const width = Math.min(tileWidth, Math.floor(size / tileWidth ** level) - index * tileWidth)
    const hashes = width > 0 ? await readTile({ read, report }, level, index, width) : null
    kept.set(level, { index, hashes })
    return hashes
  }
  const findParent = async (level: number, index: number): Promise<Uint8Array | undefined> =>
    (await published(level + 1, Math.floor(index / tileWidth)))?.[index % tileWidth]
  const add = async (hash: Uint8Array, level = 1): Promise<void> => {
    const row = levels[level - 1] ?? { index: 0, made: [] }
    levels[level - 1] = row
    row.made.push(hash)
    if (row.made.length < tileWidth) return
    const { index, made } = row
    levels[level - 1] = { index: index + 1, made: [] }
    const whole = await published(level, index)
    const candidates = whole ? [made, whole] : [made]
    const right = selectCandidate(candidates, await findParent(level, index))
    compareRow({ level, index, made, published: whole }, right, report)
    await add(computeRoot(right), level + 1)
  }
  return {
    add: (hash: Uint8Array): Promise<void> => add(hash),
    edge: (): Uint8Array[][] => levels.map(({ made }) => made),
    findParent,
    /** Returns the last, partial tile of each level. */
    last: (): Promise<Row[]> =>
      Promise.all(
        levels.map(async ({ index, made }, at) => ({
          level: at + 1,
          index,
          made,
          published: made.length === 0 ? [] : await published(at + 1, index),
        })),
      ),
  }
}

/** Selects the candidate that matches its parent tile; otherwise the first. */
function selectCandidate(
  candidates: readonly Uint8Array[][],
  parent: Uint8Array | undefined,
): Uint8Array[] {
  for (const each of parent ? candidates : []) {
    if (parent && isSame(computeRoot(each), parent)) return each
  }
  return candidates[0] ?? []
}

/** Selects the last tiles that lead to the signed root; null if none do. */
function findEdge(
  leaves: readonly Uint8Array[][],
  rows: readonly Row[],
  root: Uint8Array,
): Uint8Array[][] | null {
  let edges: Uint8Array[][][] = leaves.map((each) => [each])
  for (const { made, published } of rows) {
    const isOther = published?.some((hash, at) => !isSame(hash, made[at] ?? hash)) ?? false
    const forms = isOther && published ? [made, [...published]] : [made]
    edges = edges.flatMap((edge) => forms.map((form) => [...edge, form]))
  }
  for (const edge of edges) {
    if (isSame(computeEdgeRoot(edge), root)) return edge
  }
  return null
}

/** Reports an invalid tile, and invalid content below it. */
function compareRow(
  { index, level, made, published }: Row,
  right: readonly Uint8Array[],
  report: Report,
) {
  const span = tileWidth ** level
  for (const [at, hash] of right.entries()) {
    const first = (index * tileWidth + at) * span
    const below = made[at]
    const above = published?.[at]
    if (below && !isSame(below, hash)) {
      const where = `entries ${first} to ${first + span - 1}`
      report('tree_changed', where, 'they match their tile, but not the signed tree')
    }
    if (above && !isSame(above, hash)) {
      report('tile_changed', tilePath(level, index, right.length), `its hash ${at} differs`)
    }
  }
}
