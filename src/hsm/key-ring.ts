import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { setOddParity } from '../crypto/des-parity.ts'
import { unwrapKeyBlock, wrapKeyBlock } from '../crypto/key-block.ts'
import type { KeyBlockHeader } from '../crypto/key-block-header.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../crypto/key-check-value.ts'
import type { KeyReference } from './hsm.ts'
import type { KeyStore, StoredKey } from './key-store.ts'
import { isKeyName, type KeyKind, type KeyName, keyKinds, keyNames } from './key-table.ts'
import { SecretKey } from './secret-key.ts'

/** One version of a key, ready for use. */
export interface RingKey {
  readonly name: KeyName
  readonly version: number
  readonly reference: KeyReference
  readonly active: boolean
  readonly key: SecretKey
}

/** The keys of an installation, unwrapped: this side of the boundary only. */
export interface KeyRing {
  /** The version that new things are made under. */
  active(name: KeyName): RingKey
  /** The version that something was made under. @throws Error when it is not one of these keys. */
  version(name: KeyName, version: number): RingKey
  /** The same, by its reference. */
  referenced(reference: KeyReference): RingKey
  /** Every version, the active one first. */
  versions(name: KeyName): readonly RingKey[]
}

/**
 * Opens the keys in a store, and makes those that are not there yet. Processes that start at once
 * agree on one key each: the store keeps the first.
 */
export async function openKeyRing(masterKey: SecretKey, store: KeyStore): Promise<KeyRing> {
  const present = new Set((await store.list()).map((stored) => stored.keyName))
  for (const name of keyNames) {
    if (!present.has(name)) await store.add(generateKey(masterKey, name))
  }
  const keys = (await store.list()).map((stored) => unwrap(masterKey, stored))
  return ringOf(
    keys.toSorted((a, b) => Number(b.active) - Number(a.active) || b.version - a.version),
  )
}

function ringOf(keys: readonly RingKey[]): KeyRing {
  const versions = (name: KeyName) => keys.filter((key) => key.name === name)
  const named = new Map(keyNames.map((name) => [name, versions(name)]))
  const referenced = new Map(keys.map((key) => [key.reference, key]))
  return {
    active: (name) => present(named.get(name)?.[0]),
    version: (name, version) => present(referenced.get(`${name}/${version}`)),
    referenced: (reference) => present(referenced.get(reference)),
    versions: (name) => named.get(name) ?? [],
  }
}

function present(key: RingKey | undefined): RingKey {
  if (!key) throw new Error('This key is not in the HSM.')
  return key
}

function generateKey(masterKey: SecretKey, name: KeyName): StoredKey {
  const kind: KeyKind = keyKinds[name]
  const bytes = drawKey(kind)
  return {
    keyName: name,
    keyVersion: 1,
    state: 'active',
    keyBlock: wrapKeyBlock(masterKey.reveal(), headerOf(kind), bytes),
    keyCheckValue: keyCheckValue(kind, bytes),
  }
}

function drawKey({ algorithm, lengthBytes }: KeyKind): Uint8Array {
  if (lengthBytes === null) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return privateKey.export({ format: 'der', type: 'pkcs8' })
  }
  const bytes = randomBytes(lengthBytes)
  return algorithm === 'T' ? setOddParity(bytes) : bytes
}

const headerOf = ({ algorithm, keyUsage, modeOfUse }: KeyKind): KeyBlockHeader => ({
  version: 'D',
  keyUsage,
  algorithm,
  modeOfUse,
  keyVersion: '00',
  exportability: 'N',
  reserved: '00',
  optionalBlocks: [],
})

function unwrap(masterKey: SecretKey, stored: StoredKey): RingKey {
  const { keyName: name, keyVersion: version } = stored
  if (!isKeyName(name)) throw new Error(`The key store holds an unknown key: ${name}.`)
  const kind: KeyKind = keyKinds[name]
  const { header, key } = unwrapKeyBlock(masterKey.reveal(), stored.keyBlock)
  // A block moved to another row must not turn a key into one with another use.
  if (header.keyUsage !== kind.keyUsage || header.algorithm !== kind.algorithm) {
    throw new Error(`The key block of ${name}/${version} is for another use.`)
  }
  const reference = `${name}/${version}`
  return { name, version, reference, active: stored.state === 'active', key: new SecretKey(key) }
}

const checks: Record<KeyKind['algorithm'], (bytes: Uint8Array) => string> = {
  A: (bytes) => aesKeyCheckValue(bytes).toString('hex').toUpperCase(),
  T: (bytes) => tdesKeyCheckValue(bytes).toString('hex').toUpperCase(),
  // X9.143 defines none for these: the name of the key and its version must do.
  H: () => '',
  E: () => '',
}

const keyCheckValue = ({ algorithm }: KeyKind, bytes: Uint8Array): string =>
  checks[algorithm](bytes)
