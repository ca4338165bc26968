/**
 * The tree under an audit log: RFC 6962 section 2.1, RFC 9162 section 2.1, C2SP tlog-tiles. By Web Crypto alone, so that it
 * runs wherever an auditor is: in Node.js and in browsers.
 */

export type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()

export const utf8 = (text: string): Bytes => encoder.encode(text)

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

export const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at])

/** Node.js's own hash, where there is one: Web Crypto takes ten times as long for what is as short as this. */
interface NodeCrypto {
  hash?(algorithm: string, bytes: Uint8Array, encoding: 'buffer'): Uint8Array
}

const { process } = globalThis as {
  process?: { getBuiltinModule?(name: string): NodeCrypto | undefined }
}
const { hash: nodeHashOf } = process?.getBuiltinModule?.('node:crypto') ?? {}

export const sha256 = async (bytes: Bytes): Promise<Bytes> =>
  nodeHashOf
    ? new Uint8Array(nodeHashOf('sha256', bytes, 'buffer'))
    : new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

export const leafHash = (entry: Uint8Array): Promise<Bytes> =>
  sha256(concat(Uint8Array.of(0), entry))

export const nodeHash = (left: Uint8Array, right: Uint8Array): Promise<Bytes> =>
  sha256(concat(Uint8Array.of(1), left, right))

const domain = utf8('pinfold audit entry v1\n')

/** What the log publishes of an entry: a byte for the version, and SHA-256 over domain, salt and text. */
export const entryOf = async (salt: Uint8Array, text: string): Promise<Bytes> =>
  concat(Uint8Array.of(1), await sha256(concat(domain, salt, utf8(text))))

/** The root over hashes that stand side by side, of which the last may be over fewer entries than the others. */
export async function rootOf(hashes: readonly Bytes[]): Promise<Bytes> {
  let row = hashes
  while (row.length > 1) {
    const above: Promise<Bytes>[] = []
    for (let at = 0; at < row.length; at += 2) {
      const [left, right] = [row[at], row[at + 1]]
      if (left) above.push(right ? nodeHash(left, right) : Promise.resolve(left))
    }
    row = await Promise.all(above)
  }
  return row[0] ?? sha256(new Uint8Array())
}

/** The root of a tree by its right edge: of each level, from the leaves up, the hashes that no full tile holds. */
export async function rootOfEdge(edge: readonly (readonly Bytes[])[]): Promise<Bytes> {
  let below: readonly Bytes[] = []
  for (const hashes of edge) {
    const row = [...hashes, ...below]
    below = row.length === 0 ? [] : [await rootOf(row)]
  }
  return rootOf(below)
}

export const tileWidth = 256

/**
 * Where a tile is, or a bundle of entries: `tile/0/x001/x234/067`, and `.p/<width>` behind it where it is not full
 * (C2SP tlog-tiles).
 */
export function tilePath(level: number | 'entries', index: number, width = tileWidth): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? []
  const last = groups.length - 1
  const name = groups.map((group, at) => (at === last ? group : `x${group}`)).join('/')
  return `tile/${level}/${name}${width === tileWidth ? '' : `.p/${width}`}`
}

/** The hashes of a tile; null where it is not made of whole ones. */
export const hashesOf = (tile: Bytes): Bytes[] | null =>
  tile.length % 32 === 0
    ? Array.from({ length: tile.length / 32 }, (_, at) => tile.subarray(at * 32, at * 32 + 32))
    : null

/** The entries of a bundle, each behind its length in two bytes; null where it ends within one. */
export function entriesOf(bundle: Bytes): Bytes[] | null {
  const entries: Bytes[] = []
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + (bundle[at] ?? 0) * 256 + (bundle[at + 1] ?? 0)
    if (at + 2 > bundle.length || end > bundle.length) return null
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}

/** Whether a proof leads from the entry with this leaf hash to the root (RFC 9162 section 2.1.3.2). */
export async function verifyInclusion(claim: {
  readonly index: number
  readonly size: number
  readonly root: Bytes
  readonly leafHash: Bytes
  readonly proof: readonly Bytes[]
}): Promise<boolean> {
  const { index, proof, root, size } = claim
  if (!(index >= 0 && index < size) || !areHashes([root, claim.leafHash, ...proof])) return false
  const [reached] = (await climb([index, size - 1], [claim.leafHash], proof)) ?? []
  return reached !== undefined && isSame(reached, root)
}

