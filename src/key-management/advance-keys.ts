import { forgetLateEntries } from '../storage/component-entries.ts'
import {
  activateDueHsmKeys,
  type DatedHsmKeyRow,
  listHsmKeys,
  retireOutlivedHsmKeys,
} from '../storage/hsm-keys.ts'
import { claimKeyPass, startKeyPass } from '../storage/key-passes.ts'
import { forgetPanFingerprints } from '../storage/keys-of-cards.ts'
import { type KeyManagement, referenceOf } from './key-management.ts'
import { rotationRule } from './rotation-rules.ts'
import { walkPass } from './walk-pass.ts'

/** Learns of the keys that other processes made, and makes those active that are due. */
export async function followKeys(keys: KeyManagement): Promise<void> {
  await keys.hsm.refreshKeys()
  const activated = await activateDueHsmKeys(keys.database)
  if (activated.length > 0) await keys.hsm.refreshKeys()
  for (const { keyName, keyVersion } of activated) {
    await keys.onAct({ act: 'activated', key: referenceOf(keyName, keyVersion) })
  }
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
  await forgetLateEntries(keys.database)
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
    const settleSeconds = keys.timings.settleMs / 1_000
    const retired = await retireOutlivedHsmKeys(
      keys.database,
      keyName,
      keyVersion,
      rule.seconds + settleSeconds,
    )
    for (const each of retired) {
      await keys.onAct({ act: 'retired', key: referenceOf(each.keyName, each.keyVersion) })
    }
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
  for (const { keyVersion, retiredAt } of versions) {
    const isSettled = retiredAt && Date.now() - retiredAt.getTime() > timings.settleMs
    if (!isSettled) continue
    while (!isStopped() && (await forgetPanFingerprints(database, keyVersion, forgetSize)) > 0);
  }
}
