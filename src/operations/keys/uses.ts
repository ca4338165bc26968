import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import type { Cryptoperiod } from '../../hsm/contract/key-lifecycle.ts'
import { addHsmKeyUses, type DatedHsmKeyRow, listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { composeReference, type KeyContext } from './keys.ts'

/** The number of uses that are recorded in advance: a statement per second would be too many. */
const setAsideAtOnce = 65_536

/** Records how often this process uses each key. */
interface UseRecorder {
  /** Records uses in advance for every version whose recorded uses may soon be exhausted. */
  setAside(): Promise<void>
  /** Returns the recorded uses that were not needed. */
  giveBack(): Promise<void>
}

/**
 * Uses are recorded in ranges, in advance. A killed process leaves an incomplete range, so the
 * record is never less than the actual uses, except for those of one turn beyond a whole range.
 */
export function recordUses({ database, hsm }: Pick<KeyContext, 'database' | 'hsm'>): UseRecorder {
  const onRecord = new Map<string, number>()
  const record = async (countDue: (uses: number, recorded: number) => number) => {
    for (const { keyName, keyVersion, uses } of hsm.countedUses()) {
      const reference = composeReference(keyName, keyVersion)
      const recorded = onRecord.get(reference) ?? 0
      const due = countDue(uses, recorded)
      if (due === recorded) continue
      await addHsmKeyUses(database, { keyName, keyVersion }, due - recorded)
      onRecord.set(reference, due)
    }
  }
  return {
    setAside: () =>
      record((uses, recorded) =>
        uses === 0 || recorded - uses > setAsideAtOnce / 2 ? recorded : uses + setAsideAtOnce,
      ),
    giveBack: () => record((uses) => uses),
  }
}

const dayMs = 24 * 3_600_000

/** Returns the version of each key that protects new data. */
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

/** Returns the seconds for which a version has been active. */
export const ageSeconds = ({ activatedAt, createdAt }: DatedHsmKeyRow, now: Date): number =>
  Math.max(0, (now.getTime() - (activatedAt ?? createdAt).getTime()) / 1_000)

/** Returns when a version must stop protecting new data. */
export const dueAt = (
  { activatedAt, createdAt }: Pick<DatedHsmKeyRow, 'activatedAt' | 'createdAt'>,
  { originatorDays }: Cryptoperiod,
): Date => new Date((activatedAt ?? createdAt).getTime() + originatorDays * dayMs)

/** Returns why a rotation is due: the age or the uses of the version. Null if none is due. */
export function rotationDue(
  row: DatedHsmKeyRow,
  period: Cryptoperiod,
  now: Date,
): 'age' | 'uses' | null {
  if (now >= dueAt(row, period)) return 'age'
  return period.usesAtMost !== null && row.uses >= period.usesAtMost ? 'uses' : null
}

/** The age and the uses of the version of an installation key that protects new data. */
interface KeyWear {
  readonly key: string
  readonly version: number
  readonly ageSeconds: number
  readonly uses: number
  readonly rotationDueAt: Date
  /** Why a rotation is due, or null. */
  readonly rotationDue: 'age' | 'uses' | null
}

/** Measures the age and the uses of each key of the installation. */
export async function measureKeys({
  database,
}: Pick<KeyContext, 'database'>): Promise<readonly KeyWear[]> {
  const now = new Date()
  return currentVersions(await listHsmKeys(database)).flatMap((row) => {
    if (!isInstallationKey(row.keyName)) return []
    const { cryptoperiod } = keyCatalogue[row.keyName]
    return [
      {
        key: row.keyName,
        version: row.keyVersion,
        uses: row.uses,
        ageSeconds: Math.round(ageSeconds(row, now)),
        rotationDueAt: dueAt(row, cryptoperiod),
        rotationDue: rotationDue(row, cryptoperiod, now),
      },
    ]
  })
}
