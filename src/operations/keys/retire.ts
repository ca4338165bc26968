import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import {
  chipKeyNames,
  isInstallationKey,
  type KeyedColumn,
  type KeyName,
  keyCatalogue,
} from '../../hsm/contract/catalogue.ts'
import { hasPanFingerprints, listNeedsOfChipKeys } from '../../storage/cards/keys-of-cards.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { lockInstallation } from '../../storage/engine/installation.ts'
import * as storedHsmKeys from '../../storage/keys/hsm-keys.ts'
import { retireZoneMasterKey } from '../../storage/keys/key-blocks.ts'
import { retireZoneKey } from '../../storage/keys/zone-keys.ts'
import { findProductOfChipKeys } from '../../storage/products/products.ts'
import { type Answer, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import { keyedColumns } from './encrypted-columns.ts'
import { changeKeysOnce, composeReference, composeZoneReference, type KeyContext } from './keys.ts'

/** One version of a key of the installation. */
interface KeyVersion {
  readonly keyName: string
  readonly keyVersion: number
}

/**
 * Retires an active version that has a successor and protects no data. It must have settled: before
 * that, a process with an older read of the keys may still use the version.
 * @throws `Problem` `not_found`; `key_in_use` if these conditions do not hold.
 */
export async function retireKey(
  keys: KeyContext,
  operator: Requester,
  version: KeyVersion,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const known = await recall<null>(keys, request)
  if (known) return known
  const { keyName, keyVersion } = version
  const settleSeconds = keys.timings.settleMs / 1_000
  // Settled before the search, so that no data can be added under the version behind it.
  const isSettled = await storedHsmKeys.mayRetireHsmKey(
    keys.database,
    keyName,
    keyVersion,
    settleSeconds,
  )
  const objection = await findObjection(keys, version)
  return changeKeysOnce(keys, request, async ({ connection, record }) => {
    if (objection) throw objection
    await refusePendingVersion(connection, version)
    await refuseListedVersion(connection, version)
    const mayRetire =
      isSettled && storedHsmKeys.retireHsmKey(connection, keyName, keyVersion, settleSeconds)
    if (!(await mayRetire)) {
      const why =
        `is not active, or no successor has been active for ${settleSeconds} seconds. Rotate the ` +
        'key or wait, then retry.'
      throw inUse(version, why)
    }
    await record({ act: 'retired', key: composeReference(keyName, keyVersion), ...operator })
    return null
  })
}

/**
 * Deletes a retired version that protects no data, or an unused pending one beside an active one.
 * It waits until no running request can have read data from before the re-encryption.
 * @throws `Problem` `not_found`; `key_in_use` if these conditions do not hold.
 */
export async function deleteKey(
  keys: KeyContext,
  operator: Requester,
  version: KeyVersion,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const known = await recall<null>(keys, request)
  if (known) return known
  const { keyName, keyVersion } = version
  const objection = await findObjection(keys, version)
  const settleSeconds = keys.timings.settleMs / 1_000
  return changeKeysOnce(keys, request, async ({ connection, record }) => {
    if (objection) throw objection
    await refuseListedVersion(connection, version)
    if (!(await storedHsmKeys.deleteHsmKey(connection, keyName, keyVersion, settleSeconds))) {
      throw inUse(
        version,
        `must have been retired for ${settleSeconds} seconds, or be pending without a rotation ` +
          'to it. Retire it or wait, then retry.',
      )
    }
    await record({ act: 'deleted', key: composeReference(keyName, keyVersion), ...operator })
    return null
  })
}

/** A pending version protects nothing and has no successor, so it is not retired. */
async function refusePendingVersion(connection: Connection, version: KeyVersion): Promise<void> {
  const { keyName, keyVersion } = version
  const row = await storedHsmKeys.findHsmKey(connection, keyName, keyVersion)
  if (row?.state !== 'pending') return
  throw inUse(version, 'is pending and cannot retire. Delete it, or rotate to it.')
}

/** No product can list the version until the transaction ends. */
async function refuseListedVersion(connection: Connection, version: KeyVersion): Promise<void> {
  if (!isChipKey(version.keyName)) return
  await lockInstallation(connection)
  const productId = await findProductOfChipKeys(connection, version.keyVersion)
  if (productId !== null)
    throw inUse(
      version,
      `is needed: product ${productId} lists it. Change the key versions of its chip first.`,
    )
}

const inUse = ({ keyName, keyVersion }: KeyVersion, why: string) =>
  new Problem('key_in_use', { detail: `${composeReference(keyName, keyVersion)} ${why}` })

const pageSize = 1_000

/**
 * Returns why a version must stay, or null. The search takes as long as a read of every card, so it
 * runs before the transaction, which uses the result: there, a repeat of the request gets its first
 * answer.
 */
async function findObjection(keys: KeyContext, version: KeyVersion): Promise<Problem | null> {
  const { keyName, keyVersion } = version
  const row = await storedHsmKeys.findHsmKey(keys.database, keyName, keyVersion)
  if (!row) return new Problem('not_found', { detail: noVersion })
  if (!isInstallationKey(keyName)) {
    return inUse(
      version,
      'is a version of a key that this program does not know. Use the newer program.',
    )
  }
  const { columns, retirement } = keyCatalogue[keyName]
  // Some versions become unused by time only: their rotation retires them after it has passed.
  if (row.state === 'active' && retirement.by === 'time') {
    return inUse(version, 'retires automatically, after the data under it has expired.')
  }
  if (keyName === 'pan-fingerprint' && (await hasPanFingerprints(keys.database, keyVersion))) {
    return inUse(version, 'is still needed to find cards. Retry when the rotation is done.')
  }
  if (isChipKey(keyName)) {
    const users = await countChips(keys, row)
    return users === null ? null : inUse(version, `is needed: ${users}`)
  }
  for (const column of columns) {
    if (await isUsedIn(column, keys, keyVersion)) {
      return inUse(version, `is still in use in ${column}. ${nextStepOf(retirement)}`)
    }
  }
  return null
}

const noVersion = 'No key of the installation has this name and version. List the keys.'

/** Returns the step that ends the use of a version. */
const nextStepOf = ({ by }: (typeof keyCatalogue)[KeyName]['retirement']): string =>
  by === 're-encryption'
    ? 'It retires automatically when the rotation to its successor is done.'
    : 'Retry when its cards have expired, or have a PIN or a chip under a newer version.'

const isChipKey = (keyName: string): boolean => chipKeyNames.some((name) => name === keyName)

/** Reads everything, page by page: exact, however long it takes. */
async function isUsedIn(
  column: KeyedColumn,
  keys: KeyContext,
  keyVersion: number,
): Promise<boolean> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows = await keyedColumns[column](keys, after, pageSize)
    if (rows.some((value) => value.keyVersion === keyVersion)) return true
    after = rows.length < pageSize ? undefined : rows.at(-1)?.position
  }
  return false
}

