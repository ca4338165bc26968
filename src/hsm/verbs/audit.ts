import { eightBytes } from '../../../packages/audit/bytes.ts'
import { checkpointText, mlDsaMessage } from '../../../packages/audit/checkpoints.ts'
import type { AuditHsm, AuditKey } from '../contract/audit.ts'
import { keyCatalogue } from '../contract/catalogue.ts'
import type { KeyStore } from '../contract/stored-keys.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import type { KeyRing, RingKey } from '../keys/key-ring.ts'
import { orProblem } from '../keys/key-strength.ts'

const algorithms = { audit: 'Ed25519', 'audit-ml-dsa': 'ML-DSA-44' } as const
type AuditKeyName = keyof typeof algorithms

/**
 * Signs checkpoints of the audit log. The text is composed inside the boundary: the keys sign
 * nothing else.
 */
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
    const seconds = Math.floor(at.getTime() / 1_000)
    const { origin, root, size } = checkpoint
    // Rejects an origin that could make the text another checkpoint, or an invalid one.
    if (!/^[^\s+]{1,255}$/.test(origin)) throw new Error('The origin of a log must be one word.')
    if (!Number.isSafeInteger(size) || size < 0 || root.length !== 32) {
      throw new Error('A checkpoint must have a size and a root of 32 bytes.')
    }
    const text = Buffer.from(checkpointText(checkpoint))
    // The log is its own cosigner here.
    const cosigned = mlDsaMessage(checkpoint.origin, checkpoint, seconds)
    const signatures = []
    for (const each of await activeVersions(ring, 'audit')) {
      signatures.push({ key: describe(each), signature: await each.key.sign(text) })
    }
    for (const each of withMlDsa ? await activeVersions(ring, 'audit-ml-dsa') : []) {
      const signature = Buffer.concat([eightBytes(seconds), await each.key.sign(cosigned)])
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
