/**
 * What the environment says of the audit log: its name, the file that remembers, keys beside
 * Ed25519, witnesses.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseCheckpoint } from '../../packages/audit/checkpoints.ts'
import { openNote, parseVerifierKey, signatureTypes } from '../../packages/audit/notes.ts'
import { StartRefusal } from '../../src/domain/problem.ts'
import { appendMany, signAll } from '../support/audit.ts'
import { openTestService, type TestService } from '../support/service.ts'

const keysOf = async (service: TestService) => {
  const { text } = await service.call('GET', '//.well-known/audit-log-keys', { token: null })
  return text.trimEnd().split('\n').map(parseVerifierKey)
}

const checkpointOf = async (service: TestService): Promise<string> =>
  (await service.call('GET', '//audit/checkpoint', { listener: 'private', token: null })).text

/** Whether this runtime has ML-DSA-44 (FIPS 204). */
const hasMlDsa = ((): boolean => {
  try {
    generateKeyPairSync('ml-dsa-44' as 'ed25519')
    return true
  } catch {
    return false
  }
})()

test('a log is named and remembered as the environment says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-env-'))
  const file = join(folder, 'of-the-log', 'checkpoint')
  const env = { AUDIT_LOG_ORIGIN: 'issuer.test/log', AUDIT_CHECKPOINT_FILE: file }
  const service = await openTestService({ env })
  await appendMany(service.audit, 3)
  await signAll(service.audit)
  const note = await checkpointOf(service)
  assert.deepEqual(parseCheckpoint((await openNote(note, await keysOf(service))).text).size, 3)
  assert.equal(note.split('\n')[0], 'issuer.test/log')
  assert.equal(await readFile(file, 'utf8'), note)
})

test('with AUDIT_LOG_ML_DSA checkpoints have a second signature, from a key that is published', {
  skip: !hasMlDsa && 'this runtime has no ML-DSA-44',
}, async () => {
  const service = await openTestService({ env: { AUDIT_LOG_ML_DSA: 'yes' } })
  await appendMany(service.audit, 3)
  await signAll(service.audit)
  const note = await checkpointOf(service)
  const keys = await keysOf(service)
  const types = keys.map(({ type }) => type)
  assert.deepEqual(types, [signatureTypes.ed25519, signatureTypes.mlDsa44])
  // Either of the two is enough for who knows it.
  for (const key of keys) assert.equal((await openNote(note, [key])).verified.length, 1)
})

test('without it the log has one key', async () => {
  const service = await openTestService()
  await appendMany(service.audit, 1)
  assert.deepEqual(
    (await keysOf(service)).map(({ type }) => type),
    [signatureTypes.ed25519],
  )
})

test('a policy that cannot be read, or is none, keeps the service from starting, and says why', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-policy-'))
  const none = join(folder, 'none')
  const bent = join(folder, 'bent')
  await writeFile(bent, 'witness w not-a-key http://127.0.0.1:1\nquorum w\n')
  for (const [file, why] of [
    [none, /ENOENT/],
    [bent, /Line 1/],
  ] as const) {
    const opening = openTestService({ env: { AUDIT_WITNESS_POLICY: file } })
    await assert.rejects(
      opening,
      (error) => error instanceof StartRefusal && why.test(error.message),
    )
  }
})
