import type { Comparison, Kind, RecordedEvent, View } from './tries-rules.ts'

/**
 * How tries are kept, as a pure transition system: what is stored of one card, and each atomic step
 * of a request as a function of it. First the form that any algorithm takes, then the one in use,
 * whose steps are the statements of `src/storage/cards`. Each of them locks the counter's row, and
 * then looks at nothing but that row as it is under its lock: a step here is atomic because of
 * that.
 */

/** What a request knows of itself between its steps. */
export type Local = {
  readonly kind: Kind
  readonly number: number | null
  readonly epoch: number
  readonly comparison: Comparison | null
  /** What it read in an earlier step, and still believes. */
  readonly read: number | null
}

/** What a step leaves, and what the request is answered if it ends with it. */
type Taken<Stored> = {
  readonly stored: Stored
  readonly local: Local
  readonly answer?: { readonly remaining: number; readonly recorded: readonly RecordedEvent[] }
}

/** One transaction; null where it has to wait for somebody else. */
export type Act<Stored> = (stored: Stored, local: Local) => Taken<Stored> | null

/** A transaction, or the HSM's comparison, which changes nothing that is stored. */
export type RequestStep<Stored> =
  | { readonly act: 'compare' }
  | { readonly act: 'read' | 'spend' | 'settle'; readonly take: Act<Stored> }

type Sweep<Stored> = (
  stored: Stored,
  kind: Kind,
) => { readonly stored: Stored; readonly recorded: readonly RecordedEvent[] }

export type Algorithm<Stored> = {
  readonly begin: (limit: number) => Stored
  /** What a request does, in this order. It ends at the first answer. */
  readonly steps: readonly RequestStep<Stored>[]
  /** A block by the client, or an unblock. */
  readonly change: (stored: Stored, kind: Kind, act: 'block' | 'unblock') => Stored
  readonly sweep: Sweep<Stored>
  /** Time passes: an attempt is now so old that it is taken for lost. */
  readonly age: (stored: Stored, kind: Kind, number: number) => Stored
  readonly view: (stored: Stored, kind: Kind) => View
}

/** A try of this epoch that is spent and was not given back. */
export type Outstanding = {
  readonly number: number
  /** Null from when it is known not to match. An old one was lost with its process. */
  readonly open: 'new' | 'old' | null
}

/** A row of `try_counter` with the rows of `attempt` that belong to it. */
export type Counter = {
  readonly limit: number
  readonly spent: number
  readonly restored: number
  readonly epoch: number
  readonly blockReported: boolean
  /** In the order in which they were spent; what an older epoch left goes with the next spend. */
  readonly outstanding: readonly Outstanding[]
  /** The record: nothing is decided by it. */
  readonly attempts: readonly { readonly number: number; readonly result: Comparison }[]
}

export type Card = Readonly<Record<Kind, Counter>>

export const left = ({ limit, restored, spent }: Counter): number => limit - (spent - restored)

/** Puts one counter's new state into the card. */
export const put = (card: Card, kind: Kind, changed: Partial<Counter>): Card => ({
  ...card,
  [kind]: { ...card[kind], ...changed },
})

/** Whether a try of this epoch may still turn out to match. */
export const isPending = ({ outstanding }: Counter): boolean =>
  outstanding.some(({ open }) => open === 'new')

export const spend: Act<Card> = (card, local) => {
  const counter = card[local.kind]
  if (left(counter) <= 0) return { stored: card, local, answer: { remaining: 0, recorded: [] } }
  const number = counter.spent + 1
  const { attempts, epoch, restored, spent } = counter
  // A block or an unblock leaves nothing outstanding, whatever stands there yet.
  const before = spent === restored ? [] : counter.outstanding
  return {
    stored: put(card, local.kind, {
      spent: number,
      outstanding: [...before, { number, open: 'new' }],
      attempts: [...attempts, { number, result: 'unresolved' }],
    }),
    local: { ...local, number, epoch },
  }
}

/** Gives back each outstanding try that is chosen, and counts them. */
export const giveBack = (
  counter: Counter,
  isChosen: (outstanding: Outstanding) => boolean,
): Counter => {
  const outstanding = counter.outstanding.filter((each) => !isChosen(each))
  const restored = counter.restored + counter.outstanding.length - outstanding.length
  return { ...counter, restored, outstanding }
}

/** What a result moves in its own epoch. */
export const count = (counter: Counter, { comparison, number }: Local): Counter => {
  const own = number ?? 0
  if (comparison === 'match') return giveBack(counter, (each) => each.number <= own)
  if (comparison === 'unresolved') return giveBack(counter, (each) => each.number === own)
  const outstanding = counter.outstanding.map((each) =>
    each.number === own ? { ...each, open: null } : each,
  )
  return { ...counter, outstanding }
}

export const settle: Act<Card> = (card, local) => {
  const stored = card[local.kind]
  const isOver = local.epoch !== stored.epoch || stored.blockReported
  const counter = isOver ? stored : count(stored, local)
  const isMismatch = local.comparison === 'mismatch'
  const isBlock = isMismatch && !isOver && left(counter) === 0 && !isPending(counter)
  return {
    stored: put(card, local.kind, {
      ...counter,
      attempts: resolved(counter, local),
      blockReported: stored.blockReported || isBlock,
    }),
    local,
    answer: {
      remaining: left(counter),
      recorded: [
        ...(isMismatch ? (['attempt_failed'] as const) : []),
        ...(isBlock ? (['blocked'] as const) : []),
      ],
    },
  }
}

export const resolved = (
  { attempts }: Counter,
  { comparison, number }: Local,
): Counter['attempts'] =>
  attempts.map((each) =>
    each.number === number ? { ...each, result: comparison ?? 'unresolved' } : each,
  )

const sweep: Sweep<Card> = (card, kind) => {
  const counter = card[kind]
  const isDue = !counter.blockReported && left(counter) === 0 && !isPending(counter)
  return isDue
    ? { stored: put(card, kind, { blockReported: true }), recorded: ['blocked'] }
    : { stored: card, recorded: [] }
}

/**
 * What is outstanding stays as it stands: the statements of a block and an unblock know nothing of
 * it.
 */
const change: Algorithm<Card>['change'] = (card, kind, act) => {
  const { epoch, limit, restored, spent } = card[kind]
  const moved = act === 'unblock' ? { restored: spent } : { spent: restored + limit }
  return put(card, kind, { ...moved, epoch: epoch + 1, blockReported: act === 'block' })
}

const freshCounter = (limit: number): Counter => ({
  limit,
  spent: 0,
  restored: 0,
  epoch: 1,
  blockReported: false,
  outstanding: [],
  attempts: [],
})

/** The algorithm in use (docs/decisions/0007-tries.md, 0022-authorization-in-three.md). */
export const outstandingTries: Algorithm<Card> = {
  begin: (limit) => ({ pin: freshCounter(limit), cvv: freshCounter(limit) }),
  steps: [{ act: 'spend', take: spend }, { act: 'compare' }, { act: 'settle', take: settle }],
  change,
  sweep,
  age: (card, kind, number) =>
    put(card, kind, {
      outstanding: card[kind].outstanding.map((each) =>
        each.number === number && each.open ? { ...each, open: 'old' } : each,
      ),
    }),
  view: (card, kind) => ({
    remaining: left(card[kind]),
    attempts: card[kind].attempts,
  }),
}
