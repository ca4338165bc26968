/**
 * The tree of an audit log: RFC 6962 section 2.1 (hashes) and RFC 9162 section 2.1 (verification of
 * proofs). Sizes and indexes are safe integers of JavaScript; hashes are 32 bytes of SHA-256.
 */
// Synchronous: a tree is made of many short texts, for each of which a promise costs more than the
// hash.
import { sha256 } from '@noble/hashes/sha2.js'
import { concat, isSame, utf8 } from './bytes.ts'

export const hashBytes = 32

const leafPrefix = Uint8Array.of(0)
const nodePrefix = Uint8Array.of(1)

/** The root of the empty tree. */
export const emptyRoot: Uint8Array = sha256(new Uint8Array())

export const leafHash = (entry: Uint8Array): Uint8Array => sha256(concat([leafPrefix, entry]))

export const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  sha256(concat([nodePrefix, left, right]))

const entryDomain = utf8('pinfold audit entry v1\n')
const entryVersion = Uint8Array.of(1)

/**
 * Computes a leaf's commitment to an entry's text: 32 bytes that only a holder of the salt can
 * recompute.
 */
export const computeCommitment = (salt: Uint8Array, text: string): Uint8Array =>
  sha256(concat([entryDomain, salt, utf8(text)]))

/** Encodes the published form of an entry: a version byte and the commitment. */
export const encodeEntry = (commitment: Uint8Array): Uint8Array =>
  concat([entryVersion, commitment])

/** Computes the root over adjacent hashes. The last one may cover fewer entries than the others. */
export function computeRoot(hashes: readonly Uint8Array[]): Uint8Array {
  let row = hashes
  while (row.length > 1) {
    const above: Uint8Array[] = []
    for (let at = 0; at < row.length; at += 2) {
      const left = row[at]
      const right = row[at + 1]
      if (left) above.push(right ? nodeHash(left, right) : left)
    }
    row = above
  }
  return row[0] ?? emptyRoot
}

/**
 * Computes the root of a tree from its right edge: for each level, from the leaves up, the hashes
 * that are in no full tile.
 */
export function computeEdgeRoot(edge: readonly (readonly Uint8Array[])[]): Uint8Array {
  let below: readonly Uint8Array[] = []
  for (const hashes of edge) {
    const row = [...hashes, ...below]
    below = row.length === 0 ? [] : [computeRoot(row)]
  }
  return computeRoot(below)
}

/**
 * Verifies an inclusion proof: from the leaf hash of an entry to the root (RFC 9162 section
 * 2.1.3.2).
 */
export function verifyInclusion(claim: {
  readonly index: number
  readonly size: number
  readonly root: Uint8Array
  readonly leafHash: Uint8Array
  readonly proof: readonly Uint8Array[]
}): boolean {
  const { index, proof, root, size } = claim
  if (!(index >= 0 && index < size) || !areHashes([root, claim.leafHash, ...proof])) return false
  const [reached] = climb(index, size - 1, [claim.leafHash], proof) ?? []
  return reached !== undefined && isSame(reached, root)
}

/**
 * Verifies a consistency proof: a tree extends an older, non-empty one (RFC 9162 section 2.1.4.2).
 */
export function verifyConsistency(claim: {
  readonly oldSize: number
  readonly size: number
  readonly oldRoot: Uint8Array
  readonly root: Uint8Array
  readonly proof: readonly Uint8Array[]
}): boolean {
  const { oldRoot, oldSize, proof, root, size } = claim
  if (!(oldSize > 0 && oldSize <= size) || !areHashes([oldRoot, root, ...proof])) return false
  if (oldSize === size) return proof.length === 0 && isSame(oldRoot, root)
  let node = oldSize - 1
  let last = size - 1
  for (; node % 2 === 1; last = half(last)) node = half(node)
  const [start, ...path] = node === 0 ? [oldRoot, ...proof] : proof
  if (!start) return false
  const [reached, old] = climb(node, last, [start, start], path) ?? []
  return reached !== undefined && old !== undefined && isSame(old, oldRoot) && isSame(reached, root)
}

/**
 * Computes roots from a node along the sibling hashes: for the first of `from` with all of them,
 * for the second, if any, with the left ones only, as in an older tree that ends with this node.
 * Null if the path's length differs from the tree's height.
 */
function climb(
  from: number,
  lastOfLevel: number,
  [start, olderStart]: readonly [Uint8Array, Uint8Array?],
  siblings: readonly Uint8Array[],
): readonly [Uint8Array, Uint8Array | undefined] | null {
  let node = from
  let last = lastOfLevel
  let reached = start
  let older = olderStart
  for (const sibling of siblings) {
    if (last === 0) return null
    if (node % 2 === 1 || node === last) {
      reached = nodeHash(sibling, reached)
      older &&= nodeHash(sibling, older)
      for (; node % 2 === 0 && node !== 0; last = half(last)) node = half(node)
    } else {
      reached = nodeHash(reached, sibling)
    }
    node = half(node)
    last = half(last)
  }
  return last === 0 ? [reached, older] : null
}

const half = (number: number): number => Math.floor(number / 2)

const areHashes = (values: readonly Uint8Array[]): boolean =>
  values.every(({ length }) => length === hashBytes)
