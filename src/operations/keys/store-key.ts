import { Problem, validationFailed } from '../../domain/problem.ts'
import {
  type BlockCipher,
  chipKeyNames,
  codesByCipher,
  type MacUsage,
  macUsages,
} from '../../hsm/contract/catalogue.ts'
import type { KeyForm, KeyPurpose } from '../../hsm/contract/key-administration.ts'
import type { WrappedKey } from '../../hsm/contract/stored-keys.ts'
import { findClient } from '../../storage/clients/clients.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import {
  drawKeyNumber,
  type HsmKeyRow,
  insertHsmKey,
  type KeyNumberRow,
  listHsmKeys,
  listKeyNumbers,
} from '../../storage/keys/hsm-keys.ts'
import { findZoneMasterKey, insertZoneMasterKey } from '../../storage/keys/key-blocks.ts'
import { insertZoneKey } from '../../storage/keys/zone-keys.ts'
import { composeReference, composeZoneReference, type KeyContext } from './keys.ts'

/** A key's algorithm and length, if its purpose allows a choice. */
export type { KeyForm }

/** The destination of a new key. */
export type KeyTarget =
  | { readonly family: 'installation'; readonly key: string }
  | { readonly family: 'zone-master'; readonly key: string }
  | {
      readonly family: 'zone'
      readonly key: string
      readonly clientId: string
      /** The formats of a PIN block key; none for a MAC key. */
      readonly pinBlockFormats: readonly string[]
      readonly macUsage?: MacUsage
    }

type ZoneTarget = Extract<KeyTarget, { family: 'zone' }>

/** A stored key. */
export interface AddedKey {
  readonly family: KeyTarget['family']
  readonly key: string
  readonly version: number | null
  readonly keyCheckValue: string
}

export function toKeyPurpose(target: KeyTarget): KeyPurpose {
  if (target.family === 'installation') return { family: 'installation', keyName: target.key }
  const macUsage = target.family === 'zone' ? target.macUsage : undefined
  return { family: target.family, ...(macUsage && { macUsage }) } as KeyPurpose
}

/** The name of a key before it is stored, or of a key without versions. */
export const targetReference = (target: KeyTarget): string =>
  composeZoneReference(target.key, target.family === 'zone' ? target.clientId : null)

/** Composes the reference of a stored key. */
export const addedKeyReference = (target: KeyTarget, { key, version }: AddedKey): string =>
  version === null ? targetReference(target) : composeReference(key, version)

/**
 * Locks the installation: no other process generates, imports or wraps a key until the transaction
 * ends.
 */
export async function lockKeys(keys: KeyContext, connection: Connection): Promise<void> {
  refuseOtherMasterKey(keys, await lockInstallation(connection))
}

/** Another process may have rotated the master key, and this process not yet followed. */
export function refuseOtherMasterKey({ hsm }: KeyContext, checkValue: string): void {
  const { masterKeys } = hsm.custody
  if (!masterKeys || masterKeys.checkValue() === checkValue) return
  throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
}

/**
 * Stores a key. The caller has locked the installation.
 * @throws `Problem` `validation_failed` if the name is taken or the network unknown; `key_refused`
 *   if the key's cipher does not match its PIN block formats.
 */
export async function addKey(
  keys: KeyContext,
  connection: Connection,
  target: KeyTarget,
  key: WrappedKey,
): Promise<AddedKey> {
  refuseOtherCipher(target, keys.hsm.describeKey(key.keyBlock).algorithm)
  const version = await insertKey(connection, target, key)
  return { family: target.family, key: target.key, version, keyCheckValue: key.keyCheckValue }
}

/** @returns the version of an installation key; null for other keys, which have none. */
function insertKey(
  connection: Connection,
  target: KeyTarget,
  key: WrappedKey,
): Promise<number | null> {
  switch (target.family) {
    case 'installation':
      return inserts.installation(connection, target, key)
    case 'zone-master':
      return inserts.zoneMaster(connection, target, key)
    case 'zone':
      return inserts.zone(connection, target, key)
  }
}

type Target<Family extends KeyTarget['family']> = Extract<KeyTarget, { family: Family }>