/**
 * Tells how many unexpired cards have chips of a version of the keys, or may have them; or null.
 * A chip that was never used may have any version that existed when its card was created.
 */
async function countChips(
  { database }: KeyContext,
  { activatedAt, keyVersion }: Pick<storedHsmKeys.DatedHsmKeyRow, 'activatedAt' | 'keyVersion'>,
): Promise<string | null> {
  // Cards are made with active versions only.
  const createdBefore = activatedAt && (await findSuccession(database, keyVersion))
  let unused = 0
  let used = 0
  let lastExpiry = ''
  for (let afterToken = '', isFull = true; isFull; ) {
    const search = { keyVersion, createdBefore, afterToken, limit: pageSize }
    const cards = await listNeedsOfChipKeys(database, search)
    for (const { expiryDate, isUsed } of cards) {
      if (expiryDate === null) continue
      if (isUsed) used += 1
      else unused += 1
      if (expiryDate > lastExpiry) lastExpiry = expiryDate
    }
    afterToken = cards.at(-1)?.publicToken ?? afterToken
    isFull = cards.length === pageSize
  }
  if (used + unused === 0) return null
  return describeChips(used, unused, lastExpiry.slice(0, 7))
}

/** Since when the cards that are made have a newer version: each chip uses all four keys. */
async function findSuccession(database: Database, keyVersion: number): Promise<Date> {
  const rows = await storedHsmKeys.listHsmKeys(database)
  const successions = chipKeyNames.map((name) =>
    rows
      .filter((row) => row.keyName === name && row.keyVersion > keyVersion)
      .flatMap(({ activatedAt }) => activatedAt?.getTime() ?? [])
      .reduce((first, at) => Math.min(first, at), Date.now()),
  )
  return new Date(Math.max(...successions))
}

function describeChips(used: number, unused: number, month: string): string {
  const count = used + unused
  const cards =
    count === 1
      ? `the chip of an unexpired card uses it or may use it, until ${month}.`
      : `the chips of ${count} unexpired cards use it or may use it, the last until ${month}.`
  const next = ' Retire it after that month.'
  if (unused === 0) return cards + next
  const waiting =
    ` ${unused} of them ${unused === 1 ? 'has' : 'have'} not used a chip yet. Such a card no ` +
    'longer counts once its chip has used another version.'
  return cards + waiting + next
}

/** A key without versions: its successor has another name. */
interface NamedKey {
  readonly key: string
  /** The network client of a zone key; null for a zone master key. */
  readonly clientId: string | null
}

const noNamedKey =
  'No active key has this name, or the network has none with it. List the keys, and retry with ' +
  'the name and the network of one.'

/**
 * Retires a network's zone key, or a zone master key.
 * @throws `Problem` `not_found`.
 */
export const retireNamedKey = (
  keys: KeyContext,
  operator: Requester,
  { clientId, key }: NamedKey,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  changeKeysOnce(keys, request, async ({ connection, record }) => {
    const isRetired =
      clientId === null
        ? await retireZoneMasterKey(connection, key)
        : await retireZoneKey(connection, clientId, key)
    if (!isRetired) throw new Problem('not_found', { detail: noNamedKey })
    await record({ act: 'retired', key: composeZoneReference(key, clientId), ...operator })
    return null
  })
