import type { Cryptoperiod, KeyDescription } from '../hsm/key-administration.ts'
import {
  type DatedHsmKeyRow,
  type HsmKeyState,
  type HsmKeyVersion,
  listHsmKeys,
} from '../storage/hsm-keys.ts'
import { findMasterKeyCheckValue } from '../storage/installation.ts'
import { type KeyPassRow, listKeyPasses } from '../storage/key-passes.ts'
import { listZoneKeys } from '../storage/zone-keys.ts'
import { listZoneMasterKeys } from '../storage/zone-master-keys.ts'
import type { KeyManagement } from './key-management.ts'
import { currentVersions, dueAt, rotationDue } from './rotation-due.ts'

/** One version of one key, as an operator sees it. */
export interface ListedKey extends Partial<KeyDescription> {
  readonly family: 'master' | 'installation' | 'zone-master' | 'zone'
  readonly key: string
  /** Null for a key that has none: its successor has another name. */
  readonly version: number | null
  /** The network client of a zone key. */
  readonly clientId?: string
  readonly pinBlockFormats?: readonly string[]
  readonly state: HsmKeyState
  /** Whether new things are made under it. */
  readonly current: boolean
  readonly keyCheckValue: string
  readonly createdAt: Date | null
  readonly activatesAt: Date | null
  readonly activatedAt: Date | null
  readonly retiredAt: Date | null
  /** Uses by all processes, of the installation's own keys. */
  readonly uses?: number
  /** When its age calls for a rotation; null for a version that makes nothing new. */
  readonly rotationDueAt?: Date | null
  /** Why a rotation is due now, or null. */
  readonly rotationDue?: 'age' | 'uses' | null
  /** How far everything has moved to this version. */
  readonly pass: KeyPassRow | null
}

/** Every key of the installation, its networks and its zones. No key block is among it. */
export async function listKeys(keys: KeyManagement): Promise<readonly ListedKey[]> {
  const { database } = keys
  const passes = await listKeyPasses(database)
  return [
    await listedMasterKey(keys),
    ...listedInstallation(keys, await listHsmKeys(database), passes),
    ...(await listedZoneMasterKeys(keys)),
    ...(await listedZoneKeys(keys)),
  ]
}

const undated = { activatesAt: null, activatedAt: null, retiredAt: null, pass: null } as const

const listedMasterKey = async ({ database }: KeyManagement): Promise<ListedKey> => ({
  family: 'master',
  key: 'master-key',
  version: null,
  keyUsage: 'K1',
  algorithm: 'A',
  modeOfUse: 'B',
  exportability: 'N',
  checkMethod: 'CMAC',
  state: 'active',
  current: true,
  keyCheckValue: await findMasterKeyCheckValue(database),
  createdAt: null,
  ...undated,
})

const listedInstallation = (
  { hsm }: KeyManagement,
  rows: readonly DatedHsmKeyRow[],
  passes: readonly KeyPassRow[],
): ListedKey[] =>
  rows.map(({ keyBlock, keyName, keyVersion, ...row }) => ({
    family: 'installation',
    key: keyName,
    version: keyVersion,
    ...hsm.describeKey(keyBlock),
    ...row,
    ...dueOf(hsm.cryptoperiods[keyName], rows, { keyName, keyVersion }),
    pass: passes.find((p) => p.keyName === keyName && p.keyVersion === keyVersion) ?? null,
  }))

/** Only the version that makes new things wears out. */
function dueOf(
  period: Cryptoperiod | undefined,
  rows: readonly DatedHsmKeyRow[],
  { keyName, keyVersion }: HsmKeyVersion,
): Pick<ListedKey, 'current' | 'rotationDue' | 'rotationDueAt'> {
  const row = currentVersions(rows).find((each) => each.keyName === keyName)
  if (!row || row.keyVersion !== keyVersion) {
    return { current: false, rotationDue: null, rotationDueAt: null }
  }
  if (!period) return { current: true, rotationDue: null, rotationDueAt: null }
  return {
    current: true,
    rotationDue: rotationDue(row, period, new Date()),
    rotationDueAt: dueAt(row, period),
  }
}

async function listedZoneMasterKeys({ database, hsm }: KeyManagement): Promise<ListedKey[]> {
  return (await listZoneMasterKeys(database)).map(({ keyBlock, keyName, ...row }) => ({
    ...undated,
    family: 'zone-master',
    key: keyName,
    version: null,
    ...hsm.describeKey(keyBlock),
    state: row.retiredAt ? 'retired' : 'active',
    current: !row.retiredAt,
    ...row,
  }))
}

async function listedZoneKeys({ database, hsm }: KeyManagement): Promise<ListedKey[]> {
  return (await listZoneKeys(database)).map(({ keyBlock, keyName, ...row }) => ({
    ...undated,
    family: 'zone',
    key: keyName,
    version: null,
    ...hsm.describeKey(keyBlock),
    state: row.retiredAt ? 'retired' : 'active',
    current: !row.retiredAt,
    clientId: row.clientId,
    pinBlockFormats: row.pinBlockFormats,
    keyCheckValue: row.keyCheckValue,
    createdAt: row.createdAt,
    retiredAt: row.retiredAt,
  }))
}
