import type { KeyDescription } from '../hsm/key-administration.ts'
import { type DatedHsmKeyRow, type HsmKeyState, listHsmKeys } from '../storage/hsm-keys.ts'
import { findMasterKeyCheckValue } from '../storage/installation.ts'
import { type KeyPassRow, listKeyPasses } from '../storage/key-passes.ts'
import { listZoneKeys } from '../storage/zone-keys.ts'
import { listZoneMasterKeys } from '../storage/zone-master-keys.ts'
import type { KeyManagement } from './key-management.ts'

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
    current: keyVersion === currentVersion(rows, keyName),
    pass: passes.find((p) => p.keyName === keyName && p.keyVersion === keyVersion) ?? null,
  }))

const currentVersion = (rows: readonly DatedHsmKeyRow[], keyName: string): number | undefined =>
  rows.findLast((row) => row.keyName === keyName && row.state === 'active')?.keyVersion

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
