import type { ReadFile } from '../../packages/audit/openings.ts'
import {
  type Bytes,
  entriesOf,
  hashesOf,
  rangeHash,
  splitOf,
  type TileReader,
  tilePath,
  tileWidth,
} from '../../packages/audit/tree.ts'

/** Reads the tiles of a tree of `size` entries. */
const tilesOf =
  (read: ReadFile, size: number): TileReader =>
  async (level, index) => {
    const inLevel = Math.floor(size / tileWidth ** level)
    const width = Math.min(tileWidth, inLevel - index * tileWidth)
    const tile = await read(tilePath(level, index, width))
    const hashes = tile && hashesOf(tile)
    if (hashes?.length !== width) throw new Error('A tile has not as many hashes as it must.')
    return hashes
  }

/** The root of a tree by its own tiles. */
export const rootAt = (read: ReadFile, size: number): Promise<Bytes> =>
  rangeHash(tilesOf(read, size), 0, size)

/** The entry at an index, as the log publishes it. */
export async function entryAt(read: ReadFile, index: number, size: number): Promise<Bytes> {
  const bundle = Math.floor(index / tileWidth)
  const width = Math.min(tileWidth, size - bundle * tileWidth)
  const bytes = await read(tilePath('entries', bundle, width))
  const entry = bytes && entriesOf(bytes)?.[index % tileWidth]
  if (!entry) throw new Error('The bundle of entries is too short.')
  return entry
}

/** A hash beside the way from an entry up to the root, and of which entries it is. */
interface Sibling {
  readonly label: string
  readonly hash: Bytes
}

/** The hashes beside the way from an entry up to the root, the lowest first: RFC 6962 section 2.1.1. */
export async function wayOf(
  read: ReadFile,
  index: number,
  size: number,
): Promise<readonly Sibling[]> {
  const tiles = tilesOf(read, size)
  const siblings: Sibling[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const split = start + splitOf(end - start)
    const [from, to] = index < split ? [split, end] : [start, split]
    const covered = to - from === 1 ? `entry ${from}` : `entries ${from} to ${to - 1}`
    const side = index < split ? 'on the right' : 'on the left'
    siblings.push({ label: `${side}, ${covered}:`, hash: await rangeHash(tiles, from, to) })
    if (index < split) end = split
    else start = split
  }
  return siblings.reverse()
}
