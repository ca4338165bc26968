/**
 * The tree of the audit log, and its tiles: RFC 6962 section 2.1 (hashes and proofs), RFC 9162 section 2.1 (how a
 * proof is verified) and C2SP tlog-tiles (how the tree is stored and published). Sizes and indexes are whole numbers
 * that JavaScript holds exactly; hashes are 32 bytes of SHA-256.
 */
import { hash } from 'node:crypto'

const sha256 = (...parts: readonly Uint8Array[]): Uint8Array =>
  new Uint8Array(hash('sha256', Buffer.concat(parts), 'buffer'))

const hashBytes = 32

/** How many hashes a full tile has: a subtree of height 8. */
export const tileWidth = 256

const [leafPrefix, nodePrefix] = [Uint8Array.of(0), Uint8Array.of(1)]

/** The hash of a tree without entries (RFC 6962 section 2.1). */
export const emptyRoot: Uint8Array = sha256()

export const leafHash = (entry: Uint8Array): Uint8Array => sha256(leafPrefix, entry)

export const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  sha256(nodePrefix, left, right)

/** What a leaf says of an entry's text without saying it: 32 bytes, which only who has the salt can recompute. */
export const commitmentOf = (salt: Uint8Array, text: string): Uint8Array =>
  sha256(Buffer.from('pinfold audit entry v1\n'), salt, Buffer.from(text))

/** The entry as the log publishes it: a byte for the version, and the commitment. */
export const entryOf = (commitment: Uint8Array): Uint8Array =>
  new Uint8Array(Buffer.concat([Uint8Array.of(1), commitment]))

/** `<level>` of a tile, or `entries` for a bundle of entries. */
type TileLevel = number | 'entries'

/**
 * Where a tile is published: `tile/0/x001/x234/067`, and `.p/<width>` behind it where it is not full
 * (C2SP tlog-tiles, Merkle Tree).
 */
export function tilePath(level: TileLevel, index: number, width = tileWidth): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? []
  const last = groups.length - 1
  const name = groups.map((group, at) => (at === last ? group : `x${group}`)).join('/')
  return `tile/${level}/${name}${width === tileWidth ? '' : `.p/${width}`}`
}

/** How many tiles of a level are full in a tree, and how wide the one behind them is; 0: there is none. */
interface TilesOfLevel {
  readonly level: number
  readonly full: number
  readonly partial: number
}

/** The tiles of a tree, level by level from the leaves up. */
export function tilesOfSize(size: number): TilesOfLevel[] {
  const levels: TilesOfLevel[] = []
  for (let hashes = size, level = 0; hashes > 0; level++) {
    const full = Math.floor(hashes / tileWidth)
    levels.push({ level, full, partial: hashes % tileWidth })
    hashes = full
  }
  return levels
}

/** A tile as it is to be stored: all of its hashes, from its first on. */
interface Tile {
  readonly level: number
  readonly index: number
  readonly hashes: Uint8Array
}

/** The hashes of a tile, as many as it has; it may have more than the tree that is asked about. */
export type TileReader = (level: number, index: number) => Promise<Uint8Array>

/**
 * What the tiles are after entries came to a tree of `size`: every tile that changed, whole, the lower levels first.
 * @param edge the partial tile of each level before, from the leaves up; empty where there is none
 */
export function appendHashes(
  size: number,
  edge: readonly Uint8Array[],
  leaves: readonly Uint8Array[],
): Tile[] {
  const changed: Tile[] = []
  let [position, added] = [size, leaves]
  for (let level = 0; added.length > 0; level++) {
    const tiles = tilesWith(level, position, [edge[level] ?? new Uint8Array(), ...added])
    changed.push(...tiles)
    added = tiles
      .filter(({ hashes }) => hashes.length === tileWidth * hashBytes)
      .map(({ hashes }) => rootOfHashes(hashes))
    position = Math.floor(position / tileWidth)
  }
  return changed
}

function tilesWith(level: number, position: number, parts: readonly Uint8Array[]): Tile[] {
  const first = Math.floor(position / tileWidth)
  if (parts[0]?.length !== (position % tileWidth) * hashBytes) {
    throw new RangeError(`the edge of level ${level} is not that of a tree of this size`)
  }
  const all = Buffer.concat(parts)
  const bytes = tileWidth * hashBytes
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) => ({
    level,
    index: first + at,
    hashes: new Uint8Array(all.subarray(at * bytes, (at + 1) * bytes)),
  }))
}

/** The root over hashes that stand side by side; their number is a power of two. */
function rootOfHashes(hashes: Uint8Array): Uint8Array {
  if (hashes.length === hashBytes) return hashes
  const half = hashes.length / 2
  return nodeHash(rootOfHashes(hashes.subarray(0, half)), rootOfHashes(hashes.subarray(half)))
}

/** The root of the tree of the first `size` entries. @throws RangeError where a tile lacks what the tree has. */
export const rootOf = (size: number, read: TileReader): Promise<Uint8Array> =>
  size === 0 ? Promise.resolve(emptyRoot) : rangeHash(onceEach(read), 0, size)

/**
 * The hashes beside the way from an entry up to the root, the lowest first (RFC 6962 section 2.1.1).
 * @throws RangeError where the tree has no such entry.
 */
export async function inclusionProof(
  index: number,
  size: number,
  read: TileReader,
): Promise<Uint8Array[]> {
  if (index < 0 || index >= size) throw new RangeError(`entry ${index} of a tree of ${size}`)
  const readOnce = onceEach(read)
  const proof: Uint8Array[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const split = start + splitOf(end - start)
    const isLeft = index < split
    proof.push(await rangeHash(readOnce, ...(isLeft ? range(split, end) : range(start, split))))
    if (isLeft) end = split
    else start = split
  }
  return proof.reverse()
}

