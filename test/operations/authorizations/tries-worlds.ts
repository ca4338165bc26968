import type { Algorithm, Local, RequestStep } from './tries-algorithm.ts'
import {
  type Comparison,
  enter,
  type Kind,
  type Ledger,
  openLedger,
  type Step,
  type Transition,
  type View,
} from './tries-rules.ts'

/** What may be the case while tries are searched, and every step that leads from there. */

export type Bounds = {
  readonly limit: number
  /** What each request tries. */
  readonly requests: readonly Kind[]
  /** How many blocks and unblocks there may be, of the kinds that are tried. */
  readonly changes: number
}

type Request = {
  readonly local: Local
  /** Its next step. */
  readonly at: number
  readonly end: 'answered' | 'crashed' | null
  readonly isAged: boolean
}

export type World<Stored> = {
  readonly stored: Stored
  readonly ledgers: Readonly<Record<Kind, Ledger>>
  readonly requests: readonly Request[]
  readonly changesLeft: number
}

/** One edge: the world after it, and what is judged of it. */
export type Edge<Stored> = {
  readonly name: string
  readonly isCrash: boolean
  readonly world: World<Stored>
  readonly checked: readonly Transition[]
}

const kinds = ['pin', 'cvv'] as const
const comparisons: readonly Comparison[] = ['match', 'mismatch', 'unresolved']

export const beginning = <Stored extends object>(
  algorithm: Algorithm<Stored>,
  bounds: Bounds,
): World<Stored> => ({
  stored: algorithm.begin(bounds.limit),
  ledgers: { pin: openLedger(bounds.limit), cvv: openLedger(bounds.limit) },
  requests: bounds.requests.map((kind) => ({
    local: { kind, number: null, epoch: 0, comparison: null, read: null },
    at: 0,
    end: null,
    isAged: false,
  })),
  changesLeft: bounds.changes,
})

/**
 * Requests of one kind are told apart by nothing: worlds that differ by who is who are one state.
 */
export const keyOf = <Stored extends object>(world: World<Stored>): string => {
  const { changesLeft, ledgers, requests, stored } = world
  const who = requests.map((request, index) => {
    const { at, end, isAged, local } = request
    const { comparison, epoch, kind, number, read } = local
    const open = ledgers[kind].open[index]
    const lasts = open ? `${open.number} ${open.epoch} ${open.mayBeLost}` : ''
    return `${kind} ${number} ${epoch} ${comparison} ${read} ${at} ${end} ${isAged} ${lasts}`
  })
  const known = kinds.map((kind) => {
    const { blockedByClient, blockReported, epoch, outstanding, spent } = ledgers[kind]
    return `${epoch} ${spent} ${blockedByClient} ${blockReported} ${outstanding}`
  })
  const kept = Object.entries(stored).map(([name, part]) => `${name} ${textOf(part)}`)
  return `${kept.join('|')}|${known.join('|')}|${who.sort().join('|')}|${changesLeft}`
}

const numbersByText = new Map<string, number>()
const numbers = new WeakMap<object, number>()

/**
 * One number for all that is alike. Worlds share most of what they are made of: a part is written
 * out once.
 */
const numberOf = (part: object): number => {
  const known = numbers.get(part)
  if (known !== undefined) return known
  const text = JSON.stringify(part)
  const number = numbersByText.get(text) ?? numbersByText.size
  numbersByText.set(text, number)
  numbers.set(part, number)
  return number
}

const textOf = (part: unknown): string =>
  typeof part === 'object' && part !== null ? `#${numberOf(part)}` : String(part)

/** Every step that can be taken in a world. */
export function* edgesOf<Stored extends object>(
  algorithm: Algorithm<Stored>,
  world: World<Stored>,
): Generator<Edge<Stored>> {
  for (const index of world.requests.keys()) yield* requestEdges(algorithm, world, index)
  for (const kind of new Set(world.requests.map(({ local }) => local.kind))) {
    const { stored, recorded } = algorithm.sweep(world.stored, kind)
    yield edge(algorithm, world, kind, { act: 'sweep', recorded }, { stored })
    if (world.changesLeft === 0) continue
    const changesLeft = world.changesLeft - 1
    for (const act of ['block', 'unblock'] as const) {
      const changed = algorithm.change(world.stored, kind, act)
      const step = { act, recorded: [`${act}ed`] } as const
      yield edge(algorithm, world, kind, step, { stored: changed, changesLeft })
    }
  }
}

