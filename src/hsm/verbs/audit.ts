import type { AuditHsm, AuditKey, CheckpointBody } from '../contract/audit.ts'
import { keyCatalogue } from '../contract/catalogue.ts'
import type { KeyStore } from '../contract/stored-keys.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import type { KeyRing, RingKey } from '../keys/key-ring.ts'
import { orProblem } from '../keys/key-strength.ts'

const algorithms = { audit: 'Ed25519', 'audit-ml-dsa': 'ML-DSA-44' } as const
type AuditKeyName = keyof typeof algorithms

/** Signs checkpoints of the audit log. The text is made on this side: the keys sign nothing else. */
export const auditVerbs = (engine: KeyEngine, ring: KeyRing, keyStore: KeyStore): AuditHsm => ({
  async auditKeys() {
    const versions = [await ring.everyVersion('audit'), await ring.everyVersion('audit-ml-dsa')]
    return versions.flat().map(describe)
  },
  async generateAuditMlDsaKey() {
    const keyName = 'audit-ml-dsa'
    await ring.refresh()
    if ((await ring.versions(keyName)).length > 0) return
    const made = await orProblem(() => engine.generate(keyCatalogue[keyName].kind))
    await keyStore.add({ keyName, keyVersion: 1, state: 'active', ...made })
    await ring.refresh()
  },
  async signCheckpoint(checkpoint, { at, withMlDsa }) {
    const seconds = BigInt(Math.floor(at.getTime() / 1_000))
    const [text, cosigned] = [textOf(checkpoint), cosignedMessageOf(checkpoint, seconds)]
    const signatures = []
    for (const each of await activeVersions(ring, 'audit')) {
      signatures.push({ key: describe(each), signature: await each.key.sign(text) })
    }
    for (const each of withMlDsa ? await activeVersions(ring, 'audit-ml-dsa') : []) {
      const signature = Buffer.concat([uint64(seconds), await each.key.sign(cosigned)])
      signatures.push({ key: describe(each), signature })
    }
    return signatures
  },
})

const activeVersions = async <Name extends AuditKeyName>(ring: KeyRing, name: Name) =>
  (await ring.versions(name)).filter(({ state }) => state === 'active')

const describe = ({ key, name, state, version }: RingKey<AuditKeyName>): AuditKey => ({
  version,
  algorithm: algorithms[name],
  state,
  publicKey: key.publicKey,
})

/** The text of a checkpoint without extension lines (c2sp.org/tlog-checkpoint). */
function textOf({ origin, root, size }: CheckpointBody): Buffer {
  // A line of its own in the origin would make another checkpoint of it.
  if (!/^[^\s+]{1,255}$/.test(origin)) throw new Error('A log has an origin of one word.')
  if (!Number.isSafeInteger(size) || size < 0 || root.length !== 32) {
    throw new Error('A checkpoint has a size and a root of 32 bytes.')
  }
  return Buffer.from(`${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`)
}

/** What ML-DSA-44 signs: here the log is its own cosigner (c2sp.org/tlog-cosignature). */
const cosignedMessageOf = ({ origin, root, size }: CheckpointBody, seconds: bigint): Buffer => {
  const name = Buffer.from(origin)
  const prefixed = Buffer.concat([Buffer.of(name.length), name])
  return Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    prefixed,
    uint64(seconds),
    prefixed,
    uint64(0n),
    uint64(BigInt(size)),
    root,
  ])
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}
