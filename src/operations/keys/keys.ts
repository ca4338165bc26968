import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import type { KeyAdministration, KeyDescription } from '../../hsm/contract/key-administration.ts'
import { type ActPosition, newestAct } from '../../storage/clients/acts.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { findMasterKeyCheckValue } from '../../storage/engine/installation.ts'
import { findKeyActs, insertKeyAct, type KeyActRow } from '../../storage/keys/acts.ts'
import type { HsmKeyState } from '../../storage/keys/hsm-keys.ts'
import {
  type ListedHsmKeyRow,
  listHsmKeysAfter,
  listZoneKeysAfter,
  listZoneMasterKeysAfter,
} from '../../storage/keys/lists.ts'
import { type KeyPassRow, listKeyPasses } from '../../storage/keys/re-encryption.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { dueAt, rotationDue } from './uses.ts'

/** What the operations on keys work with. */
export interface KeyManagement {
  readonly database: Database
  readonly hsm: Hsm & KeyAdministration
  readonly timings: KeyTimings
  /** Names this process among those that walk passes. */
  readonly processId: string
  /** Tells the log of a change in the life of a key that is on record. Never a clear key. */
  tellAct(act: KeyAct): void
}

/** What happened to a key, and at whose word; nobody's where it was due. */
export interface KeyAct {
  readonly act: string
  readonly key: string
  readonly clientId?: string
  readonly requestId?: string
}

/** Who asks, as the access token says, and under which request id. */
export interface Operator {
  readonly clientId: string
  readonly requestId: string
}

/** How a version of a key is told: `pan/2`. */
export const referenceOf = (keyName: string, keyVersion: number): string =>
  `${keyName}/${keyVersion}`

/** How a zone key is told: with its network, whose keys have names of their own. */
export const zoneReferenceOf = (key: string, clientId: string | null): string =>
  clientId === null ? key : `${clientId}/${key}`

/** The times of a rotation. All follow from how often each process looks for new keys. */
interface KeyTimings {
  /** Each process reads the keys so often. */
  readonly refreshMs: number
  /** A process that could not read them for so long refuses to answer. */
  readonly staleAfterMs: number
  /** A version is pending for so long: every process then knows it, or refuses. */
  readonly pendingMs: number
  /** After so long no request runs any more that began under an older state of the keys. */
  readonly settleMs: number
}

export const keyTimings = (refreshMs: number): KeyTimings => ({
  refreshMs,
  staleAfterMs: 10 * refreshMs,
  pendingMs: 15 * refreshMs,
  settleMs: 30 * refreshMs,
})

/** Puts an act on record. */
export type RecordAct = (act: KeyAct) => Promise<void>

type Work<Result> = (connection: Connection, record: RecordAct) => Promise<Result>

/**
 * Changes something about keys in one transaction with the record of it: there is neither a change
 * without its record nor a record without its change. The log hears of it once it is committed.
 */
export const onRecord = async <Result>(keys: KeyManagement, work: Work<Result>): Promise<Result> =>
  (await onRecordOnce(keys, null, work)).result

/**
 * The same for what an operator asked under an idempotency key: that commits with it, and a repeat gets
 * the first answer. The result is as JSON has it, or a repeat would answer another.
 * @throws what `once` throws.
 */
export async function onRecordOnce<Result>(
  keys: KeyManagement,
  request: RepeatableRequest | null,
  work: Work<Result>,
): Promise<Answer<Result>> {
  let acts: KeyAct[] = []
  const answer = await once(keys, request, (connection) => {
    // The work may run again from its beginning.
    acts = []
    return work(connection, async (act) => {
      const { clientId = null, requestId = null } = act
      await insertKeyAct(connection, { act: act.act, key: act.key, clientId, requestId })
      acts.push(act)
    })
  })
  if (!answer.replayed) for (const act of acts) keys.tellAct(act)
  return answer
}

/** What was done to keys, the newest first. */
export const listKeyActs = (
  { database }: KeyManagement,
  after: ActPosition | null,
  limit: number,
): Promise<KeyActRow[]> => findKeyActs(database, after ?? newestAct, limit)

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
      ...dueOf(listed),
      pass: passes.find(isPassOfIt) ?? null,
    }
  })
}

/** Only the version that makes new things wears out. */
function dueOf(row: ListedHsmKeyRow): Pick<ListedKey, 'rotationDue' | 'rotationDueAt'> {
  if (!row.current || !isInstallationKey(row.keyName)) {
    return { rotationDue: null, rotationDueAt: null }
  }
  const period = keyCatalogue[row.keyName].cryptoperiod
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
