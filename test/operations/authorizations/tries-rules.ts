/**
 * The seven rules about tries (docs/reference/authorizations.md, "Tries"), each a predicate over one step of
 * one card, and the ledger that they are judged by: what was spent, what was given back, and who
 * may still come. Neither knows how a service keeps its counters, nor how long it waits for a try
 * before it takes it for lost. Where the rules leave a choice, the ledger follows what was seen.
 */

export type Kind = 'pin' | 'cvv'
export type Comparison = 'match' | 'mismatch' | 'unresolved'
export type RecordedEvent = 'attempt_failed' | 'blocked' | 'unblocked'

/** A try that was spent and whose comparison has not been settled. */
type OpenTry = {
  readonly number: number
  readonly epoch: number
  /** So old that a service may take it for lost with its process; nobody knows whether it is. */
  readonly mayBeLost: boolean
}

/** One card and one kind. */
export type Ledger = {
  readonly limit: number
  readonly epoch: number
  /** The number of the latest try. */
  readonly spent: number
  readonly blockedByClient: boolean
  readonly blockReported: boolean
  /** Numbers of this epoch's tries that are spent and not given back. */
  readonly outstanding: readonly number[]
  /** By who asked. */
  readonly open: Readonly<Record<string, OpenTry>>
}

/** What was done, with what was seen of it. What cannot be seen is left out, and is not judged. */
export type Step =
  /** `number` is null where it was blocked. */
  | { readonly act: 'spend'; readonly by: string; readonly number?: number | null }
  | { readonly act: 'compare' | 'crash' | 'lapse'; readonly by: string }
  | ({ readonly act: 'settle'; readonly by: string; readonly comparison: Comparison } & Seen)
  | ({ readonly act: 'sweep' | 'block' | 'unblock' } & Seen)

type Seen = { readonly remaining?: number; readonly recorded: readonly RecordedEvent[] }

/** What can be asked of a kind at any moment. */
export type View = {
  readonly remaining: number
  /** The attempts on record. */
  readonly attempts: readonly { readonly number: number; readonly result: Comparison }[]
}

export type Transition = {
  readonly before: Ledger
  readonly step: Step
  readonly after: Ledger
  /** The views after the step, and those of the other kind around it; null where nobody looked. */
  readonly view: View | null
  readonly otherKind: { readonly before: View; readonly after: View } | null
}

export const openLedger = (limit: number): Ledger => ({
  limit,
  epoch: 1,
  spent: 0,
  blockedByClient: false,
  blockReported: false,
  outstanding: [],
  open: {},
})

export const remainingOf = ({ blockedByClient, limit, outstanding }: Ledger): number =>
  blockedByClient ? 0 : limit - outstanding.length

/** The ledger after a step. */
export const enter = (ledger: Ledger, step: Step): Ledger => {
  if (step.act === 'spend') return enterSpend(ledger, step)
  if (step.act === 'settle') return enterSettlement(ledger, step)
  if (step.act === 'lapse') {
    const open = ledger.open[step.by]
    return open
      ? { ...ledger, open: { ...ledger.open, [step.by]: { ...open, mayBeLost: true } } }
      : ledger
  }
  if (step.act === 'sweep')
    return { ...ledger, blockReported: ledger.blockReported || recordsBlock(step) }
  if (step.act === 'compare' || step.act === 'crash') return ledger
  const blockedByClient = step.act === 'block'
  const epoch = ledger.epoch + 1
  return { ...ledger, epoch, blockedByClient, blockReported: blockedByClient, outstanding: [] }
}

const enterSpend = (ledger: Ledger, { by, number }: Step & { act: 'spend' }): Ledger => {
  const isBlocked = number === undefined ? remainingOf(ledger) === 0 : number === null
  if (isBlocked) return ledger
  const spent = number ?? ledger.spent + 1
  return {
    ...ledger,
    spent,
    outstanding: [...ledger.outstanding, spent],
    open: { ...ledger.open, [by]: { number: spent, epoch: ledger.epoch, mayBeLost: false } },
  }
}

const enterSettlement = (ledger: Ledger, step: Step & { act: 'settle' }): Ledger => {
  const { [step.by]: own, ...open } = ledger.open
  if (!own) return ledger
  const blockReported = ledger.blockReported || recordsBlock(step)
  const left = ledger.outstanding.filter((number) => !givesBack(step.comparison, own, number))
  // One that may have been taken for lost costs its try as a crash does, or comes in time after
  // all.
  const isTakenForLost = own.mayBeLost && step.remaining === remainingOf(ledger)
  const outstanding = isOver(ledger, own) || isTakenForLost ? ledger.outstanding : left
  return { ...ledger, open, outstanding, blockReported }
}

const givesBack = (comparison: Comparison, own: OpenTry, number: number): boolean =>
  comparison === 'match'
    ? number <= own.number
    : comparison === 'unresolved' && number === own.number

/** A new epoch has begun, or its block was told: nothing is given back any more. */
const isOver = ({ blockReported, epoch }: Ledger, own: OpenTry): boolean =>
  own.epoch !== epoch || blockReported

