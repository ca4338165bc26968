import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { before, test } from 'node:test'
import {
  AuditFault,
  openCheckpoint,
  parseVerifierKeys,
  type VerifierKey,
  verifyReceipt,
} from '../../../packages/audit/audit.ts'
import { eightBytes } from '../../../packages/audit/bytes.ts'
import {
  checkpointText,
  cosignatureMessage,
  mlDsaMessage,
} from '../../../packages/audit/checkpoints.ts'
import {
  noteKeyId,
  signatureLine,
  signatureTypes,
  verifierKeyText,
} from '../../../packages/audit/notes.ts'
import { proofText } from '../../../packages/audit/receipt.ts'
import {
  type Exported,
  exportLog,
  makeLogKey,
  numberedEntries,
} from '../../support/exported-log.ts'

const key = makeLogKey('cards.example/audit')
let keys: VerifierKey[]
let log: Exported
before(async () => {
  keys = await parseVerifierKeys(key.text)
  log = await exportLog(key, numberedEntries(300))
})

/** The receipt of an entry, as the service writes it. */
async function receiptOf(index: number, checkpoint = log.note): Promise<string> {
  const lines = Buffer.from(log.files.get(`openings/${Math.floor(index / 256)}.jsonl`) ?? [])
  const { salt, text } = JSON.parse(lines.toString().split('\n')[index % 256] ?? '')
  return proofText({
    extra: Buffer.from(JSON.stringify({ salt, text })),
    index,
    hashes: await log.inclusionProof(index),
    checkpoint,
  })
}

const faultOf = async (receipt: string, by = keys): Promise<string> => {
  try {
    await verifyReceipt(receipt, by)
    return 'none'
  } catch (error) {
    if (error instanceof AuditFault) return error.code
    throw error
  }
}

test('a receipt proves what was entered, where, and under which signed tree', async () => {
  for (const index of [0, 1, 255, 256, 299]) {
    const { checkpoint, entry, ...place } = await verifyReceipt(await receiptOf(index), keys)
    assert.equal(place.index, index)
    assert.deepEqual([checkpoint.origin, checkpoint.size], [key.origin, 300])
    assert.equal(entry.entry, numberedEntries(300)[index]?.entry)
  }
})

test('a receipt with anything changed proves nothing', async () => {
  const receipt = await receiptOf(257)
  const lines = receipt.split('\n')
  const extra = JSON.parse(Buffer.from(lines[1]?.slice(6) ?? '', 'base64').toString())
  const withExtra = (said: object) =>
    receipt.replace(lines[1] ?? '', `extra ${Buffer.from(JSON.stringify(said)).toString('base64')}`)
  assert.equal(await faultOf(receipt), 'none')
  const text = extra.text.replace('acme', 'evil')
  assert.equal(await faultOf(withExtra({ ...extra, text })), 'not_included')
  assert.equal(
    await faultOf(withExtra({ ...extra, salt: Buffer.alloc(32).toString('base64') })),
    'not_included',
  )
  assert.equal(await faultOf(withExtra({ text })), 'malformed')
  assert.equal(await faultOf(receipt.replace('index 257', 'index 256')), 'not_included')
  assert.equal(await faultOf(receipt.replace('index 257', 'index 300')), 'not_included')
  assert.equal(await faultOf(receipt.replace(`${lines[3]}\n`, '')), 'not_included')
  assert.equal(await faultOf(receipt.replace(`${lines[1]}\n`, '')), 'erased')
  assert.equal(await faultOf(receipt.replace('\n300\n', '\n301\n')), 'wrong_signature')
  assert.equal(await faultOf(receipt.replace('@v1', '@v2')), 'malformed')
  assert.equal(await faultOf(''), 'malformed')
  assert.equal(await faultOf(receipt, await parseVerifierKeys(makeLogKey('b').text)), 'unverified')
})

test('a witness whose key is given is named with the time of its cosignature, and alone it is not enough', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = new Uint8Array(Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'))
  const name = 'witness.example/w'
  const text = checkpointText({ origin: key.origin, size: log.size, root: log.root })
  const signed = sign(null, cosignatureMessage(text, 1_700_000_000), privateKey)
  const signature = Buffer.concat([eightBytes(1_700_000_000), signed])
  const id = noteKeyId(name, signatureTypes.cosignature, raw)
  const line = signatureLine({ name, id, signature })
  const own = verifierKeyText(name, signatureTypes.cosignature, raw)
  const receipt = await receiptOf(3, `${log.note}${line}`)
  const { checkpoint } = await verifyReceipt(
    receipt,
    await parseVerifierKeys(`${key.text}\n${own}`),
  )
  assert.deepEqual(checkpoint.unknownBy, [])
  assert.deepEqual(checkpoint.cosignedBy, [{ name, type: 4, at: new Date(1_700_000_000_000) }])
  const bare = await verifyReceipt(receipt, keys)
  assert.deepEqual([bare.checkpoint.cosignedBy, bare.checkpoint.unknownBy], [[], [name]])
  assert.equal(await faultOf(receipt, await parseVerifierKeys(own)), 'unverified')
  const uncosigned = await receiptOf(3)
  const both = await parseVerifierKeys(`${key.text}\n${own}`)
  assert.equal(await faultOf(uncosigned, both), 'unverified')
  assert.equal((await verifyReceipt(uncosigned, both, undefined, 0)).index, 3)
})

test('a second signature, by ML-DSA-44, is verified where the runtime can', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ml-dsa-44')
  const raw = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-1312))
  const message = mlDsaMessage(key.origin, { ...log, origin: key.origin }, 7)
  const signature = Buffer.concat([eightBytes(7), sign(null, message, privateKey)])
  const id = noteKeyId(key.origin, signatureTypes.mlDsa44, raw)
  const note = `${log.note}${signatureLine({ name: key.origin, id, signature })}`
  const own = verifierKeyText(key.origin, signatureTypes.mlDsa44, raw)
  const both = await parseVerifierKeys(`${key.text}\n${own}\n`)
  const { signedBy, uncheckedBy } = await openCheckpoint(note, both)
  assert.deepEqual([signedBy.map(({ type }) => type), uncheckedBy], [[1, 6], []])
})
