import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  appendHashes,
  consistencyProof,
  entryBundle,
  inclusionProof,
  listTreeTiles,
  readRoot,
  type TileReader,
  tilePath,
} from '../../../packages/audit/tiles.ts'
import {
  computeCommitment,
  emptyRoot,
  encodeEntry,
  leafHash,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
} from '../../../packages/audit/tree.ts'
import { cases } from '../../support/cases.ts'
import {
  composeRecords,
  parseHex,
  type TlogVector,
  tlogVectors,
  toHex,
  toUtf8,
} from '../../support/tlog-vectors.ts'

type Bytes = Uint8Array

/** A tree that is kept as its tiles, as a log keeps it, and grows batch by batch. */
function growingTree() {
  const tiles = new Map<string, Bytes>()
  let size = 0
  const read: TileReader = async (level, index) =>
    tiles.get(`${level}/${index}`) ?? new Uint8Array()
  return {
    read,
    tiles,
    get size() {
      return size
    },
    grow(entries: readonly Bytes[]) {
      const edge = listTreeTiles(size).map(({ full, level, partial }) =>
        partial === 0 ? new Uint8Array() : (tiles.get(`${level}/${full}`) ?? new Uint8Array()),
      )
      for (const { hashes, index, level } of appendHashes(size, edge, entries.map(leafHash))) {
        tiles.set(`${level}/${index}`, hashes)
      }
      size += entries.length
    },
  }
}

function treeOf(entries: readonly Bytes[]) {
  const tree = growingTree()
  tree.grow(entries)
  return tree
}

/** MTH of RFC 6962 section 2.1, word for word: what the tiles are held against. */
function plainRoot(entries: readonly Bytes[]): Bytes {
  const [first] = entries
  if (!first) return emptyRoot
  if (entries.length === 1) return leafHash(first)
  const split = 2 ** Math.ceil(Math.log2(entries.length) - 1)
  return nodeHash(plainRoot(entries.slice(0, split)), plainRoot(entries.slice(split)))
}

const answers: Record<string, (vector: TlogVector) => unknown> = {
  treeRoot: async ({ inputs }) => {
    const entries = inputs.leavesHex.map(parseHex)
    return { rootHex: toHex(await readRoot(entries.length, treeOf(entries).read)) }
  },
  leafHash: ({ inputs }) => ({ hashHex: toHex(leafHash(parseHex(inputs.leafHex))) }),
  nodeHash: ({ inputs }) => ({
    hashHex: toHex(nodeHash(parseHex(inputs.leftHex), parseHex(inputs.rightHex))),
  }),
  verifyInclusion: ({ inputs }) =>
    validity(
      verifyInclusion({
        ...inputs,
        root: parseHex(inputs.rootHex),
        leafHash: parseHex(inputs.leafHashHex),
        proof: inputs.proofHex.map(parseHex),
      }),
    ),
  verifyInclusionOfEntry: ({ inputs }) =>
    validity(
      verifyInclusion({
        ...inputs,
        root: parseHex(inputs.rootHex),
        leafHash: leafHash(new Uint8Array(Buffer.from(inputs.entryBase64, 'base64'))),
        proof: inputs.proofHex.map(parseHex),
      }),
    ),
  verifyConsistency: ({ inputs }) =>
    validity(
      verifyConsistency({
        oldSize: inputs.size1,
        size: inputs.size2,
        oldRoot: parseHex(inputs.root1Hex),
        root: parseHex(inputs.root2Hex),
        proof: inputs.proofHex.map(parseHex),
      }),
    ),
  tileOfLeaves: ({ inputs }) => {
    const { tiles } = treeOf(inputs.leavesUtf8.map(toUtf8))
    const tile = tiles.get(`${inputs.level}/${inputs.index}`) ?? new Uint8Array()
    return {
      path: tilePath(inputs.level, inputs.index, tile.length / 32),
      tileHex: toHex(tile),
    }
  },
  treeRootOfRecords: async ({ inputs }) => ({
    rootBase64: Buffer.from(
      await readRoot(inputs.size, treeOf(composeRecords(inputs)).read),
    ).toString('base64'),
  }),
  tilesOfRecords: ({ inputs }) => {
    const { tiles } = treeOf(composeRecords(inputs))
    const hexAt = (key: string): string => toHex(tiles.get(key) ?? new Uint8Array())
    return {
      tiles: [...tiles].map(([key, hashes]) => {
        const [level, index] = key.split('/').map(Number)
        return tilePath(level ?? 0, index ?? 0, hashes.length / 32)
      }),
      firstHashHex: hexAt('0/0').slice(0, 64),
      lastHashHex: hexAt('0/0').slice(-64),
      partialLastHashHex: hexAt('0/1').slice(-64),
      level1Hex: hexAt('1/0'),
    }
  },
  tilePath: ({ inputs }) => ({ path: tilePath(inputs.level, inputs.index, inputs.width) }),
  tilesOfSize: ({ expected, inputs }) => {
    const levels = listTreeTiles(inputs.size).map(({ full, level, partial }) => ({
      [`fullLevel${level}`]: full,
      [`partialLevel${level}`]: partial,
    }))
    assert.equal(Object.keys(expected).length, levels.length * 2)
    return Object.assign({}, ...levels)
  },
}

const validity = (isValid: boolean): object => (isValid ? { valid: true } : { error: true })

const rows = tlogVectors.filter(({ op }) => op in answers)

test('there are 223 rows about trees, proofs and tiles', () => assert.equal(rows.length, 223))

for (const row of rows) {
  test(`${row.id}: ${row.name}`, async () => {
    assert.deepEqual(await answers[row.op]?.(row), row.expected)
  })
}

