import type { ChipReport } from '../../domain/chip-application-data.ts'
import type { ChipFinding } from '../../domain/chip-findings.ts'
import type { DeclineCode } from '../../domain/response-code.ts'

/** What the commit of an authorization records of a chip. */
interface ChipUse {
  /** 2 digits. */
  readonly panSequenceNumber: string
  /** The transaction counter: 0 to 65535. */
  readonly atc: number
  readonly keyVersion: number
  /** How far below the highest counter an unseen one is accepted. */
  readonly atcWindow: number
  /** Null where the chip does not report them. */
  readonly remainingOfflineTries: number | null
}

/** What a chip said of itself, and a terminal of it. Only a right cryptogram makes them true. */
interface ChipFacts {
  readonly report: ChipReport
  /** TVR: the tries of the PIN in the chip are used up. */
  readonly isOfflinePinBlocked: boolean
  /** Tag 9F5B: what became of commands in the answer before; null without it. */
  readonly scriptResults: Uint8Array | null
}

/** The answer to a chip. */
interface ChipAnswerData {
  /** Field 55 in hexadecimal digits. */
  readonly data: string
  /** The numbers of the commands that it carries. */
  readonly sent: readonly number[]
}

/** An objection of the checks `chip` and `cryptogram`. */
interface ChipObjection {
  readonly check: 'chip' | 'cryptogram'
  readonly result: 'failed' | 'not_given' | 'unresolved'
  readonly responseCode: DeclineCode
}

/** The chip of a request, as it was read before the authorization began. */
export interface PresentedChip {
  readonly objection: ChipObjection | null
  readonly findings: readonly ChipFinding[]
  /** Null unless the cryptogram is right and was not used before. */
  readonly use: ChipUse | null
  /** Null unless the cryptogram is right. */
  readonly facts: ChipFacts | null
  /** Composes the answer to the chip; null unless the cryptogram is right. */
  answer(responseCode: string): Promise<ChipAnswerData | null>
}
