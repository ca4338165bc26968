import { isInstallationKey, keyCatalogue } from '../../hsm/contract/catalogue.ts'
import type { Cryptoperiod } from '../../hsm/contract/key-lifecycle.ts'
import { addHsmKeyUses, type DatedHsmKeyRow, listHsmKeys } from '../../storage/keys/hsm-keys.ts'
import { composeReference, type KeyContext } from './keys.ts'

/**
 * So many uses of a version are on record before they are made: a statement a second is too many.
 */
const setAsideAtOnce = 65_536

/** Puts on record how often this process uses each key. */
interface UseRecorder {
  /** Sets uses aside for every version that this process may soon have used up its own of. */
  setAside(): Promise<void>
  /** Gives back what was set aside and not used. */
  giveBack(): Promise<void>
}

/**
 * Uses are on record in ranges, before they are made. A process that is killed leaves a range
 * behind that it did not use up, so what is on record is never less than what was used, but for
 * what one turn made beyond a whole range.
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

/** Returns for how many seconds a version has been active. */
export const ageSeconds = ({ activatedAt, createdAt }: DatedHsmKeyRow, now: Date): number =>
  Math.max(0, (now.getTime() - (activatedAt ?? createdAt).getTime()) / 1_000)

/** When a version is to make new things no more. */
export const dueAt = (
  { activatedAt, createdAt }: Pick<DatedHsmKeyRow, 'activatedAt' | 'createdAt'>,
  { originatorDays }: Cryptoperiod,
): Date => new Date((activatedAt ?? createdAt).getTime() + originatorDays * dayMs)

/**
 * Why a rotation is due: the version is too old, or has been used too often. Null where it is not.
 */
export function rotationDue(
  row: DatedHsmKeyRow,
  period: Cryptoperiod,
  now: Date,
): 'age' | 'uses' | null {
  if (now >= dueAt(row, period)) return 'age'
  return period.usesAtMost !== null && row.uses >= period.usesAtMost ? 'uses' : null
}

/** How worn a key of the installation is: the version of it that makes new things. */
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
