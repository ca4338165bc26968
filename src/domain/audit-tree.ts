import { createHash } from 'node:crypto'

/**
 * The Merkle tree of a log (RFC 6962 2.1), read from tiles (c2sp.org/tlog-tiles): tile N of level L has the roots of
 * 256 complete subtrees of 256^L leaves each, beginning with that of number 256 × N. Sizes and indexes are whole
 * numbers below 2^53.
 */

/** Hashes of a full tile. */
export const tileWidth = 256
const tileHeight = 8
export const hashLength = 32

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

export const leafHash = (data: Uint8Array): Buffer => sha256(Buffer.of(0), data)

export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer =>
  sha256(Buffer.of(1), left, right)

/**
 * The path of a tile, or of a bundle of entries: `tile/0/x001/234.p/5`.
 * @param width hashes of a partial tile; 256 of a full one.
 */
export function tilePath(level: number | 'entries', tileIndex: number, width = tileWidth): string {
  const digits = String(tileIndex).padStart(Math.ceil(String(tileIndex).length / 3) * 3, '0')
  const groups = digits.match(/.{3}/g) ?? []
  const last = groups.length - 1
  const path = groups.map((group, at) => (at === last ? group : `x${group}`)).join('/')
  return `tile/${level}/${path}${width === tileWidth ? '' : `.p/${width}`}`
}

/** The hashes of a tile, one after the other: at least as many as a tree of the size in question has. */
export type ReadTile = (level: number, tileIndex: number) => Promise<Uint8Array>

/** A tile as it is once leaves have been appended. */
export interface TileWrite {
  readonly level: number
  readonly tileIndex: number
  readonly hashes: Uint8Array
}

/**
 * What becomes of the tiles when leaves are appended to a tree.
 * @param edge the hashes of the partial tile at the right edge of each level, lowest first; empty where there is none.
 */
export function appendHashes(
  size: number,
  edge: readonly Uint8Array[],
  leaves: readonly Uint8Array[],
): readonly TileWrite[] {
  const writes: TileWrite[] = []
  let added = leaves
  let before = size
  for (let level = 0; added.length > 0; level += 1) {
    const rising: Uint8Array[] = []
    let tileIndex = Math.floor(before / tileWidth)
    let hashes = [Buffer.from(edge[level] ?? Buffer.alloc(0))]
    let width = before % tileWidth
    for (const [at, hash] of added.entries()) {
      hashes.push(Buffer.from(hash))
      width += 1
      if (width < tileWidth && at < added.length - 1) continue
      const written = Buffer.concat(hashes)
      writes.push({ level, tileIndex, hashes: written })
      if (width < tileWidth) break
      rising.push(subtreeOf(written))
      tileIndex += 1
      hashes = []
      width = 0
    }
    added = rising
    before = Math.floor(before / tileWidth)
  }
  return writes
}

/** The root of a complete subtree, from the hashes at its feet. */
function subtreeOf(hashes: Uint8Array): Buffer {
  let row = Array.from({ length: hashes.length / hashLength }, (_, at) => hashAt(hashes, at))
  while (row.length > 1) {
    const below = row
    row = Array.from({ length: below.length / 2 }, (_, at) =>
      nodeHash(below[2 * at] ?? missing(), below[2 * at + 1] ?? missing()),
    )
  }
  return row[0] ?? missing()
}

function hashAt(hashes: Uint8Array, at: number): Buffer {
  const hash = Buffer.from(hashes.subarray(at * hashLength, (at + 1) * hashLength))
  return hash.length === hashLength ? hash : missing()
}

const missing = (): never => {
  throw new Error('A tile has fewer hashes than its tree.')
}

/** The root of the tree of its first leaves. */
export const rootOf = async (size: number, read: ReadTile): Promise<Buffer> =>
  size === 0 ? sha256() : rangeRoot(0, size, read)

/** From the leaf's sibling up to below the root (RFC 6962 2.1.1). @param index below the size. */
export async function inclusionProof(
  index: number,
  size: number,
  read: ReadTile,
): Promise<readonly Buffer[]> {
  const proof: Buffer[] = []
  let [start, length] = [0, size]
  while (length > 1) {
    const left = leftOf(length)
    if (index < start + left) {
      proof.unshift(await rangeRoot(start + left, length - left, read))
      length = left
    } else {
      proof.unshift(await rangeRoot(start, left, read))
      start += left
      length -= left
    }
  }
  return proof
}

/** That the tree of an older size is the beginning of the newer one (RFC 6962 2.1.2). @param older from 1 to the size. */
export async function consistencyProof(
  older: number,
  size: number,
  read: ReadTile,
): Promise<readonly Buffer[]> {
  const proof: Buffer[] = []
  let [start, length, old, isWhole] = [0, size, older, true]
  while (old < length) {
    const left = leftOf(length)
    if (old <= left) {
      proof.unshift(await rangeRoot(start + left, length - left, read))
      length = left
    } else {
      proof.unshift(await rangeRoot(start, left, read))
      start += left
      length -= left
      old -= left
      isWhole = false
    }
  }
  return isWhole ? proof : [await rangeRoot(start, length, read), ...proof]
}

/** The largest power of two below a number. */
function leftOf(length: number): number {
  let left = 1
  while (left * 2 < length) left *= 2
  return left
}

/** The root of leaves that begin where a left subtree of theirs does. */
async function rangeRoot(start: number, length: number, read: ReadTile): Promise<Buffer> {
  const height = Math.log2(length)
  if (Number.isInteger(height)) {
    const level = Math.floor(height / tileHeight)
    const span = 2 ** (height % tileHeight)
    const first = start / 2 ** (level * tileHeight)
    const hashes = await read(level, Math.floor(first / tileWidth))
    const at = (first % tileWidth) * hashLength
    return subtreeOf(hashes.subarray(at, at + span * hashLength))
  }
  const left = leftOf(length)
  return nodeHash(
    await rangeRoot(start, left, read),
    await rangeRoot(start + left, length - left, read),
  )
}
