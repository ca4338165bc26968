import { Problem } from '../../domain/problem.ts'
import type { KeyReference } from '../contract/card.ts'
import * as catalogue from '../contract/catalogue.ts'
import type { KeyUses } from '../contract/key-administration.ts'
import * as storedKeys from '../contract/stored-keys.ts'
import type { KeyEngine, WorkingKey, WorkingKeys } from './key-engine.ts'

/** One version of a key, ready for use. */
export interface RingKey<Name extends catalogue.KeyName> {
  readonly name: Name
  readonly version: number
  readonly reference: KeyReference
  readonly state: storedKeys.KeyState
  readonly key: WorkingKey<Name>
}

/**
 * The keys of an installation, opened inside the HSM boundary only. Every answer is based on a
 * recent read of the store, or it is `Problem` `unavailable`. After that time, a process that added
 * a pending version can rely on every other process knowing it or refusing to answer.
 */
export interface KeyRing {
  /** Returns the version for new data: the newest active one. */
  active<Name extends catalogue.KeyName>(name: Name): Promise<RingKey<Name>>
  /**
   * Returns the version that protects existing data.
   * @throws Error if the reference names no key of this ring.
   */
  version<Name extends catalogue.KeyName>(name: Name, version: number): Promise<RingKey<Name>>
  /**
   * Lists every version that may protect data now or soon: the active ones, newest first, then the
   * pending ones.
   */
  versions<Name extends catalogue.KeyName>(name: Name): Promise<readonly RingKey<Name>[]>
  /** Lists the same versions, then the retired ones. */
  everyVersion<Name extends catalogue.KeyName>(name: Name): Promise<readonly RingKey<Name>[]>
  /** Reads the store again. */
  refresh(): Promise<void>
  /** Counts this process's uses of each version. */
  readonly countedUses: () => readonly KeyUses[]
}

interface KeyRingOptions {
  /** The maximum age of a read of the store before answers are refused. */
  readonly staleAfterMs?: number
}

type AnyRingKey = RingKey<catalogue.KeyName>

/** The keys that one read of the store returned. */
interface Reading {
  readonly keys: readonly AnyRingKey[]
  isStale(afterMs: number): boolean
}

/**
 * Opens the keys in a store, and generates missing ones. Processes that start at once agree on one
 * key each: the first one stored.
 */
export async function openKeyRing(
  engine: KeyEngine,
  store: storedKeys.KeyStore,
  { staleAfterMs = 10_000 }: KeyRingOptions = {},
): Promise<KeyRing> {
  const present = new Set((await store.list()).map((stored) => stored.keyName))
  for (const keyName of catalogue.keyNames) {
    if (present.has(keyName) || !catalogue.isMadeAtStart(keyName)) continue
    const made = await engine.generate(catalogue.keyCatalogue[keyName].kind)
    await store.add({ keyName, keyVersion: 1, state: 'active', ...made })
  }
  const counter = createUseCounter()
  const read = createReader(engine, store, counter)
  let reading = await read()
  const refresh = asOneAtATime(async () => {
    reading = await read()
  })
  const readNow = () => inTime(refresh())
  const fresh = async (): Promise<Reading> => {
    if (reading.isStale(staleAfterMs)) await readNow()
    return reading
  }
  return { ...createRing(fresh, readNow), refresh, countedUses: counter.counted }
}

const readTimeoutMs = 2_000

/** The caller may hold the connection that the store waits for, so the wait is limited. */
async function inTime(reading: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The key store is slow.')), readTimeoutMs)
  })
  try {
    await Promise.race([reading, late])
  } catch (cause) {
    throw new Problem('unavailable', { detail: 'The keys could not be read.', cause })
  } finally {
    clearTimeout(timer)
  }
}

function createRing(
  fresh: () => Promise<Reading>,
  readNow: () => Promise<void>,
): Omit<KeyRing, 'refresh' | 'countedUses'> {
  // The engine opened each key for the action of its name. The types cannot express this, so a cast
  // is needed.
  const all = async <Name extends catalogue.KeyName>(name: Name) =>
    (await fresh()).keys.filter((key) => key.name === name) as unknown as readonly RingKey<Name>[]
  const find = async <Name extends catalogue.KeyName>(name: Name, version: number) =>
    (await all(name)).find((key) => key.version === version)
  const findActive = async <Name extends catalogue.KeyName>(name: Name) =>
    (await all(name)).find(({ state }) => state === 'active')
  return {
    async active(name) {
      const known = await findActive(name)
      if (known || !catalogue.isSlow(name)) return present(known)
      // Another process may have generated it meanwhile.
      await readNow()
      const made = await findActive(name)
      if (!made) throw new Problem('unavailable', { detail: 'A key is still being generated.' })
      return made
    },
    async version(name, version) {
      const known = await find(name, version)
      if (known) return known
      await readNow()
      return present(await find(name, version))
    },
    everyVersion: all,
    versions: async (name) => (await all(name)).filter(({ state }) => state !== 'retired'),
  }
}

function present<Key>(key: Key | undefined): Key {
  if (!key) throw new Error('A key that stored data need is not in the HSM.')
  return key
}

/** Concurrent callers share one run. */
function asOneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => {
    running ??= work().finally(() => {
      running = null
    })
    return running
  }
}

const stateOrder: readonly storedKeys.KeyState[] = ['active', 'pending', 'retired']

/** A different block in the row is a different key, which must be checked against the row again. */
const composeRowKey = ({ keyBlock, keyName }: storedKeys.StoredKey): string =>
  `${keyName} ${keyBlock}`

