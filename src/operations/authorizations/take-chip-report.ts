import type { NamedCard } from '../../storage/authorizations/begin.ts'
import { recordAdvisedChip } from '../../storage/chips/commands.ts'
import { findChip } from '../../storage/chips/find-chip.ts'
import { recordChipResults } from '../chips/commands.ts'
import { type ChipMessage, parseChip, readChip } from '../chips/read-chip.ts'
import type { AuthorizationContext } from './authorization.ts'
import { toChipUse } from './chip.ts'

/** An advice or a reversal with chip data. */
export interface ChipAdvice {
  readonly networkId: string
  readonly chip: Pick<ChipMessage['chip'], 'data' | 'panSequenceNumber'>
}

/**
 * Takes what a chip reports in an advice or a reversal: which commands it carried out, and the
 * tries that remain in it. A right cryptogram uses its counter, so that no request can have it
 * afterwards; an advice after a request has the counter of that request, and is accepted. A wrong
 * one is counted, and refuses nothing. A repeat of a right one changes nothing.
 */
export async function takeChipReport(
  context: AuthorizationContext,
  { chip, networkId }: ChipAdvice,
  card: NamedCard,
): Promise<void> {
  const { database, observe } = context
  const message = { chip, cardRead: 'chip', hasPinBlock: false, isAdvice: true } as const
  const transaction = { money: null, cashbackAmount: null, merchant: null, transactionType: null }
  const parsed = parseChip(chip)
  const found = await findChip(database, card, { read: parsed, networkId: null })
  const presented = found && (await readChip(context, { ...message, transaction }, parsed, found))
  if (!presented) return
  const { publicToken } = found
  if (!presented.reported || !presented.use) {
    const result = presented.checks.find(({ check }) => check === 'cryptogram')?.result
    if (result === 'unresolved') {
      observe.chipResultsLost(new Error('The cryptogram of an advice was not verified.'))
    }
    if (result !== 'failed') return
    const isGuessing = await recordAdvisedChip(database, { publicToken, networkId, chip: null })
    const mistake = { kind: 'cryptogram', publicToken, networkId, entryMode: 'chip' } as const
    observe.mistakeCounted({ ...mistake, isGuessing })
    return
  }
  await recordAdvisedChip(database, { publicToken, networkId, chip: toChipUse(presented) })
  const { remainingOfflineTries = null } = presented.use
  await recordChipResults(context, { ...presented.reported, remainingOfflineTries }, [])
}
