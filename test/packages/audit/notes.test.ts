import assert from 'node:assert/strict'
import { createPrivateKey, type createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import test from 'node:test'
import { AuditFault, type AuditFaultCode } from '../../../packages/audit/audit-fault.ts'
import { eightBytes } from '../../../packages/audit/bytes.ts'
import {
  checkpointText,
  cosignatureMessage,
  mlDsaMessage,
  parseCheckpoint,
} from '../../../packages/audit/checkpoints.ts'
import {
  composeNote,
  noteKeyId,
  openNote,
  parseVerifierKey,
  signatureTypes,
  verifierKeyText,
} from '../../../packages/audit/notes.ts'
import { proofText } from '../../../packages/audit/receipt.ts'
import { readRoot } from '../../../packages/audit/tiles.ts'
import { leafHash } from '../../../packages/audit/tree.ts'
import { parseHex, type TlogVector, tlogVectors, toUtf8 } from '../../support/tlog-vectors.ts'

const answers: Record<string, (vector: TlogVector) => unknown> = {
  openNote: async ({ expected, inputs }) => {
    const { text, verified } = await openNote(inputs.note, inputs.vkeys.map(parseVerifierKey))
    return {
      text,
      verified: verified.map(({ name }) => name),
      ...(expected.size && { size: String(parseCheckpoint(text).size) }),
    }
  },
  signNote: ({ inputs }) => {
    const [, , name, id, ...key] = inputs.signerKey.split('+')
    const signature = sign(null, Buffer.from(inputs.text), privateKeyOf(key.join('+')))
    return { note: composeNote(inputs.text, [{ name, id, signature }]) }
  },
  parseVkey: ({ inputs }) => {
    const { id, name, type } = parseVerifierKey(inputs.vkey)
    return { name, keyIdHex: id, type }
  },
  formatCheckpoint: ({ expected, inputs }) => ({
    ...expected,
    body: checkpointText({
      origin: inputs.origin,
      size: Number(inputs.size),
      root: leafHash(toUtf8(inputs.leafUtf8)),
    }),
  }),
  parseCheckpoint: ({ inputs }) => parseCheckpoint(inputs.body),
  checkpointOfLeaves: async ({ inputs }) => {
    const { text } = await openNote(inputs.checkpoint, [parseVerifierKey(inputs.vkey)])
    const { root, size } = parseCheckpoint(text)
    const leaves: Uint8Array[] = inputs.leavesUtf8.map((leaf: string) => leafHash(toUtf8(leaf)))
    assert.deepEqual(await readRoot(size, async () => new Uint8Array(Buffer.concat(leaves))), root)
    return { valid: true, size, rootBase64: Buffer.from(root).toString('base64') }
  },
  verifyCosignature: async ({ inputs }) => {
    const { verified } = await openNote(inputs.note, [parseVerifierKey(inputs.vkey)])
    return { valid: true, timestamp: (verified[0]?.at?.getTime() ?? 0) / 1_000 }
  },
}

/** The seed of a signer key of golang.org/x/mod/sumdb/note, behind its type. */
const privateKeyOf = (base64: string) =>
  createPrivateKey({
    key: Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      Buffer.from(base64, 'base64').subarray(1),
    ]),
    format: 'der',
    type: 'pkcs8',
  })

/** What the rows call a refusal, as the faults are named. */
const codes: Record<string, AuditFaultCode> = {
  malformed: 'malformed',
  'invalid signature': 'wrong_signature',
  unverified: 'unverified',
}

const rows = tlogVectors.filter(({ op }) => op in answers)

test('there are 32 rows about notes and checkpoints', () => assert.equal(rows.length, 32))

for (const row of rows) {
  test(`${row.id}: ${row.name}`, async () => {
    if (row.expected.error === undefined) {
      assert.deepEqual(await answers[row.op]?.(row), row.expected)
      return
    }
    await assert.rejects(
      async () => answers[row.op]?.(row),
      (error) =>
        error instanceof AuditFault &&
        (row.expected.error === true || codes[row.expected.error] === error.code),
    )
  })
}

const checkpoint = checkpointText({
  origin: 'cards.example/audit',
  size: 3,
  root: new Uint8Array(32),
})
const name = 'cards.example/audit'
const rawOf = (key: ReturnType<typeof createPublicKey>): Uint8Array =>
  new Uint8Array(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'))

test('a cosignature that is made here is verified here, with its time', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = parseVerifierKey(verifierKeyText(name, signatureTypes.cosignature, rawOf(publicKey)))
  const signed = sign(null, cosignatureMessage(checkpoint, 1_700_000_000), privateKey)
  const signature = Buffer.concat([eightBytes(1_700_000_000), signed])
  const note = composeNote(checkpoint, [{ name, id: key.id, signature }])
  const { verified } = await openNote(note, [key])
  assert.deepEqual(verified, [{ name, type: key.type, at: new Date(1_700_000_000_000) }])
})

test('a signature by ML-DSA-44 binds name, time, origin, size and root', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ml-dsa-44')
  const raw = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-1312))
  const key = parseVerifierKey(verifierKeyText(name, signatureTypes.mlDsa44, raw))
  const signed = sign(null, mlDsaMessage(name, parseCheckpoint(checkpoint), 5), privateKey)
  const open = (text: string, timestamp: number) =>
    openNote(
      composeNote(text, [
        { name, id: key.id, signature: Buffer.concat([eightBytes(timestamp), signed]) },
      ]),
      [key],
    )
  assert.equal((await open(checkpoint, 5)).verified.length, 1)
  await assert.rejects(open(checkpoint, 6), { code: 'wrong_signature' })
  await assert.rejects(open(checkpoint.replace('\n3\n', '\n4\n'), 5), {
    code: 'wrong_signature',
  })
})

test('a cosignature cut short is wrong, not a fault', async () => {
  const { publicKey } = generateKeyPairSync('ed25519')
  const key = parseVerifierKey(verifierKeyText(name, signatureTypes.cosignature, rawOf(publicKey)))
  for (const length of [1, 8, 9, 71]) {
    const note = composeNote(checkpoint, [{ name, id: key.id, signature: new Uint8Array(length) }])
    await assert.rejects(openNote(note, [key]), { code: 'wrong_signature' })
  }
})

test('the id of a key is that of its name and type, too', () => {
  const raw = parseHex('00'.repeat(32))
  const ids = [noteKeyId('a', 1, raw), noteKeyId('b', 1, raw), noteKeyId('a', 4, raw)]
  assert.equal(new Set(ids).size, 3)
})

test('a proof is a file of lines: what is added, the index, hashes, the checkpoint as it was signed', () => {
  const note = composeNote(checkpoint, [{ name, id: '01020304', signature: new Uint8Array(64) }])
  const file = proofText({
    extra: toUtf8('{"salt":"","text":""}'),
    index: 2,
    hashes: [new Uint8Array(32)],
    checkpoint: note,
  })
  assert.equal(
    file,
    `c2sp.org/tlog-proof@v1\nextra eyJzYWx0IjoiIiwidGV4dCI6IiJ9\nindex 2\n${'A'.repeat(43)}=\n\n${note}`,
  )
})