/** Creates a reader that reads a store repeatedly and opens each key block of a name once. */
function createReader(
  engine: KeyEngine,
  store: storedKeys.KeyStore,
  counter: UseCounter,
): () => Promise<Reading> {
  let opened = new Map<string, AnyRingKey['key']>()
  return async () => {
    // The times before the read count. Two clocks, because one may stop while a machine sleeps.
    const steady = performance.now()
    const wall = Date.now()
    const isStale = (afterMs: number) =>
      Math.max(performance.now() - steady, Math.abs(Date.now() - wall)) > afterMs
    const stored = (await store.list()).filter(({ keyName }) =>
      catalogue.isInstallationKey(keyName),
    )
    const next = new Map<string, AnyRingKey['key']>()
    for (const each of stored) {
      const known = opened.get(composeRowKey(each))
      next.set(composeRowKey(each), known ?? (await openKey(engine, each, counter)))
    }
    opened = next
    const keys = stored.map((each) => {
      const { keyName: name, keyVersion: version, state } = each
      const reference = `${name}/${version}`
      return { name, version, reference, state, key: next.get(composeRowKey(each)) } as AnyRingKey
    })
    const inOrder = keys.toSorted(
      (a, b) => stateOrder.indexOf(a.state) - stateOrder.indexOf(b.state) || b.version - a.version,
    )
    return { keys: inOrder, isStale }
  }
}

/** @throws KeyRefusal that names the key if its block is invalid. */
async function openKey(
  engine: KeyEngine,
  { keyBlock, keyName: name, keyVersion }: storedKeys.StoredKey,
  counter: UseCounter,
): Promise<AnyRingKey['key']> {
  if (!catalogue.isInstallationKey(name))
    throw new Error(`The key store has an unknown key: ${name}.`)
  const kind: catalogue.KeyKind = catalogue.keyCatalogue[name].kind
  try {
    const key: WorkingKeys[catalogue.KeyAction] = await engine.open(kind, keyBlock)
    return counter.counting(kind.action, { keyName: name, keyVersion }, key) as AnyRingKey['key']
  } catch (cause) {
    if (cause instanceof Problem || !(cause instanceof Error)) throw cause
    throw new storedKeys.KeyRefusal(
      `The key ${name}/${keyVersion} does not open. ${cause.message}`,
      { cause },
    )
  }
}

/**
 * Returns the version of a key that a reference names.
 * @throws Error if the reference names another key, or none.
 */
export async function referencedKey<Name extends catalogue.KeyName>(
  ring: KeyRing,
  name: Name,
  reference: KeyReference,
): Promise<RingKey<Name>> {
  const [keyName, version] = reference.split('/')
  if (keyName !== name)
    throw new Error(`The reference ${reference} belongs to another key than ${name}.`)
  return ring.version(name, Number(version))
}

/**
 * Finds the version that a message names. Any message can name one that does not exist, so it does
 * not let the keys be read again. Nothing is accepted under a version that is not active.
 * @returns null for a version that is pending, retired or unknown, and for another key.
 */
export async function findNamedKey<Name extends catalogue.KeyName>(
  ring: KeyRing,
  name: Name,
  reference: KeyReference,
): Promise<RingKey<Name> | null> {
  const known = await ring.versions(name)
  return known.find((key) => key.state === 'active' && key.reference === reference) ?? null
}

/** Counts the uses of keys in this process. */
interface UseCounter {
  /**
   * Wraps a key so that it counts what it protects. Opening and verifying do not wear out a key.
   */
  counting<Action extends catalogue.KeyAction>(
    action: Action,
    version: Pick<KeyUses, 'keyName' | 'keyVersion'>,
    key: WorkingKeys[Action],
  ): WorkingKeys[Action]
  counted(): readonly KeyUses[]
}

function createUseCounter(): UseCounter {
  const uses = new Map<string, { keyName: string; keyVersion: number; uses: number }>()
  return {
    counting(action, { keyName, keyVersion }, key) {
      const reference = `${keyName}/${keyVersion}`
      const known = uses.get(reference) ?? { keyName, keyVersion, uses: 0 }
      uses.set(reference, known)
      const count = () => {
        known.uses += 1
      }
      return counters[action](key, count)
    },
    counted: () => [...uses.values()].map((each) => ({ ...each })),
  }
}

/** The verbs of each action that protect data with the key. */
const counters: {
  readonly [Action in catalogue.KeyAction]: (
    key: WorkingKeys[Action],
    count: () => void,
  ) => WorkingKeys[Action]
} = {
  blocks: (key, count) => ({ ...key, encipher: after(count, key.encipher) }),
  chain: (key, count) => ({ ...key, withWhole: after(count, key.withWhole) }),
  cvv: (key, count) => ({ ...key, encipherWithA: after(count, key.encipherWithA) }),
  seal: (key, count) => ({ ...key, seal: after(count, key.seal) }),
  mac: (key, count) => ({ ...key, mac: after(count, key.mac) }),
  sign: (key, count) => ({ ...key, sign: after(count, key.sign) }),
  signPss: (key, count) => ({ ...key, sign: after(count, key.sign) }),
  signEd25519: (key, count) => ({ ...key, sign: after(count, key.sign) }),
  signMlDsa44: (key, count) => ({ ...key, sign: after(count, key.sign) }),
  unwrap: (key, count) => ({ ...key, unwrap: after(count, key.unwrap) }),
  agree: (key, count) => ({ ...key, agree: after(count, key.agree) }),
}

const after =
  <Given extends readonly unknown[], Result>(
    count: () => void,
    verb: (...given: Given) => Result,
  ): ((...given: Given) => Result) =>
  (...given) => {
    count()
    return verb(...given)
  }
