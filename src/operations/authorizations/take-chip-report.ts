import type { NamedCard } from '../../storage/authorizations/begin.ts'
import { recordChipResults } from '../chips/commands.ts'
import { readChip } from '../chips/read-chip.ts'
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
  const presented = await readChip(context, { ...message, transaction }, card)
  if (!presented?.reported || !presented.use) return
  const { remainingOfflineTries = null } = presented.use
  await recordChipResults(context, { ...presented.reported, remainingOfflineTries }, [])
}