/** A request goes on, or crashes, or its attempt grows old. */
function* requestEdges<Stored extends object>(
  algorithm: Algorithm<Stored>,
  world: World<Stored>,
  index: number,
): Generator<Edge<Stored>> {
  const request = world.requests[index]
  if (!request) return
  const { kind, number } = request.local
  const by = `${index}`
  const step = algorithm.steps[request.at]
  if (request.end === null && step) yield* advance(algorithm, world, index, step)
  if (request.end === null && request.at > 0) {
    const requests = world.requests.with(index, ended(request, 'crashed'))
    yield edge(algorithm, world, kind, { act: 'crash', by }, { requests })
  }
  const { epoch, open } = world.ledgers[kind]
  if (number !== null && !request.isAged && open[index]?.epoch === epoch) {
    const requests = world.requests.with(index, { ...request, isAged: true })
    const stored = algorithm.age(world.stored, kind, number)
    yield edge(algorithm, world, kind, { act: 'lapse', by }, { stored, requests })
  }
}

/** What it knew is gone, but for the number by which its attempt grows old. */
const ended = (request: Request, end: 'answered' | 'crashed'): Request => ({
  local: {
    ...request.local,
    number: end === 'crashed' ? request.local.number : null,
    epoch: 0,
    comparison: null,
    read: null,
  },
  at: 0,
  end,
  isAged: end === 'crashed' && request.isAged,
})

/** A request takes its next step, if it need not wait. */
function* advance<Stored extends object>(
  algorithm: Algorithm<Stored>,
  world: World<Stored>,
  index: number,
  step: RequestStep<Stored>,
): Generator<Edge<Stored>> {
  const request = world.requests[index]
  if (!request) return
  const { kind } = request.local
  const by = `${index}`
  const next = (local: Local, end: Request['end']) =>
    world.requests.with(
      index,
      end ? ended(request, end) : { ...request, local, at: request.at + 1 },
    )
  if (step.act === 'compare') {
    for (const comparison of comparisons) {
      const requests = next({ ...request.local, comparison }, null)
      yield edge(algorithm, world, kind, { act: 'compare', by }, { requests }, comparison)
    }
    return
  }
  const taken = step.take(world.stored, request.local)
  if (!taken) return
  const { answer, local, stored } = taken
  const requests = next(local, answer ? 'answered' : null)
  const isSpend = step.act === 'spend'
  const { comparison } = local
  if (isSpend) {
    yield edge(
      algorithm,
      world,
      kind,
      { act: 'spend', by, number: local.number },
      { stored, requests },
    )
  } else if (answer && comparison) {
    yield edge(
      algorithm,
      world,
      kind,
      { act: 'settle', by, comparison, ...answer },
      { stored, requests },
    )
  } else {
    // Nothing that the rules speak of.
    yield {
      isCrash: false,
      name: `${step.act} ${by}`,
      world: { ...world, stored, requests },
      checked: [],
    }
  }
}

/** The world after a step of one kind, with what is seen of both kinds then. */
const edge = <Stored extends object>(
  algorithm: Algorithm<Stored>,
  world: World<Stored>,
  kind: Kind,
  step: Step,
  changed: Partial<World<Stored>>,
  detail = '',
): Edge<Stored> => {
  const before = world.ledgers[kind]
  const stored = changed.stored ?? world.stored
  const seenOf = (of: Stored, each: Kind): View => algorithm.view(of, each)
  const other = kinds.find((each) => each !== kind) ?? kind
  const view = seenOf(stored, kind)
  const seen =
    'recorded' in step && step.remaining === undefined
      ? { ...step, remaining: view.remaining }
      : step
  const after = enter(before, seen)
  return {
    isCrash: step.act === 'crash',
    name: `${step.act} ${'by' in step ? step.by : kind} ${detail}`.trim(),
    world: { ...world, ...changed, ledgers: { ...world.ledgers, [kind]: after } },
    checked: [
      {
        before,
        step: seen,
        after,
        view,
        otherKind:
          changed.stored && changed.stored !== world.stored
            ? { before: seenOf(world.stored, other), after: seenOf(stored, other) }
            : null,
      },
    ],
  }
}
