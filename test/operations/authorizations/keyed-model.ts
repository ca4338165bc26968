/**
 * An authorization under an idempotency key, as a pure transition system: one card with one try,
 * one key, a first request and its repeats at two processes. Every step is one commit or none; a
 * commit may be lost before it is made, or its answer after it.
 */

/**
 * What a caller is answered with 200; `lost` and `silent` are both `96`, and differ in their
 * bodies.
 */
type Answer = '00' | '55' | '75' | 'lost' | 'silent'
type Comparison = 'match' | 'mismatch' | 'silent'

type Request = {
  readonly at: 'begin' | 'compare' | 'settle' | 'store' | 'repeat' | 'store lost' | 'end'
  /** Which is killed with all that it works on; the last of two never is. */
  readonly process: 0 | 1
  readonly claim: number | null
  readonly comparison: Comparison | null
  /** Null at the end: 409, 503 or no answer at all. */
  readonly answer: Answer | null
}

/** A try, and the claim that it was spent under. */
type Try = {
  readonly claim: number
  readonly state: 'open' | 'old' | 'spent' | 'restored'
}

export type World = {
  readonly record: {
    readonly claim: number
    readonly answer: Answer | null
    readonly isOld: boolean
  } | null
  readonly claims: number
  readonly tries: readonly Try[]
  readonly blockReported: boolean
  readonly comparisons: readonly { readonly claim: number; readonly comparison: Comparison }[]
  readonly answers: readonly {
    readonly claim: number
    readonly answer: Answer
    /** Whether the key was remembered under that claim when it was answered. */
    readonly isRemembered: boolean
  }[]
  readonly requests: readonly Request[]
  readonly faultsLeft: number
  readonly killsLeft: number
  readonly mayForget: boolean
}

/** What the algorithm in use does, and a wrong one does not. */
export type Algorithm = {
  /** The key commits with the spend, not after it. */
  readonly claimsWithSpend: boolean
  /** An answer is recorded only where none is. */
  readonly keepsFirst: boolean
  /** An answer is recorded under the claim that it belongs to. */
  readonly storesUnderClaim: boolean
  /** A first request that has not answered for long is lost. */
  readonly takesForLost: boolean
}

export const inUse: Algorithm = {
  claimsWithSpend: true,
  keepsFirst: true,
  storesUnderClaim: true,
  takesForLost: true,
}

export const beginning: World = {
  record: null,
  claims: 0,
  tries: [],
  blockReported: false,
  comparisons: [],
  answers: [],
  requests: ([0, 0, 1] as const).map((process) => ({
    at: 'begin',
    process,
    claim: null,
    comparison: null,
    answer: null,
  })),
  faultsLeft: 2,
  killsLeft: 1,
  mayForget: true,
}

export type Edge = { readonly name: string; readonly isFault: boolean; readonly world: World }

/** Every step that can be taken in a world. */
export function* edgesOf(algorithm: Algorithm, world: World): Generator<Edge> {
  for (const [index, request] of world.requests.entries()) {
    for (const [name, after] of stepsOf(algorithm, world, index, request)) {
      yield { name: `${name} ${index}`, isFault: false, world: after }
      const isCommit = name !== 'compare'
      if (!isCommit || world.faultsLeft === 0 || isLast(world, index)) continue
      const faultsLeft = world.faultsLeft - 1
      const failed = { ...world, faultsLeft, requests: ended(world, index) }
      yield { name: `${name} ${index}, not committed`, isFault: true, world: failed }
      const unheard = {
        ...after,
        faultsLeft,
        answers: world.answers,
        requests: ended(after, index),
      }
      yield { name: `${name} ${index}, answer lost`, isFault: true, world: unheard }
    }
  }
  if (world.killsLeft > 0) {
    const requests = world.requests.map((each) => (each.process === 0 ? end(each, null) : each))
    const killed = { ...world, requests, killsLeft: world.killsLeft - 1 }
    yield { name: 'kill', isFault: true, world: killed }
  }
  for (const [name, after] of passingOf(world)) yield { name, isFault: false, world: after }
}

/** Time passes, and sweeps run. */
function* passingOf(world: World): Generator<readonly [string, World]> {
  const { blockReported, mayForget, record, tries } = world
  if (record && !record.answer && !record.isOld) {
    yield ['the key grows old', { ...world, record: { ...record, isOld: true } }]
  }
  if (record && mayForget)
    yield ['the key is forgotten', { ...world, record: null, mayForget: false }]
  if (tries.some(({ state }) => state === 'open')) {
    const aged = tries.map((each) =>
      each.state === 'open' ? { ...each, state: 'old' as const } : each,
    )
    yield ['the try grows old', { ...world, tries: aged }]
  }
  const isPending = tries.some(({ state }) => state === 'open')
  if (isUsedUp(world) && !isPending && !blockReported)
    yield ['sweep', { ...world, blockReported: true }]
}

const isUsedUp = ({ tries }: World): boolean => tries.some(({ state }) => state !== 'restored')

