import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  appendHashes,
  consistencyProof,
  inclusionProof,
  leafHash,
  rootOf,
  type TileReader,
  tilePath,
} from '../../src/domain/audit-tree.ts'

/** RFC 6962 2.1, as it is written there, over all leaves at once. */
const hash = (...parts: readonly Uint8Array[]): Buffer =>
  createHash('sha256').update(Buffer.concat(parts)).digest()

const split = (count: number): number => 2 ** Math.floor(Math.log2(count - 1))

function treeHash(entries: readonly Uint8Array[]): Buffer {
  const [only] = entries
  if (!only) return hash()
  if (entries.length === 1) return hash(Buffer.of(0), only)
  const k = split(entries.length)
  return hash(Buffer.of(1), treeHash(entries.slice(0, k)), treeHash(entries.slice(k)))
}

function path(index: number, entries: readonly Uint8Array[]): Buffer[] {
  if (entries.length === 1) return []
  const k = split(entries.length)
  return index < k
    ? [...path(index, entries.slice(0, k)), treeHash(entries.slice(k))]
    : [...path(index - k, entries.slice(k)), treeHash(entries.slice(0, k))]
}

function consistency(older: number, entries: readonly Uint8Array[], isWhole = true): Buffer[] {
  if (older === entries.length) return isWhole ? [] : [treeHash(entries)]
  const k = split(entries.length)
  return older <= k
    ? [...consistency(older, entries.slice(0, k), isWhole), treeHash(entries.slice(k))]
    : [...consistency(older - k, entries.slice(k), false), treeHash(entries.slice(0, k))]
}

const buffers = (proof: readonly Uint8Array[]) => proof.map((each) => Buffer.from(each))

/** Tiles that grow by batches. */
function growing() {
  const tiles = new Map<string, Uint8Array>()
  let size = 0
  const read: TileReader = async (level, index) =>
    tiles.get(`${level}/${index}`) ?? assert.fail(`no tile ${level}/${index}`)
  return {
    read,
    tiles,
    append(entries: readonly Uint8Array[]) {
      const edge = [0, 1, 2, 3].map((level) => {
        const at = Math.floor(size / 256 ** level)
        return at % 256 === 0
          ? Buffer.alloc(0)
          : (tiles.get(`${level}/${Math.floor(at / 256)}`) ?? assert.fail())
      })
      for (const write of appendHashes(size, edge, entries.map(leafHash))) {
        tiles.set(`${write.level}/${write.index}`, write.hashes)
      }
      size += entries.length
    },
  }
}

test('tiles that grew by batches of any size have the roots and proofs of RFC 6962', async () => {
  const entries = Array.from({ length: 70_000 }, () => randomBytes(33))
  const { append, read, tiles } = growing()
  for (let at = 0, step = 1; at < entries.length; at += step, step = (step * 7) % 1_009) {
    append(entries.slice(at, at + step))
  }
  // c2sp.org/tlog-tiles, "Partial Tiles": what a tree of this size has.
  const widths = [...tiles].map(([name, hashes]) => [name, hashes.length / 32] as const)
  assert.equal(widths.filter(([name, width]) => name.startsWith('0/') && width === 256).length, 273)
  assert.deepEqual(widths.filter(([, width]) => width < 256).toSorted(), [
    ['0/273', 112],
    ['1/1', 17],
    ['2/0', 1],
  ])
  for (const size of [
    1, 2, 3, 255, 256, 257, 511, 512, 513, 1_000, 65_535, 65_536, 65_537, 70_000,
  ]) {
    const first = entries.slice(0, size)
    assert.deepEqual(Buffer.from(await rootOf(size, read)), treeHash(first), `root of ${size}`)
    for (const index of new Set([0, size >> 1, size - 1])) {
      assert.deepEqual(buffers(await inclusionProof(index, size, read)), path(index, first))
    }
    for (const older of new Set([1, (size + 1) >> 1, size])) {
      assert.deepEqual(
        buffers(await consistencyProof(older, size, read)),
        consistency(older, first),
      )
    }
  }
  assert.deepEqual(Buffer.from(await rootOf(0, read)), treeHash([]))
})

test('a tile is found at the path that tlog-tiles gives it', () => {
  assert.equal(tilePath(0, 1_234_067), 'tile/0/x001/x234/067')
  assert.equal(tilePath(1, 0, 17), 'tile/1/000.p/17')
  assert.equal(tilePath('entries', 273, 112), 'tile/entries/273.p/112')
})
