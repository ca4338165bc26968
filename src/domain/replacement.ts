import type { CardStatusCode } from './card-status.ts'

/** Why a card is replaced. */
export const replacementReasons = ['Lost', 'Stolen', 'Damaged', 'Compromised', 'Upgrade'] as const
export type ReplacementReason = (typeof replacementReasons)[number]

/**
 * The reasons that an operator can give. An upgrade has another product, which the client chooses.
 */
export const operatorReplacementReasons = ['Lost', 'Stolen', 'Damaged', 'Compromised'] as const
export type OperatorReplacementReason = (typeof operatorReplacementReasons)[number]

/** The effects of a reason for a replacement. */
interface ReasonEffects {
  /** The status that the replaced card gets in the same act; null if it keeps its status. */
  readonly movesTo: CardStatusCode | null
  /** Whether the replaced card is retired in the same act. */
  readonly retires: boolean
  /** Whether the successor gets the PIN of the replaced card by default. */
  readonly carriesPin: boolean
}

export const reasonEffects: Readonly<Record<ReplacementReason, ReasonEffects>> = {
  Lost: { movesTo: '41', retires: false, carriesPin: true },
  Stolen: { movesTo: '43', retires: false, carriesPin: false },
  Damaged: { movesTo: null, retires: false, carriesPin: true },
  Compromised: { movesTo: null, retires: true, carriesPin: false },
  Upgrade: { movesTo: null, retires: false, carriesPin: true },
}

/**
 * Whether a successor gets the PIN of a card by default. The PIN of a stolen card does not move,
 * whatever the reason: its thief may know it.
 */
export const carriesPin = (reason: ReplacementReason, status: CardStatusCode): boolean =>
  reasonEffects[reason].carriesPin && status !== '43'

/** The reason of a replacement that names none: the one that the status of the card says. */
export function defaultReason(status: CardStatusCode): ReplacementReason {
  if (status === '41') return 'Lost'
  if (status === '43') return 'Stolen'
  return 'Damaged'
}
