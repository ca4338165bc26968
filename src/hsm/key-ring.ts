import type { KeyReference } from './hsm.ts'
import type { KeyEngine } from './key-engine.ts'
import type { KeyStore, StoredKey } from './key-store.ts'
import {
  isKeyName,
  type KeyKind,
  type KeyName,
  keyKinds,
  keyNames,
  type WorkingKey,
} from './key-table.ts'
import type { KeyAction, WorkingKeys } from './working-key.ts'

/** One version of a key, ready for use. */
export interface RingKey<Name extends KeyName> {
  readonly name: Name
  readonly version: number
  readonly reference: KeyReference
  readonly active: boolean
  readonly key: WorkingKey<Name>
}

/** The keys of an installation, ready for use: this side of the boundary only. */
export interface KeyRing {
  /** The version that new things are made under. */
  active<Name extends KeyName>(name: Name): RingKey<Name>
  /** The version that something was made under. @throws Error when it is not one of these keys. */
  version<Name extends KeyName>(name: Name, version: number): RingKey<Name>
  /** Every version, the active one first. */
  versions<Name extends KeyName>(name: Name): readonly RingKey<Name>[]
}

type AnyRingKey = RingKey<KeyName>

/**
 * Opens the keys in a store, and makes those that are not there yet. Processes that start at once
 * agree on one key each: the store keeps the first.
 */
export async function openKeyRing(engine: KeyEngine, store: KeyStore): Promise<KeyRing> {
  const present = new Set((await store.list()).map((stored) => stored.keyName))
  for (const name of keyNames) {
    if (!present.has(name)) await store.add(await firstVersion(engine, name))
  }
  const stored = await store.list()
  const keys = await Promise.all(stored.map((each) => openKey(engine, each)))
  return ringOf(
    keys.toSorted((a, b) => Number(b.active) - Number(a.active) || b.version - a.version),
  )
}

function ringOf(keys: readonly AnyRingKey[]): KeyRing {
  // The engine opened each key for the action of its name, which the types cannot follow.
  const versions = <Name extends KeyName>(name: Name) =>
    keys.filter((key) => key.name === name) as unknown as readonly RingKey<Name>[]
  return {
    active: (name) => present(versions(name)[0]),
    version: (name, version) => present(versions(name).find((key) => key.version === version)),
    versions,
  }
}

function present<Key>(key: Key | undefined): Key {
  if (!key) throw new Error('This key is not in the HSM.')
  return key
}

async function firstVersion(engine: KeyEngine, keyName: KeyName): Promise<StoredKey> {
  return { keyName, keyVersion: 1, state: 'active', ...(await engine.generate(keyKinds[keyName])) }
}

async function openKey(engine: KeyEngine, stored: StoredKey): Promise<AnyRingKey> {
  const { keyBlock, keyName: name, keyVersion: version } = stored
  if (!isKeyName(name)) throw new Error(`The key store holds an unknown key: ${name}.`)
  const kind: KeyKind = keyKinds[name]
  const key: WorkingKeys[KeyAction] = await engine.open(kind, keyBlock)
  const reference = `${name}/${version}`
  return { name, version, reference, active: stored.state === 'active', key } as AnyRingKey
}

/**
 * The version of a key that a reference names.
 * @throws Error when it names another key, or none.
 */
export function referencedKey<Name extends KeyName>(
  ring: KeyRing,
  name: Name,
  reference: KeyReference,
): RingKey<Name> {
  const [keyName, version] = reference.split('/')
  if (keyName !== name)
    throw new Error(`The reference ${reference} is to another key than ${name}.`)
  return ring.version(name, Number(version))
}
