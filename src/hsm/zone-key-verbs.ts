import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { hasOddParity, setOddParity } from '../crypto/des-parity.ts'
import { unwrapKeyBlock, wrapKeyBlock } from '../crypto/key-block.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../crypto/key-check-value.ts'
import { isWeakTdesKey } from '../crypto/weak-key.ts'
import type { Hsm, ZoneKeyAlgorithm } from './hsm.ts'
import type { SecretKey } from './secret-key.ts'
import { softwareBlockKey } from './software-keys.ts'
import type { BlockKey } from './working-key.ts'

/** What a zone key must be, and how its key block tells it (X9.143, table 6). */
const kinds: Record<
  ZoneKeyAlgorithm,
  { algorithm: string; lengthBytes: number; checkValue(key: Uint8Array): Buffer }
> = {
  TDES: { algorithm: 'T', lengthBytes: 16, checkValue: (key) => tdesKeyCheckValue(key) },
  AES: { algorithm: 'A', lengthBytes: 32, checkValue: (key) => aesKeyCheckValue(key) },
}

/** Takes in keys that card networks encipher PIN blocks under. */
export const zoneKeyVerbs = (
  masterKey: SecretKey,
): Pick<Hsm, 'generateTestZoneKey' | 'importClearZoneKey'> => ({
  async generateTestZoneKey(algorithm) {
    const key = randomBytes(kinds[algorithm].lengthBytes)
    return algorithm === 'TDES' ? setOddParity(key) : key
  },
  async importClearZoneKey(algorithm, key) {
    const kind = kinds[algorithm]
    if (key.length !== kind.lengthBytes) throw new Error('This zone key has another length.')
    if (algorithm === 'TDES') refuseBadTdesKey(key)
    const header = {
      version: 'D',
      keyUsage: 'P0',
      algorithm: kind.algorithm,
      modeOfUse: 'D',
      keyVersion: '00',
      exportability: 'N',
      reserved: '00',
      optionalBlocks: [],
    } as const
    return {
      keyBlock: wrapKeyBlock(masterKey.reveal(), header, key),
      keyCheckValue: kind.checkValue(key).toString('hex').toUpperCase(),
    }
  },
})

/** Zone keys in use at once, unwrapped: a network has a handful. */
const unwrappedMax = 1_000

/** Finds the zone key in a key block. */
export type ZoneKeys = (keyBlock: string) => Promise<BlockKey>

/** Unwraps each key block once. @throws Error when a block is not ours, or is for another use. */
export function openZoneKeys(masterKey: SecretKey): ZoneKeys {
  const unwrapped = new LRUCache<string, BlockKey>({ max: unwrappedMax })
  return async (keyBlock) => {
    const known = unwrapped.get(keyBlock)
    if (known) return known
    const zoneKey = unwrapZoneKey(masterKey, keyBlock)
    unwrapped.set(keyBlock, zoneKey)
    return zoneKey
  }
}

function unwrapZoneKey(masterKey: SecretKey, keyBlock: string): BlockKey {
  const { header, key } = unwrapKeyBlock(masterKey.reveal(), keyBlock)
  if (header.keyUsage !== 'P0') throw new Error('This key block holds no zone key.')
  return softwareBlockKey(header.algorithm === 'A' ? 'AES' : 'TDES', key)
}

function refuseBadTdesKey(key: Uint8Array): void {
  if (!hasOddParity(key)) throw new Error('This zone key has even parity.')
  if (isWeakTdesKey(key)) throw new Error('This zone key is weak.')
}