const recordsBlock = ({ recorded }: Seen): boolean => recorded.includes('blocked')

/** What a settlement left, if that was seen, is what the ledger says. */
const leaves = ({ after, step }: Transition): boolean =>
  !('remaining' in step) || step.remaining === undefined || step.remaining === remainingOf(after)

const settles = ({ before, step }: Transition, comparison: Comparison): boolean => {
  const own = step.act === 'settle' ? before.open[step.by] : undefined
  return step.act === 'settle' && step.comparison === comparison && !!own && !isOver(before, own)
}

/** Whether somebody else's try of this epoch may still match, and is not so old as to be lost. */
const mayStillMatch = ({ epoch, open, outstanding }: Ledger): boolean =>
  Object.values(open).some(
    (each) => each.epoch === epoch && !each.mayBeLost && outstanding.includes(each.number),
  )

type Rule = (transition: Transition) => boolean

const spentBeforeCompared: Rule = ({ before, step }) => {
  if (step.act === 'compare' || step.act === 'settle') return step.by in before.open
  return step.act !== 'spend' || step.number == null || step.number > before.spent
}

const matchGivesBackUpToItsOwn: Rule = (transition) =>
  !settles(transition, 'match') || leaves(transition)

const newEpochEndsTheOld: Rule = (transition) => {
  const { after, before, step, view } = transition
  if (step.act === 'block' || step.act === 'unblock') {
    const expected = step.act === 'block' ? 0 : before.limit
    return (
      leaves(transition) && (!view || view.remaining === expected) && after.epoch > before.epoch
    )
  }
  const own = step.act === 'settle' ? before.open[step.by] : undefined
  return !own || own.epoch === before.epoch || (leaves(transition) && !recordsNewBlock(transition))
}

const silenceGivesBackOnce: Rule = (transition) => {
  const { after, step, view } = transition
  if (settles(transition, 'unresolved')) return leaves(transition)
  const costs = step.act === 'crash' || step.act === 'lapse' || step.act === 'sweep'
  return !costs || !view || view.remaining === remainingOf(after)
}

const noMoreComparisonsThanTries: Rule = (transition) => {
  const { after, before, step, view } = transition
  if (step.act === 'spend' && step.number !== undefined) {
    if ((step.number === null) !== (remainingOf(before) === 0)) return false
  }
  if (settles(transition, 'mismatch') && !leaves(transition)) return false
  return after.outstanding.length <= after.limit && (!view || view.remaining >= 0)
}

const kindsCountApart: Rule = ({ otherKind }) =>
  !otherKind ||
  otherKind.before === otherKind.after ||
  JSON.stringify(otherKind.before) === JSON.stringify(otherKind.after)

const onRecordAndReportedInTime: Rule = (transition) =>
  isRecorded(transition) && isReportedInTime(transition)

const isRecorded: Rule = ({ after, before, step, view }) => {
  if (!view) return true
  const resultOf = (number: number) => view.attempts.find((each) => each.number === number)?.result
  const own = step.act === 'settle' ? before.open[step.by] : undefined
  return (
    Object.values(after.open).every(({ number }) => resultOf(number) === 'unresolved') &&
    (!own || step.act !== 'settle' || resultOf(own.number) === step.comparison)
  )
}

const isReportedInTime: Rule = (transition) => {
  const { after, before, step, view } = transition
  const isUsedUp = !after.blockedByClient && remainingOf(after) === 0
  // Who was told of a block must not find the card unblocked by a try that came late.
  if (after.blockReported && view && view.remaining !== 0) return false
  if (recordsNewBlock(transition)) return !before.blockReported && isUsedUp && !mayStillMatch(after)
  const isDue =
    step.act === 'sweep'
      ? !mayStillMatch(after)
      : settles(transition, 'mismatch') && Object.keys(after.open).length === 0
  return !(isDue && isUsedUp && !after.blockReported)
}

const recordsNewBlock = ({ step }: Transition): boolean =>
  (step.act === 'settle' || step.act === 'sweep') && recordsBlock(step)

/** The seven, in the order of the document. */
export const rules = {
  '1 a try is spent and numbered before its value is compared': spentBeforeCompared,
  '2 a match gives back the tries up to its own, and no later one': matchGivesBackUpToItsOwn,
  '3 a block or unblock opens an epoch, in which older results change nothing': newEpochEndsTheOld,
  '4 silence gives its try back once, a crash never': silenceGivesBackOnce,
  '5 with n tries left there are n comparisons, at 0 none': noMoreComparisonsThanTries,
  '6 PIN and CVV count apart': kindsCountApart,
  '7 on record from its spend, and a block is told when no try can match':
    onRecordAndReportedInTime,
} satisfies Record<string, Rule>

const listed: readonly (readonly [string, Rule])[] = Object.entries(rules)

/** The rules that a step breaks. */
export const brokenRules = (transition: Transition): string[] =>
  listed.filter(([, holds]) => !holds(transition)).map(([name]) => name)
