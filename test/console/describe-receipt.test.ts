import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointText } from '../../packages/audit/checkpoints.ts'
import { composeNote } from '../../packages/audit/notes.ts'
import { proofText } from '../../packages/audit/receipt.ts'
import { describeReceipt } from '../../src/console/describe-receipt.ts'

const origin = 'log.example/audit'

test('the path of a receipt names its entry, the checkpoint, and who cosigned it when', () => {
  const timed = Buffer.alloc(72)
  timed.writeBigUInt64BE(1_790_000_000n)
  const checkpoint = composeNote(checkpointText({ origin, size: 32, root: new Uint8Array(32) }), [
    { name: origin, id: '00000001', signature: new Uint8Array(64) },
    { name: 'witness.example/w', id: '00000002', signature: timed },
    { name: 'untimed.example/w', id: '00000003', signature: new Uint8Array(72) },
  ])
  const said = JSON.stringify({ act: 'pin.revealed' })
  const extra = Buffer.from(JSON.stringify({ salt: 'AAAA', text: said }))
  const proof = { checkpoint, hashes: [], index: 19 }
  assert.deepEqual(describeReceipt(proofText({ ...proof, extra })), {
    entry: { act: 'pin.revealed' },
    index: 19,
    origin,
    size: 32,
    signedAt: null,
    witnesses: [
      { name: 'witness.example/w', at: '2026-09-21T14:13:20.000Z' },
      { name: 'untimed.example/w', at: null },
    ],
  })
  assert.equal(describeReceipt(proofText({ ...proof, extra: null })).entry, null)
})
