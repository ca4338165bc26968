import {
  type Bytes,
  entriesOf,
  hashesOf,
  nodeHash,
  rootOf,
  tilePath,
  tileWidth,
} from '../../sdk/audit/tree.ts'

/** Where the files of a log are. */
export interface LogReader {
  /** @param path as C2SP tlog-tiles names them: `tile/0/000`. */
  read(path: string): Promise<Bytes>
}

/** The hashes of a tile in a tree of `size` entries. */
async function tile(
  log: LogReader,
  { index, level, size }: { readonly level: number; readonly index: number; readonly size: number },
): Promise<Bytes[]> {
  const inLevel = Math.floor(size / tileWidth ** level)
  const width = Math.min(tileWidth, inLevel - index * tileWidth)
  const hashes = hashesOf(await log.read(tilePath(level, index, width)))
  if (hashes?.length !== width) throw new Error('A tile has not as many hashes as it must.')
  return hashes
}

/** The entry at an index, as the log publishes it. */
export async function entryAt(log: LogReader, index: number, size: number): Promise<Bytes> {
  const bundle = Math.floor(index / tileWidth)
  const width = Math.min(tileWidth, size - bundle * tileWidth)
  const entries = entriesOf(await log.read(tilePath('entries', bundle, width)))
  const entry = entries?.[index % tileWidth]
  if (!entry) throw new Error('The bundle of entries is too short.')
  return entry
}

/**
 * The root over the entries from `start` to before `end`, by the tiles of a tree of `size`: RFC 6962 section 2.1. Complete
 * subtrees are single hashes of the tiles, or a few of them.
 */
async function rangeRoot(
  log: LogReader,
  [start, end]: readonly [number, number],
  size: number,
): Promise<Bytes> {
  const entries = end - start
  const split = splitOf(entries)
  if (entries > 1 && split * 2 !== entries) {
    const [left, right] = await Promise.all([
      rangeRoot(log, [start, start + split], size),
      rangeRoot(log, [start + split, end], size),
    ])
    return nodeHash(left, right)
  }
  let [level, hashes] = [0, entries]
  for (; hashes >= tileWidth; hashes /= tileWidth) level += 1
  const first = start / tileWidth ** level
  const found = await tile(log, { level, index: Math.floor(first / tileWidth), size })
  return rootOf(found.slice(first % tileWidth, (first % tileWidth) + hashes))
}

/** The greatest power of two below a number of entries. */
function splitOf(entries: number): number {
  let split = 1
  while (split * 2 < entries) split *= 2
  return split
}

/** The root of the first `oldSize` entries, by the tiles of a tree of `size`. */
export const rootAt = (log: LogReader, oldSize: number, size: number): Promise<Bytes> =>
  rangeRoot(log, [0, oldSize], size)

/** A hash on the way up, and what it is. */
interface Step {
  readonly label: string
  readonly hash: Bytes
}

/** The way from a leaf up to the root: RFC 6962 section 2.1.1. */
export async function pathTo(
  log: LogReader,
  { index, leaf, size }: { readonly index: number; readonly size: number; readonly leaf: Bytes },
): Promise<{ readonly root: Bytes; readonly steps: readonly Step[] }> {
  const siblings: { isLeft: boolean; range: [number, number] }[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const split = start + splitOf(end - start)
    const goesLeft = index < split
    siblings.push({ isLeft: !goesLeft, range: goesLeft ? [split, end] : [start, split] })
    if (goesLeft) end = split
    else start = split
  }
  const steps: Step[] = [{ label: 'its leaf', hash: leaf }]
  let root = leaf
  for (const { isLeft, range } of siblings.reverse()) {
    const hash = await rangeRoot(log, range, size)
    const [from, to] = range
    const side = isLeft ? 'on the left' : 'on the right'
    const covered = to - from === 1 ? `entry ${from}` : `entries ${from} to ${to - 1}`
    steps.push({ label: `${side}, ${covered}:`, hash })
    root = isLeft ? await nodeHash(hash, root) : await nodeHash(root, hash)
  }
  steps.push({ label: 'the root that comes of it', hash: root })
  return { root, steps }
}
