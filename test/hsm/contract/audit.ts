import assert from 'node:assert/strict'
import { createPublicKey, randomBytes, verify } from 'node:crypto'
import { test } from 'node:test'
import type { AuditKey, CheckpointSignature } from '../../../src/hsm/contract/audit.ts'
import { openWith, type Subject } from '../implementation.ts'

const checkpoint = () => ({
  origin: 'issuer.example/audit',
  size: 20_852_163,
  root: randomBytes(32),
})

const textOf = ({ origin, root, size }: ReturnType<typeof checkpoint>): Buffer =>
  Buffer.from(`${origin}\n${size}\n${root.toString('base64')}\n`)

const ed25519Key = ({ publicKey }: AuditKey) => {
  const x = Buffer.from(publicKey).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

const [given, later] = [{ at: new Date(1_679_315_147_900), withMlDsa: false }, new Date()]

export function auditGuarantees(subject: Subject): void {
  test('a checkpoint is signed so that OpenSSL verifies its text, and no other', async () => {
    const hsm = await openWith(subject())
    const body = checkpoint()
    const [signed, another] = await hsm.signCheckpoint(body, given)
    assert.ok(signed && !another)
    assert.equal(signed.key.algorithm, 'Ed25519')
    assert.equal(signed.key.publicKey.length, 32)
    const verifies = (text: Buffer) => verify(null, text, ed25519Key(signed.key), signed.signature)
    assert.equal(verifies(textOf(body)), true)
    assert.equal(verifies(textOf({ ...body, size: body.size + 1 })), false)
    assert.deepEqual(await hsm.auditKeys(), [signed.key])
  })

  test('what is no checkpoint is not signed', async () => {
    const hsm = await openWith(subject())
    const strange = [
      { origin: 'issuer.example/audit\n7' },
      { origin: '' },
      { size: -1 },
      { size: 1.5 },
      { root: randomBytes(31) },
    ]
    for (const each of strange) {
      await assert.rejects(hsm.signCheckpoint({ ...checkpoint(), ...each }, given))
    }
  })

  test('both versions sign until the older one is retired, which is then still published', async () => {
    const hsm = await openWith(subject())
    const keyName = 'audit'
    const key = await hsm.generateKey({ family: 'installation', keyName }, null, false)
    const versionsOf = (signatures: readonly CheckpointSignature[]) =>
      signatures.map((each) => each.key.version)
    const second = { keyName, keyVersion: 2, ...key } as const
    await hsm.keyStore.add({ ...second, state: 'pending' })
    await hsm.refreshKeys()
    assert.deepEqual(versionsOf(await hsm.signCheckpoint(checkpoint(), given)), [1])
    assert.equal((await hsm.auditKeys()).length, 2)
    hsm.keyStore.rows.splice(-1, 1, { ...second, state: 'active' })
    await hsm.refreshKeys()
    const body = checkpoint()
    const signatures = await hsm.signCheckpoint(body, given)
    assert.deepEqual(versionsOf(signatures), [2, 1])
    for (const each of signatures) {
      assert.equal(verify(null, textOf(body), ed25519Key(each.key), each.signature), true)
    }
    const rows = hsm.keyStore.rows
    const at = rows.findIndex((row) => row.keyName === keyName && row.keyVersion === 1)
    rows.splice(at, 1, { ...(rows[at] ?? assert.fail()), state: 'retired' })
    await hsm.refreshKeys()
    assert.deepEqual(versionsOf(await hsm.signCheckpoint(checkpoint(), given)), [2])
    assert.deepEqual(
      (await hsm.auditKeys()).map(({ state, version }) => [version, state]),
      [
        [2, 'active'],
        [1, 'retired'],
      ],
    )
  })

  test('ML-DSA-44 signs beside Ed25519 where it is asked for, or its key is refused', async () => {
    const hsm = await openWith(subject())
    const refusal = await hsm.generateAuditMlDsaKey().catch((error: unknown) => error)
    if (refusal !== undefined) {
      assert.match(String(refusal), /ML-DSA-44/)
      return
    }
    await hsm.generateAuditMlDsaKey()
    const body = checkpoint()
    assert.equal((await hsm.signCheckpoint(body, { ...given, at: later })).length, 1)
    const [, signed, another] = await hsm.signCheckpoint(body, { ...given, withMlDsa: true })
    assert.ok(signed && !another)
    assert.equal(signed.key.algorithm, 'ML-DSA-44')
    assert.deepEqual([signed.key.publicKey.length, signed.signature.length], [1_312, 8 + 2_420])
    const bytes = Buffer.from(signed.signature)
    assert.equal(bytes.readBigUInt64BE(), 1_679_315_147n)
    const pub = Buffer.from(signed.key.publicKey).toString('base64url')
    const jwk = { kty: 'AKP', alg: 'ML-DSA-44', pub }
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    // c2sp.org/tlog-cosignature, "ML-DSA-44 signed message", of a log that cosigns its own
    // checkpoint.
    const name = Buffer.from(`\x14${body.origin}`)
    const numbers = Buffer.alloc(16)
    numbers.writeBigUInt64BE(BigInt(body.size), 8)
    const parts = [Buffer.from('subtree/v1\n\0'), name, bytes.subarray(0, 8), name, numbers]
    const message = Buffer.concat([...parts, body.root])
    assert.equal(verify(null, message, key, bytes.subarray(8)), true)
    message.writeUInt8(1, message.length - 40)
    assert.equal(verify(null, message, key, bytes.subarray(8)), false)
  })
}
