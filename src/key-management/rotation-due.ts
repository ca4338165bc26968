import type { Cryptoperiod } from '../hsm/key-administration.ts'
import type { DatedHsmKeyRow } from '../storage/hsm-keys.ts'

const dayMs = 24 * 3_600_000

/** The version of each key that new things are made under. */
export const currentVersions = (rows: readonly DatedHsmKeyRow[]): readonly DatedHsmKeyRow[] =>
  rows.filter(
    (row) =>
      row.state === 'active' &&
      !rows.some(
        (other) =>
          other.keyName === row.keyName &&
          other.state === 'active' &&
          other.keyVersion > row.keyVersion,
      ),
  )

/** How long a version has made new things, in seconds. */
export const ageSeconds = ({ activatedAt, createdAt }: DatedHsmKeyRow, now: Date): number =>
  Math.max(0, (now.getTime() - (activatedAt ?? createdAt).getTime()) / 1_000)

/** When a version is to make new things no more. */
export const dueAt = (
  { activatedAt, createdAt }: Pick<DatedHsmKeyRow, 'activatedAt' | 'createdAt'>,
  { originatorDays }: Cryptoperiod,
): Date => new Date((activatedAt ?? createdAt).getTime() + originatorDays * dayMs)

/** Why a rotation is due: the version is too old, or has been used too often. Null where it is not. */
export function rotationDue(
  row: DatedHsmKeyRow,
  period: Cryptoperiod,
  now: Date,
): 'age' | 'uses' | null {
  if (now >= dueAt(row, period)) return 'age'
  return period.usesAtMost !== null && row.uses >= period.usesAtMost ? 'uses' : null
}
