import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import { currentVersions, dueAt, rotationDue } from '../../operations/keys/uses.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { type DatedHsmKeyRow, listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { type Finding, good, warning } from './examine.ts'

const dayMs = 24 * 3_600_000
const warnDays = 30

/** Keys that have made new things for as long, or as often, as they should. */
export async function judgeKeys(connection: Connection, now: Date): Promise<readonly Finding[]> {
  const findings = currentVersions(await listHsmKeys(connection)).flatMap((row) =>
    judgeKey(row, now),
  )
  if (findings.length > 0) return findings
  return [good('keys', `No key is due to be rotated within ${warnDays} days.`)]
}

function judgeKey(row: DatedHsmKeyRow, now: Date): Finding[] {
  const { keyName, uses } = row
  if (!isInstallationKey(keyName)) return []
  const period = keyCatalogue[keyName].cryptoperiod
  const due = rotationDue(row, period, now)
  const daysLeft = Math.ceil((dueAt(row, period).getTime() - now.getTime()) / dayMs)
  if (due === null && daysLeft > warnDays) return []
  const found = {
    age: `The key ${keyName} has made new things for longer than ${period.originatorDays} days.`,
    uses: `The key ${keyName} has been used ${uses} times.`,
    soon: `The key ${keyName} is to be rotated in ${daysLeft} days.`,
  }[due ?? 'soon']
  const why = 'The longer one key is used, the more is lost with it (NIST SP 800-57, 5.3.6).'
  return [warning('keys', found, why, `npx pinfold keys rotate ${keyName} --wait`)]
}
