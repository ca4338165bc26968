import { makeExpiry } from '../../domain/calendar.ts'
import { findPresentedPlastic } from '../../domain/card-life.ts'
import type { ChipReport } from '../../domain/chip-application-data.ts'
import type { ChipTags } from '../../domain/chip-profile.ts'
import type { CardRead } from '../../domain/entry-mode.ts'
import type { ChipReference } from '../../hsm/contract/chip.ts'
import type { FoundChip } from '../../storage/chips/find-chip.ts'
import type { ReportedChip } from './commands.ts'

/** Chip data whose cryptogram is right. */
interface VerifiedChip {
  readonly tags: ChipTags
  readonly chip: ChipReference
  readonly report: ChipReport
  readonly atc: number
}

/** Composes the results of sent commands that a message reports, and what its answer may carry. */
export function composeReport(
  { cardRead, isAdvice = false }: { readonly cardRead: CardRead; readonly isAdvice?: boolean },
  found: FoundChip,
  { atc, chip, report, tags }: VerifiedChip,
  now: Date,
): ReportedChip {
  const { applicationData } = chip.profile
  return {
    publicToken: found.publicToken,
    // The commit of the authorization records them.
    remainingOfflineTries: null,
    waiting: found.waiting,
    report: {
      panSequenceNumber: chip.panSequenceNumber,
      plastic: findPresentedPlastic(
        chip.panSequenceNumber,
        found,
        found.chip.firstPanSequenceNumber,
      ),
      atc,
      newestPanSequenceNumber: found.newestPanSequenceNumber,
      lastAtc: found.highestAtc,
      lastContactAtc: found.contactAtc,
      isContact: cardRead === 'chip',
      isCardExpired: isPast(found.expiry, now),
      isAdvice,
      results: tags.get('9F5B') ?? null,
      processed: report.processedCommands,
      countedTemplates: applicationData.commands.countedTemplates,
      hasFailed: report.hasFailedCommand,
      isLastOnlineIncomplete: report.isLastOnlineIncomplete,
      isDeclined: report.kind === 'decline',
    },
  }
}

const isPast = (yymm: string, now: Date): boolean =>
  makeExpiry(2000 + Number(yymm.slice(0, 2)), Number(yymm.slice(2))).isPast(now)