/** The last request asks again until it is answered, and nothing befalls it. */
const isLast = ({ requests }: World, index: number): boolean => index === requests.length - 1

const end = (request: Request, answer: Answer | null): Request => ({
  ...request,
  at: 'end',
  claim: null,
  comparison: null,
  answer: answer ?? request.answer,
})

const ended = (world: World, index: number): readonly Request[] =>
  world.requests.map((each, at) => (at === index ? end(each, null) : each))

type Step = readonly [string, World]

function* stepsOf(
  algorithm: Algorithm,
  world: World,
  index: number,
  request: Request,
): Generator<Step> {
  const goOn = (changed: Partial<Request>, others: Partial<World> = {}): World => ({
    ...world,
    ...others,
    requests: world.requests.with(index, { ...request, ...changed }),
  })
  const { record } = world
  if (request.at === 'begin') yield* begin(algorithm, world, index, request)
  if (request.at === 'compare' && request.claim !== null) {
    for (const comparison of ['match', 'mismatch', 'silent'] as const) {
      const comparisons = [...world.comparisons, { claim: request.claim, comparison }]
      yield ['compare', goOn({ at: 'settle', comparison }, { comparisons })]
    }
  }
  if (request.at === 'settle') {
    const settled = settleTry(world, request)
    // What is left was foreseen, so that the answer could be sealed before; or not.
    yield ['settle', { ...settled, requests: goOn({ at: 'store' }).requests }]
    yield ['settle and store', store(algorithm, settled, index, answerOf(request))]
  }
  if (request.at === 'store') yield ['store', store(algorithm, world, index, answerOf(request))]
  if (request.at === 'store lost') yield ['store lost', store(algorithm, world, index, 'lost')]
  if (request.at !== 'repeat') return
  if (record?.answer) yield ['replay', answer(world, index, record.claim, record.answer)]
  else if (record?.isOld && algorithm.takesForLost) {
    yield ['take for lost', goOn({ at: 'store lost', claim: record.claim })]
  } else yield ['give up', giveUp(world, index, request)]
}

/** The caller is refused, and the last one asks again. */
const giveUp = (world: World, index: number, request: Request): World => ({
  ...world,
  requests: world.requests.with(
    index,
    isLast(world, index) ? { ...request, at: 'begin', claim: null } : end(request, null),
  ),
})

function* begin(
  { claimsWithSpend }: Algorithm,
  world: World,
  index: number,
  request: Request,
): Generator<Step> {
  const moveTo = (changed: Partial<Request>): readonly Request[] =>
    world.requests.with(index, { ...request, ...changed })
  if (world.record && (claimsWithSpend || world.record.answer)) {
    yield ['find the key', { ...world, requests: moveTo({ at: 'repeat' }) }]
    return
  }
  const claim = claimsWithSpend ? world.claims + 1 : 1
  const record = { claim, answer: null, isOld: false }
  const claimed = { ...world, record, claims: claim }
  if (isUsedUp(world)) {
    yield ['claim, blocked', { ...claimed, requests: moveTo({ at: 'store', claim }) }]
    // Where none was left when the card was read the answer commits with the claim.
    const blocked = { ...claimed, record: { ...record, answer: '75' as const } }
    yield ['claim and answer', answer(blocked, index, claim, '75')]
    return
  }
  const tries = [...world.tries, { claim, state: 'open' as const }]
  yield ['claim and spend', { ...claimed, tries, requests: moveTo({ at: 'compare', claim }) }]
}

const answerOf = ({ comparison }: Request): Answer =>
  comparison === null
    ? '75'
    : ({ match: '00', mismatch: '55', silent: 'silent' } as const)[comparison]

/** A match and silence give the try back, unless its block was reported. */
function settleTry(world: World, { claim, comparison }: Request): World {
  const moved = comparison === 'mismatch' || world.blockReported ? 'spent' : 'restored'
  const tries = world.tries.map((each) => (each.claim === claim ? { ...each, state: moved } : each))
  const isReported = comparison === 'mismatch' || world.blockReported
  return { ...world, tries, blockReported: isReported } as World
}

function store(algorithm: Algorithm, world: World, index: number, own: Answer): World {
  const { record } = world
  const claim = world.requests[index]?.claim ?? 0
  const isOurs = record && (record.claim === claim || !algorithm.storesUnderClaim)
  // Nobody knows what its repeats were answered.
  if (!isOurs) return answer(world, index, claim, 'lost')
  const first = (algorithm.keepsFirst && record.answer) || own
  return answer({ ...world, record: { ...record, answer: first } }, index, record.claim, first)
}

function answer(world: World, index: number, claim: number, given: Answer): World {
  const request = world.requests[index]
  const isRemembered = world.record?.claim === claim
  return {
    ...world,
    answers: [...world.answers, { claim, answer: given, isRemembered }],
    requests: request ? world.requests.with(index, end(request, given)) : world.requests,
  }
}
