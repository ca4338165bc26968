import type { NamedCard } from '../../storage/authorizations/begin.ts'
import { findChip } from '../../storage/chips/find-chip.ts'
import { recordChipResults } from '../chips/commands.ts'
import { parseChip, readChip } from '../chips/read-chip.ts'
import type { AuthorizationContext } from './authorization.ts'

/**
 * Takes what a chip reports in an advice or a reversal: which commands it carried out, and the
 * tries that remain in it. The cryptogram must be right. It uses no transaction counter, because an
 * advice has that of the request before it. A repeat changes nothing.
 */
export async function takeChipReport(
  context: AuthorizationContext,
  chip: { readonly data: Uint8Array },
  card: NamedCard,
): Promise<void> {
  const message = { chip, cardRead: 'chip', hasPinBlock: false, isAdvice: true } as const
  const transaction = { money: null, merchant: null, transactionType: null }
  const parsed = parseChip(chip)
  const found = await findChip(context.database, card, { read: parsed, networkId: null })
  const presented = found && (await readChip(context, { ...message, transaction }, parsed, found))
  if (!presented?.reported || !presented.use) return
  const { remainingOfflineTries = null } = presented.use
  await recordChipResults(context, { ...presented.reported, remainingOfflineTries }, [])
}
