/** The storage and publication of a log's tree, and proofs from its tiles: C2SP tlog-tiles. */
import { concat } from './bytes.ts'
import { computeRoot, hashBytes, nodeHash } from './tree.ts'

/** The number of hashes in a full tile: a subtree of height 8. */
export const tileWidth = 256

/**
 * Returns the path of a tile or a bundle of entries: `tile/0/x001/x234/067`, followed by
 * `.p/<width>` for a partial tile (C2SP tlog-tiles, Merkle Tree).
 */
export function tilePath(level: number | 'entries', index: number, width = tileWidth): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? []
  const last = groups.length - 1
  const name = groups.map((group, at) => (at === last ? group : `x${group}`)).join('/')
  return `tile/${level}/${name}${width === tileWidth ? '' : `.p/${width}`}`
}

/** Splits a tile into hashes; null for an incomplete hash. */
export const splitTile = (tile: Uint8Array): Uint8Array[] | null =>
  tile.length % hashBytes === 0 ? splitHashes(tile) : null

const splitHashes = (hashes: Uint8Array): Uint8Array[] =>
  Array.from({ length: hashes.length / hashBytes }, (_, at) =>
    hashes.subarray(at * hashBytes, (at + 1) * hashBytes),
  )

/** Composes a bundle: each entry after its length in two bytes (C2SP tlog-tiles, Log Entries). */
export const entryBundle = (entries: readonly Uint8Array[]): Uint8Array =>
  concat(entries.flatMap((entry) => [Uint8Array.of(entry.length >> 8, entry.length & 255), entry]))

/** Splits a bundle into entries; null if it ends within one. */
export function splitBundle(bundle: Uint8Array): Uint8Array[] | null {
  const entries: Uint8Array[] = []
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + (bundle[at] ?? 0) * 256 + (bundle[at + 1] ?? 0)
    if (at + 2 > bundle.length || end > bundle.length) return null
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}

/**
 * The number of full tiles of a level, and the width of the partial tile after them; 0 without one.
 */
interface TilesOfLevel {
  readonly level: number
  readonly full: number
  readonly partial: number
}

/** Lists the tiles of a tree, level by level from the leaves up. */
export function listTreeTiles(size: number): TilesOfLevel[] {
  const levels: TilesOfLevel[] = []
  for (let hashes = size, level = 0; hashes > 0; level++) {
    const full = Math.floor(hashes / tileWidth)
    levels.push({ level, full, partial: hashes % tileWidth })
    hashes = full
  }
  return levels
}

/** A tile to store: all of its hashes. */
interface Tile {
  readonly level: number
  readonly index: number
  readonly hashes: Uint8Array
}

/**
 * Returns the tiles that change when entries are appended to a tree of `size`, lower levels first.
 * @param edge the previous partial tile of each level, from the leaves up; empty for a level
 *   without one
 */
export function appendHashes(
  size: number,
  edge: readonly Uint8Array[],
  leaves: readonly Uint8Array[],
): Tile[] {
  const changed: Tile[] = []
  let position = size
  let added = leaves
  for (let level = 0; added.length > 0; level++) {
    const tiles = tilesWith(level, position, [edge[level] ?? new Uint8Array(), ...added])
    changed.push(...tiles)
    added = tiles
      .filter(({ hashes }) => hashes.length === tileWidth * hashBytes)
      .map(({ hashes }) => computeRoot(splitHashes(hashes)))
    position = Math.floor(position / tileWidth)
  }
  return changed
}

function tilesWith(level: number, position: number, parts: readonly Uint8Array[]): Tile[] {
  const first = Math.floor(position / tileWidth)
  if (parts[0]?.length !== (position % tileWidth) * hashBytes) {
    throw new RangeError(`the edge of level ${level} is not that of a tree of this size`)
  }
  const all = concat(parts)
  const bytes = tileWidth * hashBytes
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) => ({
    level,
    index: first + at,
    hashes: all.slice(at * bytes, (at + 1) * bytes),
  }))
}

/**
 * Reads the hashes of a tile, possibly more than the tree in question has. Tiles are not trusted:
 * results computed from them must be verified.
 */