const numbered = (count: number): Bytes[] => composeRecords({ pattern: 'entry %d', size: count })

test('a tree that grows in batches has the root that its entries have at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 8 }),
      async (batches) => {
        const tree = growingTree()
        for (const batch of batches) tree.grow(numbered(batch))
        const entries = batches.flatMap(numbered)
        assert.deepEqual(await readRoot(tree.size, tree.read), plainRoot(entries))
      },
    ),
    cases(20, 300),
  )
})

test('the root of any earlier size can be read from the tiles of a later tree', async () => {
  const entries = numbered(700)
  const { read } = treeOf(entries)
  for (const size of [0, 1, 255, 256, 257, 511, 512, 513, 700]) {
    assert.deepEqual(await readRoot(size, read), plainRoot(entries.slice(0, size)))
  }
})

test('every proof that is made verifies, and with any bit of it turned it does not', async () => {
  const size = 70_000
  const { read } = treeOf(numbered(size))
  const sizes = fc.integer({ min: 1, max: size }).chain((greater) =>
    fc.record({
      size: fc.constant(greater),
      index: fc.integer({ min: 0, max: greater - 1 }),
      oldSize: fc.integer({ min: 1, max: greater }),
      bit: fc.nat(),
    }),
  )
  await fc.assert(
    fc.asyncProperty(sizes, async ({ bit, index, oldSize, size }) => {
      const root = await readRoot(size, read)
      const leaf = leafHash(toUtf8(`entry ${index}`))
      const included = { index, size, root, leafHash: leaf }
      const proof = await inclusionProof(index, size, read)
      assert.ok(verifyInclusion({ ...included, proof }))
      const oldRoot = await readRoot(oldSize, read)
      const grown = { oldSize, size, oldRoot, root }
      const path = await consistencyProof(oldSize, size, read)
      assert.ok(verifyConsistency({ ...grown, proof: path }))
      if (proof.length > 0) {
        assert.ok(!verifyInclusion({ ...included, proof: turned(proof, bit) }))
      }
      if (path.length > 0) assert.ok(!verifyConsistency({ ...grown, proof: turned(path, bit) }))
    }),
    cases(60, 1_000),
  )
})

function turned(hashes: readonly Bytes[], bit: number): Bytes[] {
  const all = Buffer.concat(hashes)
  const at = bit % (all.length * 8)
  all.writeUInt8(all.readUInt8(at >> 3) ^ (1 << (at & 7)), at >> 3)
  return hashes.map((_, index) => new Uint8Array(all.subarray(index * 32, index * 32 + 32)))
}

test('a proof about more than there is, or from a tile cut short, is refused', async () => {
  const { read, tiles } = treeOf(numbered(300))
  await assert.rejects(inclusionProof(300, 300, read), RangeError)
  await assert.rejects(consistencyProof(301, 300, read), RangeError)
  await assert.rejects(readRoot(301, read), RangeError)
  tiles.set('0/1', (tiles.get('0/1') ?? new Uint8Array()).subarray(0, 32))
  await assert.rejects(inclusionProof(0, 300, read), RangeError)
})

test('entries are not appended to an edge of another size', () => {
  assert.throws(() => appendHashes(3, [new Uint8Array(64)], [emptyRoot]), RangeError)
})

test('an entry is a byte of version and a commitment to salt and text', () => {
  const salt = new Uint8Array(32).fill(7)
  const commitment = computeCommitment(salt, '{"act":"pin.revealed"}')
  const entry = encodeEntry(commitment)
  assert.equal(entry.length, 33)
  assert.equal(entry[0], 1)
  assert.notDeepEqual(commitment, computeCommitment(salt, '{"act":"pin.revealeD"}'))
  assert.notDeepEqual(commitment, computeCommitment(new Uint8Array(32), '{"act":"pin.revealed"}'))
  assert.equal(toHex(entryBundle([entry, entry]).subarray(0, 3)), '002101')
})

const unread: TileReader = () => Promise.reject(new Error('nothing is to be read'))
const hashOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)

test('what no tree has is refused by name, and what needs no tile reads none', async () => {
  await assert.rejects(inclusionProof(-1, 3, unread), new RangeError('entry -1 of a tree of 3'))
  await assert.rejects(inclusionProof(3, 3, unread), new RangeError('entry 3 of a tree of 3'))
  await assert.rejects(consistencyProof(-1, 3, unread), new RangeError('a tree of -1 in one of 3'))
  await assert.rejects(consistencyProof(4, 3, unread), new RangeError('a tree of 4 in one of 3'))
  for (const [oldSize, size] of [
    [0, 3],
    [3, 3],
    [0, 0],
  ] as const) {
    assert.deepEqual(await consistencyProof(oldSize, size, unread), [])
  }
  assert.deepEqual(await inclusionProof(0, 1, unread), [])
  const edge = 'the edge of level 0 is not that of a tree of this size'
  assert.throws(() => appendHashes(3, [], [hashOf(1)]), new RangeError(edge))
  assert.throws(() => appendHashes(3, [hashOf(1)], [hashOf(1)]), new RangeError(edge))
})

test('a full tile is read as one hash of the level above, and each tile once', async () => {
  const read: string[] = []
  const tiles: TileReader = async (level, index) => {
    read.push(`${level}/${index}`)
    return level === 1 ? hashOf(1) : new Uint8Array(256 * 32).fill(2)
  }
  assert.deepEqual(await readRoot(256, tiles), hashOf(1))
  assert.deepEqual(read, ['1/0'])
  read.length = 0
  await inclusionProof(5, 200, tiles)
  assert.deepEqual(read, ['0/0'])
  read.length = 0
  await consistencyProof(100, 200, tiles)
  assert.deepEqual(read, ['0/0'])
})
