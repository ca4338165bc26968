import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import type { KeyDescription } from '../../hsm/contract/key-administration.ts'
import { findMasterKeyCheckValue } from '../../storage/engine/installation.ts'
import type { HsmKeyState } from '../../storage/keys/hsm-keys.ts'
import {
  listHsmKeysAfter,
  listZoneKeysAfter,
  listZoneMasterKeysAfter,
} from '../../storage/keys/lists.ts'
import { listReEncryptions, type ReEncryptionRow } from '../../storage/keys/re-encryption.ts'
import type { KeyContext } from './keys.ts'
import { computeRoundProgress, type RoundProgress } from './re-encryption.ts'
import { dueAt, rotationDue } from './uses.ts'

/** One version of one key, as operators see it. */
export interface ListedKey extends Partial<KeyDescription> {
  readonly family: 'master' | 'installation' | 'zone-master' | 'zone'
  readonly key: string
  /** Null for a key without versions: its successor has another name. */
  readonly version: number | null
  /** The network client of a zone key. */
  readonly clientId?: string
  readonly pinBlockFormats?: readonly string[]
  readonly state: HsmKeyState
  /** Whether new data is protected with it. */
  readonly current: boolean
  readonly keyCheckValue: string
  readonly createdAt: Date | null
  readonly activatesAt: Date | null
  readonly activatedAt: Date | null
  readonly retiredAt: Date | null
  /** The uses by all processes, for keys of the installation. */
  readonly uses?: number
  /** The time at which a rotation is due by age; null for a version that protects no new data. */
  readonly rotationDueAt?: Date | null
  /** Why a rotation is due now, or null. */
  readonly rotationDue?: 'age' | 'uses' | null
  /** The progress of the re-encryption under this version. */
  readonly reEncryption: (ReEncryptionRow & RoundProgress) | null
}

/** The end of a page of keys: by family, then by name and number, or by network and name. */
export interface KeyPosition {
  readonly family: ListedKey['family']
  readonly key: string
  /** 0 for a key without versions. */
  readonly version: number
  /** Empty except for zone keys. */
  readonly clientId: string
}

/** Lists the keys of the installation, its networks and its zones, without key blocks. */
export async function listKeys(
  keys: KeyContext,
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

type Page = (
  keys: KeyContext,
  after: KeyPosition | null,
  limit: number,
) => Promise<readonly ListedKey[]>

const undated = {
  activatesAt: null,
  activatedAt: null,
  retiredAt: null,
  reEncryption: null,
} as const

/** In the order of the list. */
const pages: Readonly<Record<ListedKey['family'], Page>> = {
  async master({ database }, after) {
    if (after) return []
    const masterKey = {
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
    } as const
    return [masterKey]
  },

  async installation({ database, hsm }, after, limit) {
    const position = [after?.key ?? '', after?.version ?? 0, limit] as const
    const rows = await listHsmKeysAfter(database, ...position)
    // There are at most as many re-encryptions as versions.
    const reEncryptions = await listReEncryptions(database, ...position)
    const now = new Date()
    return rows.map((listed) => {
      const { keyBlock, keyName, keyVersion, ...row } = listed
      const isOfVersion = (reEncryption: ReEncryptionRow) =>
        reEncryption.keyName === keyName && reEncryption.keyVersion === keyVersion
      // Only the version that protects new data wears out.
      const isWearing = row.current && isInstallationKey(keyName)
      const reEncryption = reEncryptions.find(isOfVersion)
      const period = isWearing ? keyCatalogue[keyName].cryptoperiod : undefined
      return {
        family: 'installation',
        key: keyName,
        version: keyVersion,
        ...hsm.describeKey(keyBlock),
        ...row,
        rotationDue: period ? rotationDue(listed, period, now) : null,
        rotationDueAt: period ? dueAt(listed, period) : null,
        reEncryption: reEncryption
          ? { ...reEncryption, ...computeRoundProgress(reEncryption, now) }
          : null,
      }
    })
  },

  async 'zone-master'({ database, hsm }, after, limit) {
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
  },

  async zone({ database, hsm }, after, limit) {
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
  },
}

export const keyFamilies = Object.keys(pages) as readonly ListedKey['family'][]
