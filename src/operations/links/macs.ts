import { LRUCache } from 'lru-cache'
import type { Requester } from '../../domain/client.ts'
import { isKeyName } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { isMacUsage } from '../../hsm/contract/catalogue.ts'
import { findZoneKey } from '../../storage/keys/zone-keys.ts'
import { importKey } from '../keys/key-transport.ts'
import type { KeyContext } from '../keys/keys.ts'
import type { KeyTarget } from '../keys/store-key.ts'

/** The name of a network's MAC key. */
interface MacKeyName {
  readonly networkId: string
  readonly keyName: string
}

/** Authenticates messages under the keys of their network. */
export interface LinkMacs {
  /** Null if the network has no such key. */
  make(key: MacKeyName, message: Uint8Array): Promise<Uint8Array | null>
  isRight(key: MacKeyName, message: Uint8Array, mac: Uint8Array): Promise<boolean>
  /** Forgets all cached keys. */
  forget(): void
}

/**
 * How long a key is cached: a retired key is still accepted for this time, also during a database
 * outage, so that the network's answer has a MAC.
 */
const knownMs = 5_000

export function createMacs({ database, hsm }: Pick<KeyContext, 'database' | 'hsm'>): LinkMacs {
  const known = new LRUCache<string, string, MacKeyName>({
    max: 1_000,
    ttl: knownMs,
    allowStaleOnFetchRejection: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: async (_, __, { context: { keyName, networkId } }) =>
      (await findZoneKey(database, networkId, keyName))?.keyBlock,
  })
  const fetchKeyBlock = (context: MacKeyName): Promise<string | undefined> =>
    known.fetch(`${context.networkId} ${context.keyName}`, { context })

  return {
    async make(key, message) {
      const keyBlock = await fetchKeyBlock(key)
      return keyBlock === undefined ? null : hsm.generateMac(keyBlock, message)
    },
    async isRight(key, message, mac) {
      const keyBlock = await fetchKeyBlock(key)
      return keyBlock !== undefined && hsm.verifyMac(keyBlock, message, mac)
    },
    forget: () => known.clear(),
  }
}

/** A key that a network sends on a link, under the link's zone master key. */
interface SentKey {
  readonly networkId: string
  readonly requestId: string
  readonly zoneMasterKey: string
  /** X9.143, which states the purpose of the key. */
  readonly keyBlock: string
  /** Hexadecimal, at least three bytes. */
  readonly keyCheckValue: string
  /** The names of a PIN block key and of a MAC key. */
  readonly keyNames: { readonly pin: string; readonly mac: string }
}

/**
 * Imports a key that a network sends. An existing key stays unchanged: its index never names
 * another key, and the same key sent again is accepted.
 * @returns `63` if the key is refused or its index is in use, `91` if it cannot be stored now.
 *   Neither changes anything.
 */
export async function importSentKey(keys: KeyContext, sent: SentKey): Promise<'00' | '63' | '91'> {
  const target = parseTarget(sent)
  if (!target || !isKeyName(target.key)) return '63'
  const { keyBlock, keyCheckValue, networkId, requestId, zoneMasterKey } = sent
  const network: Requester = { clientId: networkId, requestId }
  try {
    await importKey(keys, network, { target, zoneMasterKey, keyBlock, keyCheckValue }, null)
    return '00'
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code === 'unavailable') return '91'
    // The block was opened and its check value compared before the name was found to be taken.
    if (error.code !== 'validation_failed') return '63'
    const known = (await findZoneKey(keys.database, networkId, target.key))?.keyCheckValue ?? ''
    // Networks send check values of different lengths.
    const length = Math.min(known.length, keyCheckValue.length)
    const isSame = known.slice(0, length) === keyCheckValue.slice(0, length).toUpperCase()
    return length >= 6 && isSame ? '00' : '63'
  }
}

/**
 * Parses the purpose of a key from its key block; the HSM enforces it (X9.143:2021, tables 5 and
 * 6).
 */
function parseTarget({ keyBlock, keyNames, networkId: clientId }: SentKey): KeyTarget | null {
  const [, usage = '', algorithm] = /^[BD][0-9]{4}([A-Z][0-9])([AT])/.exec(keyBlock) ?? []
  if (isMacUsage(usage)) {
    return { family: 'zone', key: keyNames.mac, clientId, pinBlockFormats: [], macUsage: usage }
  }
  if (usage !== 'P0') return null
  const pinBlockFormats = algorithm === 'A' ? ['ISO_FORMAT_4'] : ['ISO_FORMAT_0', 'ISO_FORMAT_3']
  return { family: 'zone', key: keyNames.pin, clientId, pinBlockFormats }
}