/** Whether a proof shows that a tree begins with an older one that is not empty (RFC 9162 section 2.1.4.2). */
export async function verifyConsistency(claim: {
  readonly oldSize: number
  readonly size: number
  readonly oldRoot: Bytes
  readonly root: Bytes
  readonly proof: readonly Bytes[]
}): Promise<boolean> {
  const { oldRoot, oldSize, proof, root, size } = claim
  if (!(oldSize > 0 && oldSize <= size) || !areHashes([oldRoot, root, ...proof])) return false
  if (oldSize === size) return proof.length === 0 && isSame(oldRoot, root)
  let [node, last] = [oldSize - 1, size - 1]
  for (; node % 2 === 1; last = half(last)) node = half(node)
  const [start, ...path] = node === 0 ? [oldRoot, ...proof] : proof
  if (!start) return false
  const [reached, old] = (await climb([node, last], [start, start], path)) ?? []
  return reached !== undefined && old !== undefined && isSame(old, oldRoot) && isSame(reached, root)
}

/** Up to the root by the hashes beside the way; the second of `from` goes by those on the left alone. */
async function climb(
  [node, last]: [number, number],
  from: readonly Bytes[],
  siblings: readonly Bytes[],
): Promise<readonly Bytes[] | null> {
  let reached = from
  for (const sibling of siblings) {
    if (last === 0) return null
    if (node % 2 === 1 || node === last) {
      reached = await Promise.all(reached.map((hash) => nodeHash(sibling, hash)))
      for (; node % 2 === 0 && node !== 0; last = half(last)) node = half(node)
    } else {
      const [hash, ...older] = reached
      reached = hash ? [await nodeHash(hash, sibling), ...older] : []
    }
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 ? reached : null
}

const half = (number: number): number => Math.floor(number / 2)

const areHashes = (values: readonly Bytes[]): boolean => values.every(({ length }) => length === 32)

/** The hashes of a tile, as many as it has or more. @throws AuditFault where they cannot be read */
export type TileReader = (level: number, index: number) => Promise<readonly Bytes[]>

/**
 * What shows that the tree of `size` begins with that of `oldSize` (RFC 6962 section 2.1.2), from the tiles of the larger
 * one. They are not trusted: what comes of it is to be verified. Empty where both are the same, or the old one is empty.
 */
export async function consistencyProof(
  oldSize: number,
  size: number,
  read: TileReader,
): Promise<Bytes[]> {
  const proof: Bytes[] = []
  if (oldSize === 0 || oldSize >= size) return proof
  let [start, end] = [0, size]
  while (end !== oldSize) {
    const split = start + splitOf(end - start)
    const isLeft = oldSize <= split
    proof.push(await rangeHash(read, isLeft ? split : start, isLeft ? end : split))
    if (isLeft) end = split
    else start = split
  }
  // The old root is known to who asks, so that the proof begins with a subtree only where the old tree is not one.
  if (start !== 0) proof.push(await rangeHash(read, start, end))
  return proof.reverse()
}

/** The greatest power of two below a number of entries, at which their tree is split. */
export function splitOf(entries: number): number {
  let split = 1
  while (split * 2 < entries) split *= 2
  return split
}

/** The hash over the entries from `start` to before `end`, which are a subtree of every tree that has them. */
export async function rangeHash(read: TileReader, start: number, end: number): Promise<Bytes> {
  const entries = end - start
  if (entries > 1 && splitOf(entries) * 2 !== entries) {
    const split = start + splitOf(entries)
    return nodeHash(await rangeHash(read, start, split), await rangeHash(read, split, end))
  }
  // A perfect subtree: so many hashes of one tile, or of one level of it.
  let [level, hashes] = [0, entries]
  for (; hashes >= tileWidth; hashes /= tileWidth) level++
  const first = start / tileWidth ** level
  const from = first % tileWidth
  return rootOf((await read(level, Math.floor(first / tileWidth))).slice(from, from + hashes))
}
