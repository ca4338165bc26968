import { LRUCache } from 'lru-cache'
import { type MacChain, messageMacs } from '../../crypto/message-mac.ts'
import { areEqualBytes } from '../../crypto/refusal.ts'
import * as catalogue from '../contract/catalogue.ts'
import type { Hsm } from '../contract/hsm.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import type { KeyEngine } from '../keys/key-engine.ts'
import { selectMacKind } from '../keys/key-purposes.ts'

/** The maximum number of opened MAC keys: a link has two. */
const openedMax = 1_000

/** A network's MAC key with the method of its usage. */
interface OpenedMacKey {
  readonly chain: MacChain
  readonly usage: catalogue.MacUsage
}

/**
 * Authenticates messages between this installation and a network, each key by the method of its
 * usage.
 */
export function macVerbs(
  engine: KeyEngine,
): Pick<Hsm, 'generateMac' | 'verifyMac' | 'importClearMacKey'> {
  const opened = new LRUCache<string, OpenedMacKey>({ max: openedMax })

  async function open(keyBlock: string): Promise<OpenedMacKey> {
    const known = opened.get(keyBlock)
    if (known) return known
    const { keyUsage: usage } = engine.readKeyAttributes(keyBlock)
    if (!catalogue.isMacUsage(usage)) throw new KeyRefusal('The key is not a MAC key.')
    // The engine verifies the usage and the length.
    const key = { chain: await engine.open(selectMacKind(usage), keyBlock), usage }
    opened.set(keyBlock, key)
    return key
  }

  async function make(keyBlock: string, message: Uint8Array): Promise<Buffer> {
    const { chain, usage } = await open(keyBlock)
    return messageMacs[catalogue.macUsages[usage].method](chain, message)
  }

  return {
    generateMac: make,
    async verifyMac(keyBlock, message, mac) {
      const due = await make(keyBlock, message)
      return mac.length >= 4 && areEqualBytes(due.subarray(0, mac.length), mac)
    },
    // The key may have any length of its usage; the engine rejects others.
    importClearMacKey: async (usage, key) => {
      const algorithm = catalogue.macUsages[usage].cipher
      return engine.import(selectMacKind(usage, { algorithm, lengthBytes: key.length }), key)
    },
  }
}
