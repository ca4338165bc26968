/**
 * The seven rules about tries (contract, section 10) as a pure model of one card and one kind: what
 * each step may be answered and tell, and what it leaves.
 */

/** A try that was spent and whose comparison has not been settled. */
type OpenTry = { readonly number: number; readonly epoch: number; readonly lost: boolean }

export type TriesState = {
  readonly limit: number
  readonly epoch: number
  /** How many were ever spent: the number of the latest. */
  readonly spent: number
  readonly blockedByClient: boolean
  readonly blockTold: boolean
  /** Numbers of this epoch's tries that are spent and not given back. */
  readonly outstanding: readonly number[]
  /** Tries in flight, by who asked. */
  readonly open: Readonly<Record<string, OpenTry>>
  /** Types of the events so far. */
  readonly told: readonly string[]
}

export type Comparison = 'match' | 'mismatch' | 'unresolved'

export type Step =
  | { readonly act: 'spend'; readonly by: string }
  | { readonly act: 'settle'; readonly by: string; readonly comparison: Comparison }
  /** Thirty seconds pass, and the sweep comes by. */
  | { readonly act: 'lose' }
  | { readonly act: 'unblock' }
  | { readonly act: 'block' }

/** What a step answers: of a spend only whether it was blocked. */
export type Outcome = { readonly result: string; readonly remaining: number }

export const freshTries = (limit: number): TriesState => ({
  limit,
  epoch: 1,
  spent: 0,
  blockedByClient: false,
  blockTold: false,
  outstanding: [],
  open: {},
  told: [],
})

export const remainingOf = ({ blockedByClient, limit, outstanding }: TriesState): number =>
  blockedByClient ? 0 : limit - outstanding.length

/** Takes one step. @returns the state after it and what it answers. */
export const takeStep = (state: TriesState, step: Step): readonly [TriesState, Outcome] => {
  if (step.act === 'spend') return spend(state, step.by)
  if (step.act === 'settle') return settle(state, step.by, step.comparison)
  if (step.act === 'lose') return lose(state)
  const isBlock = step.act === 'block'
  const after: TriesState = {
    ...state,
    epoch: state.epoch + 1,
    blockedByClient: isBlock,
    blockTold: isBlock,
    outstanding: [],
    told: [...state.told, isBlock ? 'blocked' : 'unblocked'],
  }
  return [after, { result: step.act, remaining: remainingOf(after) }]
}

const spend = (state: TriesState, by: string): readonly [TriesState, Outcome] => {
  if (remainingOf(state) === 0) return [state, { result: 'blocked', remaining: 0 }]
  const number = state.spent + 1
  const after = {
    ...state,
    spent: number,
    outstanding: [...state.outstanding, number],
    open: { ...state.open, [by]: { number, epoch: state.epoch, lost: false } },
  }
  return [after, { result: 'unresolved', remaining: remainingOf(after) }]
}

const settle = (
  state: TriesState,
  by: string,
  comparison: Comparison,
): readonly [TriesState, Outcome] => {
  const { [by]: own, ...open } = state.open
  if (!own) throw new Error(`${by} has no try in flight.`)
  const isOver = own.epoch !== state.epoch || state.blockTold
  const givesBack = (number: number): boolean =>
    !isOver &&
    (comparison === 'match'
      ? number <= own.number
      : comparison === 'unresolved' && number === own.number)
  const outstanding = state.outstanding.filter((number) => !givesBack(number))
  const settled = { ...state, open, outstanding }
  const told = comparison === 'mismatch' ? [...state.told, 'attempt_failed'] : state.told
  const mayStillMatch = Object.values(open).some(
    ({ epoch, lost, number }) => epoch === state.epoch && !lost && outstanding.includes(number),
  )
  const isBlock =
    comparison === 'mismatch' && !isOver && remainingOf(settled) === 0 && !mayStillMatch
  const after = {
    ...settled,
    blockTold: state.blockTold || isBlock,
    told: isBlock ? [...told, 'blocked'] : told,
  }
  return [after, { result: comparison, remaining: remainingOf(after) }]
}

const lose = (state: TriesState): readonly [TriesState, Outcome] => {
  const open = Object.fromEntries(
    Object.entries(state.open).map(([by, each]) => [by, { ...each, lost: true }]),
  )
  const isBlock = remainingOf(state) === 0 && !state.blockTold
  const told = isBlock ? [...state.told, 'blocked'] : state.told
  const after = { ...state, open, told, blockTold: state.blockTold || isBlock }
  return [after, { result: 'lose', remaining: remainingOf(after) }]
}
