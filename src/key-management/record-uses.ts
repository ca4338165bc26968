import { addHsmKeyUses } from '../storage/hsm-keys.ts'
import { type KeyManagement, referenceOf } from './key-management.ts'

/** So many uses of a version are on record before they are made: a statement a second is too many. */
const setAsideAtOnce = 65_536

/** Puts on record how often this process uses each key. */
export interface UseRecorder {
  /** Sets uses aside for every version that this process may soon have used up its own of. */
  setAside(): Promise<void>
  /** Gives back what was set aside and not used. */
  giveBack(): Promise<void>
}

/**
 * Uses are on record in ranges, before they are made. A process that is killed leaves a range behind that
 * it did not use up, so what is on record is never less than what was used, but for what one turn made
 * beyond a whole range.
 */
export function recordUses({
  database,
  hsm,
}: Pick<KeyManagement, 'database' | 'hsm'>): UseRecorder {
  const onRecord = new Map<string, number>()
  const record = async (dueOf: (uses: number, recorded: number) => number) => {
    for (const { keyName, keyVersion, uses } of hsm.countedUses()) {
      const reference = referenceOf(keyName, keyVersion)
      const recorded = onRecord.get(reference) ?? 0
      const due = dueOf(uses, recorded)
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
