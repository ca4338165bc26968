import type { AuthorizationCheck } from '../../domain/authorization-check.ts'
import type { DeclineCode } from '../../domain/response-code.ts'
import type { ReportedChip } from './commands.ts'

/** The record of a chip in the commit of an authorization. */
interface ChipUse {
  /** 2 digits. */
  readonly panSequenceNumber: string
  /** The transaction counter: 0 to 65535. */
  readonly atc: number
  /** The same for a chip that was read by its contacts; null for another one. */
  readonly contactAtc: number | null
  readonly keyVersion: number
  /** How far below the highest counter an unseen one is accepted. */
  readonly atcWindow: number
  /**
   * Null if the PIN in the chip is not blocked and the chip reports no number. Absent if the
   * message says nothing of the PIN.
   */
  readonly remainingOfflineTries?: number | null
}

/** The record of a contactless stripe, which has no chip's row, in the same commit. */
export interface StripeUse {
  readonly panSequenceNumber: null
  readonly atc: number
  readonly atcWindow: number
  readonly remainingOfflineTries?: never
}

/** A check of a chip, a stripe or a 3-D Secure value, as the record of the authorization has it. */
export interface ChipCheck
  extends Pick<AuthorizationCheck, 'check' | 'result' | 'findings' | 'atc'> {
  readonly check: 'chip' | 'cryptogram' | 'card_value' | 'cavv' | 'offline_pin'
  /** Only the last check can have one. */
  readonly responseCode?: DeclineCode
}

/** The answer to a chip. */
interface ChipAnswerData {
  /** Field 55 in hexadecimal digits. */
  readonly data: string
  /** The numbers of the commands that it carries. */
  readonly sent: readonly number[]
}

/** The chip of a message, as it was read before the authorization began. */
export interface PresentedChip {
  readonly checks: readonly ChipCheck[]
  /** 2 digits; null for a stripe, and if they could not be read. */
  readonly panSequenceNumber: string | null
  /** That of the last check. */
  readonly objection: DeclineCode | null
  /**
   * Null unless the cryptogram, or the value of a contactless stripe, is right and was not used
   * before.
   */
  readonly use: ChipUse | StripeUse | null
  /** The results of its commands; null unless the cryptogram is right and was not used. */
  readonly reported: ReportedChip | null
  /**
   * Composes the answer to the chip, once for each response code.
   * @returns null unless the cryptogram is right and was not used before, and during an outage.
   */
  answer(responseCode: string): Promise<ChipAnswerData | null>
}
