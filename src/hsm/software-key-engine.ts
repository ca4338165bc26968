import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { UnwrappedKeyBlock } from '../crypto/key-block.ts'
import { type KeyBlockHeader, readKeyBlockHeader } from '../crypto/key-block-header.ts'
import { keyCheckValueOf } from './key-check.ts'
import type { Exportability, KeyEngine } from './key-engine.ts'
import { drawFitKey, refuseUnfitKey } from './key-fitness.ts'
import { headerOf, purposeIn } from './key-header.ts'
import { refuseWeakKey } from './key-strength.ts'
import type { KeyKind } from './key-table.ts'
import { type MasterKeys, masterKeysOf } from './master-keys.ts'
import { generateRsaKey } from './rsa-key-pair.ts'
import type { SecretKey } from './secret-key.ts'
import { softwareKeys } from './software-keys.ts'

/** Keys that work in this process and are kept as X9.143 key blocks of version D under a master key. */
export function openSoftwareKeyEngine(masterKey: SecretKey | MasterKeys): KeyEngine {
  const masterKeys = masterKeysOf(masterKey)
  const keep = (kind: KeyKind, key: Uint8Array, exportability: Exportability) => ({
    keyBlock: masterKeys.wrap(headerOf(kind, exportability), key),
    keyCheckValue: keyCheckValueOf(kind.algorithm, key),
  })
  return {
    generate: async (kind, exportability = 'N', signal) =>
      keep(kind, await drawKey(kind, signal), exportability),
    async import(kind, key) {
      refuseUnfitKey(kind, key)
      refuseWeakKey(kind.algorithm, key)
      return keep(kind, key, 'N')
    },
    async open(kind, keyBlock) {
      const { header, key } = await unwrap(masterKeys, keyBlock)
      refuseOtherUse(kind, header)
      refuseWeakKey(header.algorithm, key)
      return softwareKeys[kind.action](kind, key)
    },
    usageOf: (keyBlock) => readKeyBlockHeader(keyBlock).header,
    random: (lengthBytes) => randomBytes(lengthBytes),
  }
}

/** A block may be under a master key that another process has just moved on to. */
async function unwrap(masterKeys: MasterKeys, keyBlock: string): Promise<UnwrappedKeyBlock> {
  try {
    return masterKeys.unwrap(keyBlock)
  } catch {
    await masterKeys.refresh()
    return masterKeys.unwrap(keyBlock)
  }
}

async function drawKey(kind: KeyKind, signal?: AbortSignal): Promise<Uint8Array> {
  if (kind.lengthBytes !== null) return drawFitKey(kind, randomBytes)
  if (kind.algorithm === 'R') return generateRsaKey(signal)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ format: 'der', type: 'pkcs8' })
}

/**
 * A block moved to another row must not turn a key into one with another use or purpose. One that was
 * made before blocks named their purpose is taken for its use alone.
 */
function refuseOtherUse(kind: KeyKind, header: KeyBlockHeader): void {
  const isForThis =
    header.keyUsage === kind.keyUsage &&
    header.algorithm === kind.algorithm &&
    header.modeOfUse === kind.modeOfUse &&
    (purposeIn(header) ?? kind.purpose) === kind.purpose
  if (!isForThis) throw new Error('This key block is for another use.')
}
