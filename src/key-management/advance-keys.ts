import {
  activateDueHsmKeys,
  type DatedHsmKeyRow,
  hasDueHsmKeys,
  listHsmKeys,
  retireOutlivedHsmKeys,
} from '../storage/hsm-keys.ts'
import { claimKeyPass, startKeyPass } from '../storage/key-passes.ts'
import { forgetPanFingerprints } from '../storage/keys-of-cards.ts'
import { forgetLateComponents } from './component-entry.ts'
import { type KeyManagement, referenceOf } from './key-management.ts'
import { onRecord } from './on-record.ts'
import { rotationRule } from './rotation-rules.ts'
import { walkPass } from './walk-pass.ts'

/** Learns of the keys that other processes made, and makes those active that are due. */
export async function followKeys(keys: KeyManagement): Promise<void> {
  await keys.hsm.refreshKeys()
  if (!(await hasDueHsmKeys(keys.database))) return
  const activated = await onRecord(keys, async (connection, record) => {
    const due = await activateDueHsmKeys(connection)
    for (const { keyName, keyVersion } of due) {
      await record({ act: 'activated', key: referenceOf(keyName, keyVersion) })
    }
    return due
  })
  if (activated.length > 0) await keys.hsm.refreshKeys()
}

/**
 * Brings every rotation as far as it can come now: walks the passes that nobody else walks, and
 * retires versions that have outlived what was under them. Components that were brought for a key whose
 * others never came are forgotten. Any number of processes may do so.
 */
export async function advanceKeys(
  keys: KeyManagement,
  isStopped: () => boolean = () => false,
): Promise<void> {
  await forgetLateComponents(keys)
  const rows = await listHsmKeys(keys.database)
  // One key whose rotation is stuck holds up no other.
  const faults: unknown[] = []
  for (const keyName of new Set(rows.map((row) => row.keyName))) {
    const versions = rows.filter((row) => row.keyName === keyName)
    await advanceVersions(keys, keyName, versions, isStopped).catch((fault) => faults.push(fault))
  }
  if (faults.length > 0) throw faults[0]
}

async function advanceVersions(
  keys: KeyManagement,
  keyName: string,
  versions: readonly DatedHsmKeyRow[],
  isStopped: () => boolean,
): Promise<void> {
  const active = versions.filter(({ state }) => state === 'active')
  const newest = active.at(-1)
  if (newest && active.length > 1) await advanceKey(keys, newest, isStopped)
  if (keyName === 'pan-fingerprint') await forgetRetired(keys, versions, isStopped)
}

async function advanceKey(
  keys: KeyManagement,
  { keyName, keyVersion }: DatedHsmKeyRow,
  isStopped: () => boolean,
): Promise<void> {
  const rule = rotationRule(keyName)
  if (rule.by === 'time') {
    const seconds = rule.seconds + keys.timings.settleMs / 1_000
    await onRecord(keys, async (connection, record) => {
      const retired = await retireOutlivedHsmKeys(connection, keyName, keyVersion, seconds)
      for (const each of retired) {
        await record({ act: 'retired', key: referenceOf(each.keyName, each.keyVersion) })
      }
    })
  }
  if (rule.by !== 'pass') return
  await startKeyPass(keys.database, keyName, keyVersion)
  let pass = await claimKeyPass(keys.database, keyName, keyVersion, keys.processId)
  while (pass && !isStopped()) pass = await walkPass(keys, pass)
}

const forgetSize = 200

/** Fingerprints of a retired version: by now no process writes or looks for them. */
async function forgetRetired(
  { database, timings }: KeyManagement,
  versions: readonly DatedHsmKeyRow[],
  isStopped: () => boolean,
): Promise<void> {
  const settleSeconds = timings.settleMs / 1_000
  for (const { keyVersion, state } of versions) {
    if (state !== 'retired') continue
    const forget = () => forgetPanFingerprints(database, keyVersion, settleSeconds, forgetSize)
    while (!isStopped() && (await forget()) > 0);
  }
}
