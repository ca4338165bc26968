import type { Comparison, Kind, RecordedEvent, View } from './tries-rules.ts'

/**
 * How tries are kept, as a pure transition system: what is stored of one card, and each atomic step of
 * a request as a function of it. First the form that any algorithm takes, then the one in use, whose
 * steps are the transactions of `src/storage/cards` and `src/operations/authorizations`.
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
export type Taken<Stored> = {
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

export type Attempt = {
  readonly number: number
  readonly epoch: number
  readonly result: Comparison
  readonly restored: boolean
  readonly isOld: boolean
}

/** A row of `try_counter` with the rows of `attempt` that belong to it. */
export type Counter = {
  readonly limit: number
  readonly spent: number
  readonly restored: number
  readonly epoch: number
  readonly blockReported: boolean
  readonly attempts: readonly Attempt[]
}

export type Card = Readonly<Record<Kind, Counter>>

export const left = ({ limit, restored, spent }: Counter): number => limit - (spent - restored)

/** Puts one counter's new state into the card. */
export const put = (card: Card, kind: Kind, changed: Partial<Counter>): Card => ({
  ...card,
  [kind]: { ...card[kind], ...changed },
})

/** Whether a try of this epoch may still turn out to match. */
export const isAttemptPending = ({ attempts, epoch }: Counter): boolean =>
  attempts.some(
    (each) => each.epoch === epoch && each.result === 'unresolved' && !each.restored && !each.isOld,
  )

export const spend: Act<Card> = (card, local) => {
  const counter = card[local.kind]
  if (left(counter) <= 0) return { stored: card, local, answer: { remaining: 0, recorded: [] } }
  const number = counter.spent + 1
  const { epoch } = counter
  const attempt = { number, epoch, result: 'unresolved', restored: false, isOld: false } as const
  const attempts = [...counter.attempts, attempt]
  return {
    stored: put(card, local.kind, { spent: number, attempts }),
    local: { ...local, number, epoch },
  }
}

/** Gives back each attempt that is chosen, once, and counts them. */
export const giveBack = (counter: Counter, isChosen: (attempt: Attempt) => boolean): Counter => {
  const chosen = counter.attempts.filter((each) => !each.restored && isChosen(each))
  return {
    ...counter,
    restored: counter.restored + chosen.length,
    attempts: counter.attempts.map((each) =>
      chosen.includes(each) ? { ...each, restored: true } : each,
    ),
  }
}

export const restore = (counter: Counter, { comparison, epoch, number }: Local): Counter => {
  const own = number ?? 0
  const ofEpoch = counter.attempts.filter((each) => each.epoch === epoch)
  const lastMatch = ofEpoch.findLast((each) => each.number < own && each.result === 'match')
  if (comparison === 'unresolved') return giveBack(counter, (each) => each.number === own)
  const after = comparison === 'match' ? (lastMatch?.number ?? 0) : own
  return giveBack(
    counter,
    (each) => each.epoch === epoch && each.number > after && each.number <= own,
  )
}

export const settle: Act<Card> = (card, local) => {
  const stored = card[local.kind]
  const isOver = local.epoch !== stored.epoch || stored.blockReported
  const counter = isOver ? stored : restore(stored, local)
  const attempts = resolved(counter, local)
  const isBlock =
    local.comparison === 'mismatch' &&
    !isOver &&
    left(counter) === 0 &&
    !isAttemptPending({ ...counter, attempts })
  const blockReported = stored.blockReported || isBlock
  return {
    stored: put(card, local.kind, { ...counter, attempts, blockReported }),
    local,
    answer: {
      remaining: left(counter),
      recorded: [
        ...(local.comparison === 'mismatch' ? (['attempt_failed'] as const) : []),
        ...(isBlock ? (['blocked'] as const) : []),
      ],
    },
  }
}

export const resolved = ({ attempts }: Counter, { comparison, number }: Local): Attempt[] =>
  attempts.map((each) =>
    each.number === number ? { ...each, result: comparison ?? 'unresolved' } : each,
  )

export const sweep: Sweep<Card> = (card, kind) => {
  const counter = card[kind]
  const isDue = !counter.blockReported && left(counter) === 0 && !isAttemptPending(counter)
  return isDue
    ? { stored: put(card, kind, { blockReported: true }), recorded: ['blocked'] }
    : { stored: card, recorded: [] }
}

export const change: Algorithm<Card>['change'] = (card, kind, act) => {
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
  attempts: [],
})

/** The algorithm in use (docs/decisions/0007-tries.md). */
export const countedAttempts: Algorithm<Card> = {
  begin: (limit) => ({ pin: freshCounter(limit), cvv: freshCounter(limit) }),
  steps: [{ act: 'spend', take: spend }, { act: 'compare' }, { act: 'settle', take: settle }],
  change,
  sweep,
  age: (card, kind, number) =>
    put(card, kind, {
      attempts: card[kind].attempts.map((each) =>
        each.number === number ? { ...each, isOld: true } : each,
      ),
    }),
  view: (card, kind) => ({
    remaining: left(card[kind]),
    attempts: card[kind].attempts.map(({ number, result }) => ({ number, result })),
  }),
}
