import { LRUCache } from 'lru-cache'
import type { Hsm, ZoneKeyAlgorithm } from './hsm.ts'
import type { KeyEngine } from './key-engine.ts'
import { drawFitKey } from './key-fitness.ts'
import type { KeyKind } from './key-table.ts'
import type { BlockKey } from './working-key.ts'

type ZoneKeyKind = KeyKind & { readonly action: 'blocks' }

/** What a zone key must be (X9.143, tables 5 to 8). The simulator enciphers under them too. */
const common = { purpose: 'zone', keyUsage: 'P0', modeOfUse: 'B', action: 'blocks' } as const
const kinds: Record<ZoneKeyAlgorithm, ZoneKeyKind> = {
  TDES: { ...common, algorithm: 'T', lengthBytes: 16 },
  AES: { ...common, algorithm: 'A', lengthBytes: 32 },
}

/** Takes in keys that card networks encipher PIN blocks under. */
export const zoneKeyVerbs = (
  engine: KeyEngine,
): Pick<Hsm, 'generateTestZoneKey' | 'importClearZoneKey'> => ({
  generateTestZoneKey: (algorithm) => drawFitKey(kinds[algorithm], engine.random),
  importClearZoneKey: (algorithm, key) => engine.import(kinds[algorithm], key),
})

/** Zone keys in use at once, opened: a network has a handful. */
const openedMax = 1_000

/** Finds the zone key in a key block. */
export type ZoneKeys = (keyBlock: string) => Promise<BlockKey>

/** Opens each key block once. @throws Error when a block is not ours, or is for another use. */
export function openZoneKeys(engine: KeyEngine): ZoneKeys {
  const opened = new LRUCache<string, BlockKey>({ max: openedMax })
  return async (keyBlock) => {
    const known = opened.get(keyBlock)
    if (known) return known
    const { algorithm, modeOfUse } = engine.usageOf(keyBlock)
    const kind = kinds[algorithm === 'A' ? 'AES' : 'TDES']
    // A network's own key may be for deciphering alone.
    const zoneKey = await engine.open(modeOfUse === 'D' ? { ...kind, modeOfUse } : kind, keyBlock)
    opened.set(keyBlock, zoneKey)
    return zoneKey
  }
}
