import { isControlled } from '../../domain/controls.ts'
import * as deciding from '../../domain/decide-controls.ts'
import { declineRules } from '../../domain/decline-reason.ts'
import type { DeclineCode } from '../../domain/response-code.ts'
import { findExcess, type Taking, takeFrom } from '../../domain/spending.ts'
import { findCashCharge, findCharge, mayApprovePart } from '../../domain/transaction.ts'
import type { AppliedControls, NewSpending } from '../../storage/authorizations/applied-controls.ts'
import type { AuthorizedCard } from '../../storage/authorizations/begin.ts'
import type { AuthorizationRequest } from './authorization.ts'
import type { Verdict } from './compose-answer.ts'
import type { TracedRequest } from './trace.ts'

/**
 * Notes the controls without money, which begin_authorization applied before it spent a try.
 * @returns the objection.
 */
export function noteControls(
  { trail, transaction }: TracedRequest,
  { controls }: AuthorizedCard,
): DeclineCode | null {
  if (!controls || !isControlled(transaction)) return null
  const { objection, shadow } = controls
  if (shadow) trail.note({ check: 'shadow', result: 'failed', ...shadow })
  if (!objection) {
    trail.note({ check: 'controls', result: 'passed' })
    return null
  }
  const { responseCode } = declineRules[deciding.reasonsByControl[objection.control]]
  trail.note({ check: 'controls', result: 'failed', ...objection, responseCode })
  return responseCode
}

/** The verdict of limits on an approval before its commit. */
interface LimitVerdict {
  /** The answer, as far as it depends on no other transaction. */
  readonly verdict: Verdict
  /** The amounts to reserve with the answer; null if none. */
  readonly spending: NewSpending | null
}

/**
 * Compares an approval with the limits of its card, as far as they depend on no other transaction,
 * and lists what the others are to reserve (database/functions/limits/reserve-spending.sql).
 */
export function meetLimits(traced: TracedRequest, { controls }: AuthorizedCard): LimitVerdict {
  if (!controls) return { verdict: '00', spending: null }
  const { at, entryMode, trail, transaction } = traced
  const money = findCharge(transaction)
  const controlled = { ...transaction, entryMode, money, cashCharge: findCashCharge(transaction) }
  const met = deciding.meetLimits(controls, controlled, at)
  const [objection] = met.objections
  const isPartialAllowed = takesPart(traced)
  const part = objection && isPartialAllowed ? findAllowedPart(met) : null
  if (objection && !part) {
    const { control, declineReason, owner } = objection
    const { responseCode } = declineRules[declineReason]
    trail.note({ check: 'limits', result: 'failed', control, owner, responseCode })
    return { verdict: responseCode, spending: null }
  }
  const isShadowed = noteShadow(traced, met)
  const lockedBy = findLock(controls, controlled)
  const taking = deciding.takeAmount(controlled, controls.currency)
  const spending = {
    ...taking,
    basis: controls.limitBasis,
    limits: met.windows,
    lockTo: lockedBy && (transaction.merchant?.id ?? null),
    lockedBy,
    ...(isPartialAllowed && ({ isPartialAllowed } as const)),
  }
  if (part) {
    const { amount: approvedAmount, limit } = part
    trail.note({ check: 'limits', result: 'passed', control: limit.control, owner: limit.owner })
    return {
      verdict: { responseCode: '10', approvedAmount },
      spending: { ...spending, amount: approvedAmount, approvedAmount },
    }
  }
  const isCounted = met.windows.length > 0 || lockedBy !== null
  // Foreseen: if a limit refuses, the database replaces it.
  if (isCounted || isShadowed) trail.note({ check: 'limits', result: 'passed' })
  if (!isCounted) return { verdict: '00', spending: null }
  const foreseen = foreseeSpending(controls, met.windows, taking, spending.lockTo)
  return { verdict: '00', spending: { ...spending, ...(foreseen && { foreseen }) } }
}

/** Finds the part that the limits of one transaction leave; null if another objection stands. */
const findAllowedPart = ({ lowestMaximum, objections }: deciding.MetLimits) =>
  lowestMaximum !== null &&
  lowestMaximum.amount > 0 &&
  objections.every(({ declineReason }) => declineReason === 'amount_over_limit')
    ? lowestMaximum
    : null

/** An increment adds to an amount that the merchant has: no part of it is approved. */
export const takesPart = ({
  entryMode,
  increment,
  isPartialAllowed,
  transaction,
}: AuthorizationRequest): boolean =>
  isPartialAllowed === true && !increment && mayApprovePart(transaction, entryMode)

/**
 * Notes the first shadow limit that objects, whatever other transactions took.
 * @returns whether one does.
 */
function noteShadow({ trail }: TracedRequest, { shadowObjections }: deciding.MetLimits): boolean {
  const [first] = shadowObjections
  if (!first) return false
  const { control, owner } = first
  trail.note({ check: 'shadow', result: 'failed', control, owner })
  return true
}

/**
 * Foresees what the windows of a card become, so that the settlements of several cards can share a
 * statement. It is used only if the windows are the same then.
 * @returns null if a limit objects, or the card has not yet spent anything or is not yet locked.
 */
function foreseeSpending(
  { limitBasis: basis, spending: spent }: AppliedControls,
  windows: readonly deciding.MetLimit[],
  taking: Taking,
  lockTo: string | null,
): NewSpending['foreseen'] | null {
  if (!spent || (lockTo !== null && spent.lockedMerchant !== lockTo)) return null
  const before = spent.windows
  if (windows.some((limit) => findExcess(before, limit, taking) !== null)) return null
  const after = takeFrom(before, windows, taking)
  const starts = windows.map(({ window }) => [window, after[window]?.startsOn ?? ''])
  return { before, after, taken: { ...taking, windows: Object.fromEntries(starts), basis } }
}

const findLock = (
  controls: AppliedControls,
  transaction: TracedRequest['transaction'],
): NewSpending['lockedBy'] =>
  isControlled(transaction)
    ? (deciding.controlOwners.find((owner) => controls[owner]?.merchantLock) ?? null)
    : null
