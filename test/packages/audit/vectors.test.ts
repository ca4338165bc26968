import assert from 'node:assert/strict'
import test from 'node:test'
import { AuditFault, type AuditFaultCode } from '../../../packages/audit/audit-fault.ts'
import {
  openNote,
  parseCheckpoint,
  parseVerifierKey,
  type VerifierKey,
} from '../../../packages/audit/notes.ts'
import {
  type Bytes,
  entriesOf,
  leafHash,
  rootOf,
  tilePath,
  verifyConsistency,
  verifyInclusion,
} from '../../../packages/audit/tree.ts'
import { recordsOf, type TlogVector, tlogVectors } from '../../support/tlog-vectors.ts'

const bytesOf = (hex: string): Bytes => new Uint8Array(Buffer.from(hex, 'hex'))
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const utf8Of = (text: string): Bytes => new TextEncoder().encode(text)
const keysOf = (texts: string[]): Promise<VerifierKey[]> => Promise.all(texts.map(parseVerifierKey))
const rootOfEntries = async (entries: readonly Uint8Array[]): Promise<Bytes> =>
  rootOf(await Promise.all(entries.map(leafHash)))

const included = async (inputs: TlogVector['inputs'], leaf: Bytes) =>
  validity(
    await verifyInclusion({
      ...inputs,
      root: bytesOf(inputs.rootHex),
      leafHash: leaf,
      proof: inputs.proofHex.map(bytesOf),
    }),
  )

const validity = (isValid: boolean): object => (isValid ? { valid: true } : { error: true })

const answers: Record<string, (vector: TlogVector) => Promise<unknown>> = {
  treeRoot: async ({ inputs }) => ({
    rootHex: hexOf(await rootOfEntries(inputs.leavesHex.map(bytesOf))),
  }),
  leafHash: async ({ inputs }) => ({ hashHex: hexOf(await leafHash(bytesOf(inputs.leafHex))) }),
  nodeHash: async ({ inputs }) => ({
    hashHex: hexOf(await rootOf([bytesOf(inputs.leftHex), bytesOf(inputs.rightHex)])),
  }),
  verifyInclusion: ({ inputs }) => included(inputs, bytesOf(inputs.leafHashHex)),
  verifyInclusionOfEntry: async ({ inputs }) =>
    included(inputs, await leafHash(new Uint8Array(Buffer.from(inputs.entryBase64, 'base64')))),
  verifyConsistency: async ({ inputs }) =>
    validity(
      await verifyConsistency({
        oldSize: inputs.size1,
        size: inputs.size2,
        oldRoot: bytesOf(inputs.root1Hex),
        root: bytesOf(inputs.root2Hex),
        proof: inputs.proofHex.map(bytesOf),
      }),
    ),
  treeRootOfRecords: async ({ inputs }) => ({
    rootBase64: base64Of(await rootOfEntries(recordsOf(inputs))),
  }),
  readEntryBundle: async ({ inputs }) => {
    const entries = entriesOf(bytesOf(inputs.bundleHex))
    if (entries === null || entries.length !== inputs.width) return { error: true }
    return { entriesUtf8: entries.map((entry: Bytes) => new TextDecoder().decode(entry)) }
  },
  tilePath: async ({ inputs }) => ({ path: tilePath(inputs.level, inputs.index, inputs.width) }),
  openNote: async ({ expected, inputs }) => {
    const { text, verified } = await openNote(inputs.note, await keysOf(inputs.vkeys))
    return {
      text,
      verified: verified.map(({ name }) => name),
      ...(expected.size && { size: String(parseCheckpoint(text).size) }),
    }
  },
  parseVkey: async ({ inputs }) => {
    const { id, name, type } = await parseVerifierKey(inputs.vkey)
    return { name, keyIdHex: id, type }
  },
  parseCheckpoint: async ({ inputs }) => parseCheckpoint(inputs.body),
  checkpointOfLeaves: async ({ inputs }) => {
    const { text } = await openNote(inputs.checkpoint, await keysOf([inputs.vkey]))
    const { root, size } = parseCheckpoint(text)
    assert.deepEqual(await rootOfEntries(inputs.leavesUtf8.map(utf8Of)), root)
    return { valid: true, size, rootBase64: base64Of(root) }
  },
  verifyCosignature: async ({ inputs }) => {
    const { verified } = await openNote(inputs.note, await keysOf([inputs.vkey]))
    return { valid: true, timestamp: (verified[0]?.at?.getTime() ?? 0) / 1_000 }
  },
}

test('in a browser, which has Web Crypto alone, trees have the same roots', async () => {
  const { getBuiltinModule } = process
  const url = new URL('../../../packages/audit/tree.ts?browser', import.meta.url)
  Object.assign(process, { getBuiltinModule: undefined })
  const browser: Pick<typeof import('../../../packages/audit/tree.ts'), 'leafHash' | 'rootOf'> =
    await import(url.href).finally(() => Object.assign(process, { getBuiltinModule }))
  for (const { expected, id, inputs } of tlogVectors.filter(({ op }) => op === 'treeRoot')) {
    const leaves: Bytes[] = inputs.leavesHex.map(bytesOf)
    const hashes = await Promise.all(leaves.map(browser.leafHash))
    assert.equal(hexOf(await browser.rootOf(hashes)), expected.rootHex, id)
  }
})

/** What the rows call a refusal, as the verifier does. */
const codes: Record<string, AuditFaultCode> = {
  malformed: 'malformed',
  'invalid signature': 'wrong_signature',
  unverified: 'unverified',
}

const rows = tlogVectors.filter(({ op }) => op in answers)

test('there are 251 rows that a verifier can answer', () => assert.equal(rows.length, 251))

for (const row of rows) {
  test(`${row.id}: ${row.name}`, async () => {
    const { error } = row.expected
    // A proof that is not right is no fault: whether it is, is the answer.
    if (error === undefined || /^(verify(Incl|Cons)|readEntry)/.test(row.op)) {
      assert.deepEqual(await answers[row.op]?.(row), row.expected)
      return
    }
    await assert.rejects(
      async () => answers[row.op]?.(row),
      (fault) => fault instanceof AuditFault && (error === true || fault.code === codes[error]),
    )
  })
}
