import { Problem, validationFailed } from '../../domain/problem.ts'
import type { KeyForm, KeyPurpose } from '../../hsm/contract/key-administration.ts'
import type { WrappedKey } from '../../hsm/contract/stored-keys.ts'
import { findClient } from '../../storage/clients/clients.ts'
import { insertZoneKey } from '../../storage/clients/zone-keys.ts'
import { type Connection, LockTimeout } from '../../storage/engine/database.ts'
import { holdInstallation } from '../../storage/engine/installation.ts'
import { insertHsmKey, listHsmKeys, takeKeyNumber } from '../../storage/keys/hsm-keys.ts'
import {
  findZoneMasterKey,
  insertZoneMasterKey,
  isKeyBlockKept,
} from '../../storage/keys/key-blocks.ts'
import { type Answer, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import {
  type KeyManagement,
  type Operator,
  onRecordOnce,
  referenceOf,
  zoneReferenceOf,
} from './keys.ts'

/** Notes a key that was made for a row that may never be written. */
export type NoteMade = (key: WrappedKey) => WrappedKey

/**
 * Does work that makes keys. Those that no row names afterwards are destroyed where the HSM keeps keys
 * by itself: what was refused, or was a repeat, leaves nothing in a token.
 */
export async function discardUnkept<Result>(
  keys: KeyManagement,
  work: (made: NoteMade) => Promise<Result>,
): Promise<Result> {
  const made: WrappedKey[] = []
  const note: NoteMade = (key) => {
    made.push(key)
    return key
  }
  try {
    const result = await work(note)
    await discard(keys, made)
    return result
  } catch (error) {
    if (!mayBeCommitted(error)) await discard(keys, made)
    throw error
  }
}

/** Of a database that went away nobody knows: a key without a row does no harm, a row without its key does. */
const mayBeCommitted = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'unavailable' && !(error instanceof LockTimeout)

async function discard(
  { database, hsm }: KeyManagement,
  made: readonly WrappedKey[],
): Promise<void> {
  const { discardKey } = hsm.custody
  if (!discardKey) return
  for (const { keyBlock } of made) {
    try {
      if (!(await isKeyBlockKept(database, keyBlock))) await discardKey(keyBlock)
    } catch {
      // It stays, and nothing uses it.
    }
  }
}

/** Where a key is to be kept. */
export type KeyTarget =
  | { readonly family: 'installation'; readonly key: string }
  | { readonly family: 'zone-master'; readonly key: string }
  | {
      readonly family: 'zone'
      readonly key: string
      readonly clientId: string
      readonly pinBlockFormats: readonly string[]
    }

/** A key that was kept. */
export interface KeptVersion {
  readonly family: KeyTarget['family']
  readonly key: string
  readonly version: number | null
  readonly keyCheckValue: string
}

export const purposeOf = (target: KeyTarget): KeyPurpose =>
  target.family === 'installation'
    ? { family: 'installation', keyName: target.key }
    : { family: target.family }

/**
 * Keeps a key that is made now. The installation is held while it is made, so that no key is wrapped
 * under a master key that another process is just leaving.
 * @throws `Problem` `validation_failed` when the name is taken or the network unknown; `key_refused` when
 *   the key is not of the cipher that its PIN block formats are for.
 */
const keepKey = (
  keys: KeyManagement,
  operator: Operator,
  { act, target }: { readonly act: string; readonly target: KeyTarget },
  request: RepeatableRequest | null,
  make: (connection: Connection) => WrappedKey | Promise<WrappedKey>,
): Promise<Answer<KeptVersion>> =>
  discardUnkept(keys, (made) =>
    onRecordOnce(keys, request, async (connection, record) => {
      await holdKeys(keys, connection)
      const kept = await storeKey(keys, connection, target, made(await make(connection)))
      await record({ act, key: keptReferenceOf(target, kept), ...operator })
      return kept
    }),
  )

/** How a key that was kept is told. */
export function keptReferenceOf(target: KeyTarget, { key, version }: KeptVersion): string {
  if (version !== null) return referenceOf(key, version)
  return zoneReferenceOf(key, target.family === 'zone' ? target.clientId : null)
}

/** Holds the installation, so that nobody else makes, takes or wraps a key until the transaction ends. */
export async function holdKeys(keys: KeyManagement, connection: Connection): Promise<void> {
  refuseOtherMasterKey(keys, await holdInstallation(connection))
}

/** Keeps a key where it belongs. The installation is held. @throws as {@link keepKey} does. */
export async function storeKey(
  keys: KeyManagement,
  connection: Connection,
  target: KeyTarget,
  kept: WrappedKey,
): Promise<KeptVersion> {
  refuseOtherCipher(target, keys.hsm.describeKey(kept.keyBlock).algorithm)
  const version = await keepers[target.family](connection, target as never, kept)
  const { family, key } = target
  return { family, key, version, keyCheckValue: kept.keyCheckValue }
}

/** Another process may have moved on to another master key, and this one not yet followed. */
export function refuseOtherMasterKey({ hsm }: KeyManagement, checkValue: string): void {
  const { masterKeys } = hsm.custody
  if (!masterKeys || masterKeys.checkValue() === checkValue) return
  throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
}

type Keeper<Family extends KeyTarget['family']> = (
  connection: Connection,
  target: Extract<KeyTarget, { family: Family }>,
  kept: WrappedKey,
) => Promise<number | null>

const keepers: { readonly [Family in KeyTarget['family']]: Keeper<Family> } = {
  async installation(connection, { key }, kept) {
    const keyVersion = await nextVersion(connection, key)
    await insertHsmKey(connection, { keyName: key, keyVersion, state: 'pending', ...kept })
    return keyVersion
  },
  async 'zone-master'(connection, { key }, kept) {
    if (!(await insertZoneMasterKey(connection, { keyName: key, ...kept }))) throw nameTaken()
    return null
  },
  async zone(connection, { clientId, key, pinBlockFormats }, kept) {
    const client = await findClient(connection, clientId)
    if (client?.kind !== 'network') throw noNetwork()
    const algorithm = isForTdes(pinBlockFormats) ? 'TDES' : 'AES'
    const row = { clientId, keyName: key, algorithm, pinBlockFormats, ...kept } as const
    if (!(await insertZoneKey(connection, row))) throw nameTaken()
    return null
  },
}

/** Formats 0, 1 and 3 are for TDES keys, format 4 for AES keys (ISO 9564-1). */
const isForTdes = (pinBlockFormats: readonly string[]): boolean =>
  !pinBlockFormats.includes('ISO_FORMAT_4')

/** @throws `Problem` `key_refused` for a zone key that its PIN block formats are not for. */
export function refuseOtherCipher(target: KeyTarget, algorithm: string): void {
  if (target.family !== 'zone') return
  if (isForTdes(target.pinBlockFormats) === (algorithm === 'T')) return
  throw new Problem('key_refused', { detail: 'These PIN block formats are for another algorithm.' })
}

const nameTaken = () => validationFailed({ pointer: '/key', detail: 'is the name of another key' })
const noNetwork = () =>
  validationFailed({ pointer: '/clientId', detail: 'must be the id of a network client' })

/** A version that is still pending is used before another one is made. */
async function nextVersion(connection: Connection, keyName: string): Promise<number> {
  const versions = (await listHsmKeys(connection)).filter((row) => row.keyName === keyName)
  const pending = versions.find(({ state }) => state === 'pending')
  if (pending) {
    const reference = referenceOf(keyName, pending.keyVersion)
    throw new Problem('key_in_use', { detail: `${reference} is pending still.` })
  }
  return takeKeyNumber(connection, keyName)
}

/** A key to draw. Without a form, the one that its purpose or its PIN block formats ask for. */
interface NewKey {
  readonly target: KeyTarget
  readonly form: KeyForm | null
  readonly exportable: boolean
}

/**
 * Draws a key inside the HSM. One of the installation's own is pending until it is rotated to.
 * @throws `Problem` `key_refused`, `key_in_use`, `validation_failed`.
 */
export async function generateKey(
  keys: KeyManagement,
  operator: Operator,
  newKey: NewKey,
  request: RepeatableRequest | null,
): Promise<Answer<KeptVersion>> {
  const known = await recall<KeptVersion>(keys, request)
  if (known) return known
  return discardUnkept(keys, async (made) => {
    const drawn = await drawKey(keys, newKey)
    made(drawn.key)
    const { target } = newKey
    return keepKey(keys, operator, { act: 'generated', target }, request, drawn.unlessRotated)
  })
}

/** A key that was drawn before the installation is held for it. */
export interface DrawnKey {
  readonly key: WrappedKey
  /** @throws `Problem` `unavailable` where the master key that it was wrapped under has gone meanwhile. */
  unlessRotated(): WrappedKey
}

/** Draws a key. A long RSA key takes seconds: nobody is to wait for it, so the installation is not held. */
export async function drawKey(
  keys: KeyManagement,
  { exportable, form, target }: NewKey,
): Promise<DrawnKey> {
  const masterKeyBefore = masterKeyOf(keys)
  const key = await keys.hsm.generateKey(purposeOf(target), form ?? formOf(target), exportable)
  return {
    key,
    unlessRotated() {
      if (masterKeyOf(keys) === masterKeyBefore) return key
      throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
    },
  }
}

const formOf = (target: KeyTarget): KeyForm | null =>
  target.family === 'zone' && isForTdes(target.pinBlockFormats)
    ? { algorithm: 'TDES', lengthBytes: 16 }
    : null

const masterKeyOf = ({ hsm }: KeyManagement): string | undefined =>
  hsm.custody.masterKeys?.checkValue()

/** A key that came from elsewhere, under a zone master key. */
interface KeyInTransport {
  readonly target: KeyTarget
  readonly zoneMasterKey: string
  /** X9.143 version B or D. */
  readonly keyBlock: string
  /** As its sender told it, three bytes or more in hexadecimal; null leaves it unchecked. */
  readonly keyCheckValue: string | null
}

/**
 * Takes in a key block under a zone master key. One of the installation's own is pending until it is
 * rotated to.
 * @throws `Problem` `key_refused`, `key_in_use`, `validation_failed`.
 */
export async function importKey(
  keys: KeyManagement,
  operator: Operator,
  { keyBlock, keyCheckValue, target, zoneMasterKey }: KeyInTransport,
  request: RepeatableRequest | null,
): Promise<Answer<KeptVersion>> {
  const { custody } = keys.hsm
  return keepKey(keys, operator, { act: 'imported', target }, request, async (connection) =>
    custody.importKeyBlock(
      purposeOf(target),
      await zoneMasterKeyBlock(connection, zoneMasterKey),
      keyBlock,
      keyCheckValue,
    ),
  )
}

/** @throws `Problem` `validation_failed` where there is none of this name. */
export async function zoneMasterKeyBlock(connection: Connection, keyName: string): Promise<string> {
  const row = await findZoneMasterKey(connection, keyName)
  if (row) return row.keyBlock
  throw validationFailed({ pointer: '/zoneMasterKey', detail: 'must name a zone master key' })
}