/**
 * What shows that the tree of `size` begins with that of `oldSize` (RFC 6962 section 2.1.2); empty where both are the same
 * or the old one is empty.
 */
export async function consistencyProof(
  oldSize: number,
  size: number,
  read: TileReader,
): Promise<Uint8Array[]> {
  if (oldSize < 0 || oldSize > size) throw new RangeError(`a tree of ${oldSize} in one of ${size}`)
  if (oldSize === 0 || oldSize === size) return []
  const readOnce = onceEach(read)
  const proof: Uint8Array[] = []
  let [start, end] = [0, size]
  while (end !== oldSize) {
    const split = start + splitOf(end - start)
    const isLeft = oldSize <= split
    proof.push(await rangeHash(readOnce, ...(isLeft ? range(split, end) : range(start, split))))
    if (isLeft) end = split
    else start = split
  }
  // The old root is known to who asks, so that the proof begins with a subtree only where the old tree is not one.
  if (start !== 0) proof.push(await rangeHash(readOnce, start, end))
  return proof.reverse()
}

const range = (start: number, end: number): [number, number] => [start, end]

/** The greatest power of two below a number of entries, at which their tree is split. */
function splitOf(entries: number): number {
  let split = 1
  while (split * 2 < entries) split *= 2
  return split
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

/** The hash over the entries from `start` to before `end`, which are a subtree of every tree that has them. */
async function rangeHash(read: TileReader, start: number, end: number): Promise<Uint8Array> {
  const entries = end - start
  if (entries > 1 && splitOf(entries) * 2 !== entries) {
    const split = start + splitOf(entries)
    return nodeHash(await rangeHash(read, start, split), await rangeHash(read, split, end))
  }
  // A perfect subtree: so many hashes of one tile, or of one level of it.
  let [level, hashes] = [0, entries]
  for (; hashes >= tileWidth; hashes /= tileWidth) level++
  const first = start / tileWidth ** level
  const tile = await read(level, Math.floor(first / tileWidth))
  const from = (first % tileWidth) * hashBytes
  const found = tile.subarray(from, from + hashes * hashBytes)
  if (found.length !== hashes * hashBytes) {
    throw new RangeError(`tile ${Math.floor(first / tileWidth)} of level ${level} is too short`)
  }
  return rootOfHashes(found)
}

/** Whether a proof leads from the entry with this leaf hash to the root (RFC 9162 section 2.1.3.2). */
export function verifyInclusion(claim: {
  readonly index: number
  readonly size: number
  readonly root: Uint8Array
  readonly leafHash: Uint8Array
  readonly proof: readonly Uint8Array[]
}): boolean {
  const { index, size, root, proof } = claim
  if (!(index >= 0 && index < size) || !areHashes([root, claim.leafHash, ...proof])) return false
  const [leaf] = climb(index, size - 1, [claim.leafHash, undefined], proof) ?? []
  return leaf !== undefined && isSame(leaf, root)
}

/** Whether a proof shows that a tree begins with an older one that is not empty (RFC 9162 section 2.1.4.2). */
export function verifyConsistency(claim: {
  readonly oldSize: number
  readonly size: number
  readonly oldRoot: Uint8Array
  readonly root: Uint8Array
  readonly proof: readonly Uint8Array[]
}): boolean {
  const { oldSize, size, oldRoot, root, proof } = claim
  if (!(oldSize > 0 && oldSize <= size) || !areHashes([oldRoot, root, ...proof])) return false
  if (oldSize === size) return proof.length === 0 && isSame(oldRoot, root)
  let [node, last] = [oldSize - 1, size - 1]
  for (; node % 2 === 1; last = half(last)) node = half(node)
  const [start, ...path] = node === 0 ? [oldRoot, ...proof] : proof
  if (start === undefined) return false
  const [reached, old] = climb(node, last, [start, start], path) ?? []
  if (reached === undefined || old === undefined) return false
  return isSame(old, oldRoot) && isSame(reached, root)
}

/**
 * Goes up from a node to the root of a tree by the hashes beside the way: with the first of `from` by all, with the second,
 * if there is one, by those on the left alone, as in an older tree whose last node this is. Nothing where the way
 * is not as long as the tree is high.
 */
function climb(
  node: number,
  last: number,
  [start, older]: readonly [Uint8Array, Uint8Array | undefined],
  siblings: readonly Uint8Array[],
): readonly [Uint8Array, Uint8Array | undefined] | null {
  let [reached, old] = [start, older]
  for (const sibling of siblings) {
    if (last === 0) return null
    if (node % 2 === 1 || node === last) {
      reached = nodeHash(sibling, reached)
      old &&= nodeHash(sibling, old)
      for (; node % 2 === 0 && node !== 0; last = half(last)) node = half(node)
    } else {
      reached = nodeHash(reached, sibling)
    }
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 ? [reached, old] : null
}

const half = (number: number): number => Math.floor(number / 2)

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

const areHashes = (values: readonly Uint8Array[]): boolean =>
  values.every(({ length }) => length === hashBytes)

/** Entries as a bundle holds them: each behind its length in two bytes (C2SP tlog-tiles, Log Entries). */
export const entryBundle = (entries: readonly Uint8Array[]): Uint8Array =>
  new Uint8Array(
    Buffer.concat(
      entries.flatMap((entry) => [Uint8Array.of(entry.length >> 8, entry.length & 255), entry]),
    ),
  )