const inserts = {
  async installation(
    connection: Connection,
    { key: keyName }: Target<'installation'>,
    key: WrappedKey,
  ): Promise<number> {
    const keys = await listHsmKeys(connection)
    const versions = keys.filter((row) => row.keyName === keyName)
    // A pending version must be used before another one is added.
    const pending = versions.find(({ state }) => state === 'pending')
    if (pending) {
      const reference = composeReference(keyName, pending.keyVersion)
      const detail = `${reference} is still pending. Rotate to it, or delete it, first.`
      throw new Problem('key_in_use', { detail })
    }
    const keyVersion = await drawKeyNumber(connection, keyName)
    const numbers = await listKeyNumbers(connection)
    refuseSameKey(keys, numbers, { keyName, keyVersion, keyCheckValue: key.keyCheckValue })
    await insertHsmKey(connection, { keyName, keyVersion, state: 'pending', ...key })
    return keyVersion
  },
  async zoneMaster(
    connection: Connection,
    { key: keyName }: Target<'zone-master'>,
    key: WrappedKey,
  ): Promise<null> {
    if (!(await insertZoneMasterKey(connection, { keyName, ...key }))) throw nameTaken()
    return null
  },
  async zone(connection: Connection, target: Target<'zone'>, key: WrappedKey): Promise<null> {
    const { clientId, key: keyName, pinBlockFormats } = target
    const client = await findClient(connection, clientId)
    if (client?.kind !== 'network') {
      throw validationFailed({ pointer: '/clientId', detail: 'must be the id of a network client' })
    }
    const algorithm = selectCipher(target)
    const row = { clientId, keyName, algorithm, pinBlockFormats, ...key } as const
    if (!(await insertZoneKey(connection, row))) throw nameTaken()
    return null
  },
}

type KeyState = Pick<HsmKeyRow, 'keyName' | 'keyVersion' | 'keyCheckValue' | 'state'>

/**
 * A second import of one key gives it two versions. The versions of the chip keys would then differ
 * for good, so a key of chips may be imported again in two cases only: it is behind the others, or
 * its version serves no chip.
 *
 * @throws `Problem` `key_refused` if another version has the same check value.
 */
function refuseSameKey(
  keys: readonly KeyState[],
  numbers: readonly KeyNumberRow[],
  { keyCheckValue, keyName, keyVersion }: Omit<KeyState, 'state'>,
): void {
  const same = keys.findLast(
    (row) => row.keyName === keyName && row.keyCheckValue === keyCheckValue,
  )
  if (!same) return
  const isOfChip = (name: string) => chipKeyNames.some((each) => each === name)
  if (isOfChip(keyName)) {
    const isBehind = keys.some((row) => isOfChip(row.keyName) && row.keyVersion >= keyVersion)
    if (isBehind || servesNoChip(keys, numbers, same.keyVersion)) return
  }
  const reference = composeReference(keyName, same.keyVersion)
  throw new Problem('key_refused', {
    detail:
      `${reference} is this key already: both have the check value ${keyCheckValue}. Use that ` +
      'version, or import another key.',
  })
}

/** Whether a key of chips lacks this version for good: its number is passed, or it is retired. */
const servesNoChip = (
  keys: readonly KeyState[],
  numbers: readonly KeyNumberRow[],
  version: number,
): boolean =>
  chipKeyNames.some((name) => {
    const row = keys.find((each) => each.keyName === name && each.keyVersion === version)
    if (row) return row.state === 'retired'
    const number = numbers.find((each) => each.keyName === name)
    return number !== undefined && number.lastVersion >= version
  })

const nameTaken = () => validationFailed({ pointer: '/key', detail: 'is the name of another key' })

/**
 * Formats 0, 1 and 3 are for TDES keys, format 4 for AES keys (ISO 9564-1); the usage of a MAC key
 * decides its cipher.
 */
export function selectCipher({
  macUsage,
  pinBlockFormats,
}: Pick<ZoneTarget, 'pinBlockFormats' | 'macUsage'>): BlockCipher {
  if (macUsage) return macUsages[macUsage].cipher
  return pinBlockFormats.includes('ISO_FORMAT_4') ? 'AES' : 'TDES'
}

/** @throws `Problem` `key_refused` for a zone key of another cipher than its PIN block formats. */
export function refuseOtherCipher(target: KeyTarget, algorithm: string): void {
  if (target.family !== 'zone') return
  if (codesByCipher[selectCipher(target)] === algorithm) return
  throw new Problem('key_refused', {
    detail:
      `A zone key for these PIN block formats or MACs must be a ${selectCipher(target)} key. Use ` +
      'such a key, or name other formats.',
  })
}

/** @throws `Problem` `validation_failed` if no zone master key has this name. */
export async function zoneMasterKeyBlock(connection: Connection, keyName: string): Promise<string> {
  const row = await findZoneMasterKey(connection, keyName)
  if (row) return row.keyBlock
  throw validationFailed({
    pointer: '/zoneMasterKey',
    detail: 'must be the name of a zone master key, as the list of keys has it',
  })
}
