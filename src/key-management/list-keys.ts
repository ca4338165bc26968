import type { Cryptoperiod, KeyDescription } from '../hsm/key-administration.ts'
import type { HsmKeyState } from '../storage/hsm-keys.ts'
import { findMasterKeyCheckValue } from '../storage/installation.ts'
import { type KeyPassRow, listKeyPasses } from '../storage/key-passes.ts'
import {
  type ListedHsmKeyRow,
  listHsmKeysAfter,
  listZoneKeysAfter,
  listZoneMasterKeysAfter,
} from '../storage/listed-keys.ts'
import type { KeyManagement } from './key-management.ts'
import { dueAt, rotationDue } from './rotation-due.ts'

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

/** Where a page of keys ends: by family, then by name and number, or by network and name. */
export interface KeyPosition {
  readonly family: ListedKey['family']
  readonly key: string
  /** 0 of a key that has none. */
  readonly version: number
  /** Empty but for a zone key. */
  readonly clientId: string
}

type Page = (
  keys: KeyManagement,
  after: KeyPosition | null,
  limit: number,
) => Promise<readonly ListedKey[]>

/** In the order of the list. */
const pages: Readonly<Record<ListedKey['family'], Page>> = {
  master: async (keys, after) => (after ? [] : [await listedMasterKey(keys)]),
  installation: (keys, after, limit) => listedInstallation(keys, after, limit),
  'zone-master': (keys, after, limit) => listedZoneMasterKeys(keys, after, limit),
  zone: (keys, after, limit) => listedZoneKeys(keys, after, limit),
}

export const keyFamilies = Object.keys(pages) as readonly ListedKey['family'][]

/** The keys of the installation, its networks and its zones. No key block is among it. */
export async function listKeys(
  keys: KeyManagement,
  after: KeyPosition | null,
  limit: number,
): Promise<readonly ListedKey[]> {
  const listed: ListedKey[] = []
  for (const family of keyFamilies.slice(after ? keyFamilies.indexOf(after.family) : 0)) {
    const position = after?.family === family ? after : null
    if (listed.length < limit) {
      listed.push(...(await pages[family](keys, position, limit - listed.length)))
    }
  }
  return listed
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

async function listedInstallation(
  { database, hsm }: KeyManagement,
  after: KeyPosition | null,
  limit: number,
): Promise<ListedKey[]> {
  const position = [after?.key ?? '', after?.version ?? 0, limit] as const
  const rows = await listHsmKeysAfter(database, ...position)
  // Of so many versions there are at most so many passes.
  const passes = await listKeyPasses(database, ...position)
  return rows.map((listed) => {
    const { keyBlock, keyName, keyVersion, ...row } = listed
    const isPassOfIt = (pass: KeyPassRow) =>
      pass.keyName === keyName && pass.keyVersion === keyVersion
    return {
      family: 'installation',
      key: keyName,
      version: keyVersion,
      ...hsm.describeKey(keyBlock),
      ...row,
      ...dueOf(listed, hsm.cryptoperiods[keyName]),
      pass: passes.find(isPassOfIt) ?? null,
    }
  })
}

/** Only the version that makes new things wears out. */
function dueOf(
  row: ListedHsmKeyRow,
  period: Cryptoperiod | undefined,
): Pick<ListedKey, 'rotationDue' | 'rotationDueAt'> {
  if (!row.current || !period) return { rotationDue: null, rotationDueAt: null }
  return { rotationDue: rotationDue(row, period, new Date()), rotationDueAt: dueAt(row, period) }
}

async function listedZoneMasterKeys(
  { database, hsm }: KeyManagement,
  after: KeyPosition | null,
  limit: number,
): Promise<ListedKey[]> {
  const rows = await listZoneMasterKeysAfter(database, after?.key ?? '', limit)
  return rows.map(({ keyBlock, keyName, ...row }) => ({
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

async function listedZoneKeys(
  { database, hsm }: KeyManagement,
  after: KeyPosition | null,
  limit: number,
): Promise<ListedKey[]> {
  const rows = await listZoneKeysAfter(database, after?.clientId ?? '', after?.key ?? '', limit)
  return rows.map(({ keyBlock, keyName, ...row }) => ({
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
