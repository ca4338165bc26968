/** Receipts: what a client was told is in the log, and proves itself without the service. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import { openNote, parseVerifierKey } from '../../../packages/audit/notes.ts'
import {
  computeCommitment,
  encodeEntry,
  leafHash,
  verifyInclusion,
} from '../../../packages/audit/tree.ts'
import { eraseDue } from '../../../src/operations/audit-log/erase.ts'
import { enterAll, signAll } from '../../support/audit.ts'
import { type Answer, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService()
})

/** Discloses a PIN. @returns the entry that the answer names. */
const disclose = async (): Promise<string> => {
  const { publicToken } = await service.createCard()
  const answer = await service.call('GET', `/card-pin/${publicToken}/pin`)
  assert.equal(answer.status, 200)
  return String(answer.headers['audit-entry'])
}

const receiptOf = (entry: string) => service.call('GET', `/receipts/${entry}`)

/** Verifies a receipt with nothing but the keys. @returns what is proven. */
const verify = async ({ text: receipt }: Answer) => {
  const [head = '', note = ''] = receipt.split(/\n\n(.*)/s)
  const [name, extra = '', index = '', ...hashes] = head.split('\n')
  assert.equal(name, 'c2sp.org/tlog-proof@v1')
  const keys = await service.call('GET', '//.well-known/audit-log-keys', { token: null })
  const vkeys = keys.text.trimEnd().split('\n').map(parseVerifierKey)
  const { root, size } = parseCheckpoint((await openNote(note, vkeys)).text)
  const opening = extra.startsWith('extra ')
    ? JSON.parse(Buffer.from(extra.slice(6), 'base64').toString())
    : null
  const proof = (opening ? hashes : [index, ...hashes]).filter((line) => line !== '')
  const claim = {
    index: Number((opening ? index : extra).replace(/^index /, '')),
    size,
    root,
    proof: proof.map((line) => new Uint8Array(Buffer.from(line, 'base64'))),
  }
  const isProven = (commitment: Uint8Array) =>
    verifyInclusion({ ...claim, leafHash: leafHash(encodeEntry(commitment)) })
  if (!opening) return { text: null, isProven }
  const commitment = computeCommitment(Buffer.from(opening.salt, 'base64'), opening.text)
  return { text: opening.text as string, isProven: () => isProven(commitment) }
}

test('the receipt of a disclosure is waited for until it is under a checkpoint, and then proves itself', async () => {
  const entry = await disclose()
  for (const step of [async () => {}, () => enterAll(service.database)]) {
    await step()
    const answer = await receiptOf(entry)
    assert.equal(answer.status, 202)
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(answer.text, '')
  }
  await signAll(service.audit)
  const answer = await receiptOf(entry)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
  const { isProven, text } = await verify(answer)
  assert.ok(isProven(Buffer.alloc(32)))
  const said = JSON.parse(text ?? '')
  assert.equal(said.entry, entry)
  assert.equal(said.act, 'pin.revealed')
  assert.equal(said.outcome, 'done')
})

test('what was made long ago and is not in the log has no receipt, however its id looks', async () => {
  const old = (Date.now() - 11 * 60_000).toString(16).padStart(12, '0')
  const ids = [`${old.slice(0, 8)}-${old.slice(8)}-7000-8000-000000000000`, randomUUID(), 'entry']
  for (const id of ids) assert.equal((await receiptOf(id)).status, 404, id)
})

test('the receipt of an erased entry proves that it is in the log, and says nothing any more', async () => {
  const { publicToken } = await service.createCard()
  const disclosure = await service.call('GET', `/card-pin/${publicToken}/pin`)
  const entry = String(disclosure.headers['audit-entry'])
  await enterAll(service.database)
  const erasure = await service.call('POST', '//audit/erasures', {
    as: 'admin',
    listener: 'private',
    body: { publicToken, reason: 'asked for' },
  })
  assert.equal(erasure.status, 202, erasure.text)
  const stored = async () => {
    const [row] = await sql<{ commitment: Uint8Array; text: string | null }>(
      service.database,
      'select commitment, text from audit_entry where log = 1 and entry_id = $1::uuid',
      [entry],
    )
    assert.ok(row)
    return row
  }
  const stop = new AbortController().signal
  while ((await stored()).text !== null) {
    await eraseDue(service.audit, { retentionDays: 400, leastDays: 0 }, stop)
    await enterAll(service.database)
    await signAll(service.audit)
  }
  const answer = await receiptOf(entry)
  assert.equal(answer.status, 200)
  const { isProven, text } = await verify(answer)
  assert.equal(text, null)
  assert.ok(isProven((await stored()).commitment))
})
