import type { ReadFile } from '../../packages/audit/openings.ts'
import {
  hashSpan,
  readRoot,
  spansBeside,
  splitBundle,
  type TileReader,
  tilePath,
  tileWidth,
} from '../../packages/audit/tiles.ts'
import { hashBytes } from '../../packages/audit/tree.ts'

/** Reads the tiles of a tree of `size` entries. */
const createTileReader =
  (read: ReadFile, size: number): TileReader =>
  async (level, index) => {
    const inLevel = Math.floor(size / tileWidth ** level)
    const width = Math.min(tileWidth, inLevel - index * tileWidth)
    const tile = await read(tilePath(level, index, width))
    if (tile?.length !== width * hashBytes) {
      throw new Error('A tile has the wrong number of hashes.')
    }
    return tile
  }

/** Returns the root of a tree, computed from its own tiles. */
export const rootAt = (read: ReadFile, size: number): Promise<Uint8Array> =>
  readRoot(size, createTileReader(read, size))

/** Returns the published form of an entry. */
export async function entryAt(read: ReadFile, index: number, size: number): Promise<Uint8Array> {
  const bundle = Math.floor(index / tileWidth)
  const width = Math.min(tileWidth, size - bundle * tileWidth)
  const bytes = await read(tilePath('entries', bundle, width))
  const entry = bytes && splitBundle(bytes)?.[index % tileWidth]
  if (!entry) throw new Error('The bundle of entries is too short.')
  return entry
}

/** A sibling hash on the path from an entry to the root, and its entries. */
interface Sibling {
  readonly label: string
  readonly hash: Uint8Array
}

/**
 * Lists the sibling hashes on the path from an entry to the root, the lowest first: RFC 6962
 * section 2.1.1.
 */
export async function listSiblings(
  read: ReadFile,
  index: number,
  size: number,
): Promise<readonly Sibling[]> {
  const tiles = createTileReader(read, size)
  const siblings: Sibling[] = []
  for (const span of spansBeside(index, size)) {
    const { end, start } = span
    const covered = end - start === 1 ? `entry ${start}` : `entries ${start} to ${end - 1}`
    const side = index < start ? 'on the right' : 'on the left'
    siblings.push({ label: `${side}, ${covered}:`, hash: await hashSpan(tiles, span) })
  }
  return siblings
}
