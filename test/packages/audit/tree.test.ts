import assert from 'node:assert/strict'
import test from 'node:test'
import { parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import { splitBundle } from '../../../packages/audit/tiles.ts'
import { computeRoot, leafHash } from '../../../packages/audit/tree.ts'
import {
  composeRecords,
  parseHex,
  type TlogVector,
  tlogVectors,
  toHex,
  toUtf8,
} from '../../support/tlog-vectors.ts'

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const rootOfEntries = (entries: readonly Uint8Array[]): Uint8Array =>
  computeRoot(entries.map(leafHash))

const answers: Record<string, (vector: TlogVector) => unknown> = {
  treeRoot: ({ inputs }) => ({ rootHex: toHex(rootOfEntries(inputs.leavesHex.map(parseHex))) }),
  nodeHash: ({ inputs }) => ({
    hashHex: toHex(computeRoot([parseHex(inputs.leftHex), parseHex(inputs.rightHex)])),
  }),
  treeRootOfRecords: ({ inputs }) => ({
    rootBase64: base64Of(rootOfEntries(composeRecords(inputs))),
  }),
  checkpointOfLeaves: ({ inputs }) => {
    const { checkpoint, leavesUtf8 } = inputs
    const { root, size } = parseCheckpoint(checkpoint.slice(0, checkpoint.lastIndexOf('\n\n') + 1))
    assert.deepEqual(rootOfEntries(leavesUtf8.map(toUtf8)), root)
    return { valid: true, size, rootBase64: base64Of(root) }
  },
  readEntryBundle: ({ inputs }) => {
    const entries = splitBundle(parseHex(inputs.bundleHex))
    if (entries === null || entries.length !== inputs.width) return { error: true }
    return { entriesUtf8: entries.map((entry) => new TextDecoder().decode(entry)) }
  },
}

const rows = tlogVectors.filter(({ op }) => op in answers)

test('there are 21 rows about roots of hashes and bundles of entries', () => {
  assert.equal(rows.length, 21)
})

for (const row of rows) {
  test(`${row.id}: ${row.name}`, () => {
    assert.deepEqual(answers[row.op]?.(row), row.expected)
  })
}