export type TileReader = (level: number, index: number) => Promise<Uint8Array>

/**
 * Returns the root of the tree of the first `size` entries.
 * @throws RangeError when a tile lacks hashes of the tree.
 */
export const readRoot = async (size: number, read: TileReader): Promise<Uint8Array> =>
  size === 0 ? computeRoot([]) : hashSpan(onceEach(read), { start: 0, end: size })

/** A half-open range of a tree's entries. */
interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Lists the sibling subtrees on the path from an entry to the root, the lowest first (RFC 6962
 * section 2.1.1).
 */
export function spansBeside(index: number, size: number): Span[] {
  const spans: Span[] = []
  let start = 0
  let end = size
  while (end - start > 1) {
    const split = start + findSplit(end - start)
    const isLeft = index < split
    spans.push(isLeft ? { start: split, end } : { start, end: split })
    if (isLeft) end = split
    else start = split
  }
  return spans.reverse()
}

/**
 * Returns the sibling hashes on the path from an entry to the root, the lowest first (RFC 6962
 * section 2.1.1).
 * @throws RangeError when the tree has no such entry.
 */
export async function inclusionProof(
  index: number,
  size: number,
  read: TileReader,
): Promise<Uint8Array[]> {
  if (index < 0 || index >= size) throw new RangeError(`entry ${index} of a tree of ${size}`)
  return hashSpans(read, spansBeside(index, size))
}

/**
 * Returns the proof that the tree of `size` extends that of `oldSize` (RFC 6962 section 2.1.2);
 * empty if both are the same or the old one is empty.
 */
export async function consistencyProof(
  oldSize: number,
  size: number,
  read: TileReader,
): Promise<Uint8Array[]> {
  if (oldSize < 0 || oldSize > size) throw new RangeError(`a tree of ${oldSize} in one of ${size}`)
  if (oldSize === 0 || oldSize === size) return []
  const spans: Span[] = []
  let start = 0
  let end = size
  while (end !== oldSize) {
    const split = start + findSplit(end - start)
    const isLeft = oldSize <= split
    spans.push(isLeft ? { start: split, end } : { start, end: split })
    if (isLeft) end = split
    else start = split
  }
  // The verifier knows the old root, so the proof begins with a subtree only if the old tree is not
  // one.
  if (start !== 0) spans.push({ start, end })
  return hashSpans(read, spans.reverse())
}

/** Returns the largest power of two below a number of entries, at which their tree is split. */
function findSplit(entries: number): number {
  let split = 1
  while (split * 2 < entries) split *= 2
  return split
}

async function hashSpans(read: TileReader, spans: readonly Span[]): Promise<Uint8Array[]> {
  const readOnce = onceEach(read)
  const hashes: Uint8Array[] = []
  for (const span of spans) hashes.push(await hashSpan(readOnce, span))
  return hashes
}

function onceEach(read: TileReader): TileReader {
  const tiles = new Map<string, Promise<Uint8Array>>()
  return (level, index) => {
    const key = `${level}/${index}`
    const tile = tiles.get(key) ?? read(level, index)
    tiles.set(key, tile)
    return tile
  }
}

/**
 * Returns the hash of entries that form a subtree of every tree with them.
 * @throws RangeError when a tile is too short.
 */
export async function hashSpan(read: TileReader, { end, start }: Span): Promise<Uint8Array> {
  const entries = end - start
  if (entries > 1 && findSplit(entries) * 2 !== entries) {
    const split = start + findSplit(entries)
    const left = await hashSpan(read, { start, end: split })
    return nodeHash(left, await hashSpan(read, { start: split, end }))
  }
  // A perfect subtree covers hashes of one tile, or of one level of it.
  let level = 0
  let hashes = entries
  for (; hashes >= tileWidth; hashes /= tileWidth) level++
  const first = start / tileWidth ** level
  const index = Math.floor(first / tileWidth)
  const from = first % tileWidth
  const found = (await read(level, index)).subarray(from * hashBytes, (from + hashes) * hashBytes)
  if (found.length !== hashes * hashBytes) {
    throw new RangeError(`tile ${index} of level ${level} is too short`)
  }
  return computeRoot(splitHashes(found))
}
