import { Problem } from '../../domain/problem.ts'
import { isInstallationKey, type KeyedColumn, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { hasPanFingerprints } from '../../storage/cards/keys-of-cards.ts'
import { retireZoneKey } from '../../storage/clients/zone-keys.ts'
import {
  deleteHsmKey,
  findHsmKey,
  mayRetireHsmKey,
  retireHsmKey,
} from '../../storage/keys/hsm-keys.ts'
import { retireZoneMasterKey } from '../../storage/keys/key-blocks.ts'
import { type Answer, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import { keyedColumns } from './encrypted-columns.ts'
import {
  type KeyManagement,
  type Operator,
  onRecordOnce,
  referenceOf,
  zoneReferenceOf,
} from './keys.ts'

/**
 * Retires an active version that has a successor and nothing under it. Only once that has settled:
 * before, a process that has not read the keys since may still make something under the older one.
 * @throws `Problem` `not_found`; `key_in_use` when it is not so.
 */
export async function retireKey(
  keys: KeyManagement,
  operator: Operator,
  keyName: string,
  keyVersion: number,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const known = await recall<null>(keys, request)
  if (known) return known
  const settleSeconds = keys.timings.settleMs / 1_000
  const why = `is not active, or no successor has been active for ${settleSeconds} seconds.`
  // Settled before it is searched: else something could come under it behind the search.
  const isSettled = await mayRetireHsmKey(keys.database, keyName, keyVersion, settleSeconds)
  const objection = await findObjection(keys, keyName, keyVersion)
  return onRecordOnce(keys, request, async (connection, record) => {
    if (objection) throw objection
    const mayRetire = isSettled && retireHsmKey(connection, keyName, keyVersion, settleSeconds)
    if (!(await mayRetire)) {
      throw inUse(keyName, keyVersion, why)
    }
    await record({ act: 'retired', key: referenceOf(keyName, keyVersion), ...operator })
    return null
  })
}

/**
 * Forgets a retired version, once nothing is under it, or a pending one beside an active one that nobody
 * has asked for. Only once no request runs any more that read something before it was moved.
 * @throws `Problem` `not_found`; `key_in_use` when it is not so.
 */
export async function deleteKey(
  keys: KeyManagement,
  operator: Operator,
  keyName: string,
  keyVersion: number,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const known = await recall<null>(keys, request)
  if (known) return known
  const objection = await findObjection(keys, keyName, keyVersion)
  const settleSeconds = keys.timings.settleMs / 1_000
  return onRecordOnce(keys, request, async (connection, record) => {
    if (objection) throw objection
    if (!(await deleteHsmKey(connection, keyName, keyVersion, settleSeconds))) {
      const why = `has not been retired for ${settleSeconds} seconds, nor is it one that is not needed.`
      throw inUse(keyName, keyVersion, why)
    }
    await record({ act: 'deleted', key: referenceOf(keyName, keyVersion), ...operator })
    return null
  })
}

const inUse = (keyName: string, keyVersion: number, why: string) =>
  new Problem('key_in_use', { detail: `${referenceOf(keyName, keyVersion)} ${why}` })

/**
 * Why a version has to stay, or null. The search takes as long as reading every card does, and so it comes
 * before the transaction, which says what was found: there a repeat of the request gets its first answer.
 */
async function findObjection(
  keys: KeyManagement,
  keyName: string,
  keyVersion: number,
): Promise<Problem | null> {
  const row = await findHsmKey(keys.database, keyName, keyVersion)
  if (!row) return new Problem('not_found')
  // Only time empties some: their rotation retires them when it has passed.
  if (!isInstallationKey(keyName)) {
    return inUse(keyName, keyVersion, 'is of a key that this program does not know.')
  }
  const { columns, retirement } = keyCatalogue[keyName]
  if (row.state === 'active' && retirement.by === 'time') {
    return inUse(keyName, keyVersion, 'retires by itself, when what is under it is of no use.')
  }
  if (keyName === 'pan-fingerprint' && (await hasPanFingerprints(keys.database, keyVersion))) {
    return inUse(keyName, keyVersion, 'still finds cards.')
  }
  for (const column of columns) {
    if (await isUnder(keys, column, keyVersion)) {
      return inUse(keyName, keyVersion, `is still in use in ${column}.`)
    }
  }
  return null
}

const pageSize = 1_000

/** Reads a whole column, page by page: exact, however long it takes. */
async function isUnder(
  keys: KeyManagement,
  column: KeyedColumn,
  keyVersion: number,
): Promise<boolean> {
  let after: string | undefined = ''
  while (after !== undefined) {
    const rows = await keyedColumns[column](keys, after, pageSize)
    if (rows.some((row) => row.keyVersion === keyVersion)) return true
    after = rows.length < pageSize ? undefined : rows.at(-1)?.position
  }
  return false
}

/**
 * Retires a network's zone key, or without a client a zone master key. Its successor has another name.
 * @throws `Problem` `not_found`.
 */
export async function retireKeyZone(
  keys: KeyManagement,
  operator: Operator,
  key: string,
  clientId: string | null,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  return onRecordOnce(keys, request, async (connection, record) => {
    const isRetired =
      clientId === null
        ? await retireZoneMasterKey(connection, key)
        : await retireZoneKey(connection, clientId, key)
    if (!isRetired) throw new Problem('not_found')
    await record({ act: 'retired', key: zoneReferenceOf(key, clientId), ...operator })
    return null
  })
}
