import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Algorithm, beginning, edgesOf, inUse, type World } from './keyed-model.ts'

/** What holds of every world that an authorization under a key can get into. */
const promises: Readonly<Record<string, (world: World) => boolean>> = {
  'a key compares once at most, and spends once at most': ({ comparisons, tries }) =>
    isDistinct(comparisons.map(({ claim }) => claim)) &&
    isDistinct(tries.map(({ claim }) => claim)),
  'a key has one answer, and who comes after its day is answered that it was lost': ({ answers }) =>
    answers.every(({ answer, claim, isRemembered }) =>
      isRemembered
        ? answers.every(
            (each) => each.claim !== claim || !each.isRemembered || each.answer === answer,
          )
        : answer === 'lost',
    ),
  'nothing is approved but by a match, nor refused but by a mismatch': ({ answers, comparisons }) =>
    answers.every(({ answer, claim }) => {
      const needed = answer === '00' ? 'match' : answer === '55' ? 'mismatch' : null
      return (
        !needed || comparisons.some((each) => each.claim === claim && each.comparison === needed)
      )
    }),
  'a mismatch stays spent, and at most one try is out': ({ comparisons, tries }) =>
    tries.filter(({ state }) => state !== 'restored').length <= 1 &&
    tries.every(
      ({ claim, state }) =>
        state !== 'restored' ||
        comparisons.some((each) => each.claim === claim && each.comparison !== 'mismatch'),
    ),
}

const isDistinct = (values: readonly number[]): boolean => new Set(values).size === values.length

const alwaysAnswered = 'who asks until there is an answer gets one in the end'

type Node = {
  readonly world: World
  readonly from: Node | null
  readonly by: string
  /** Where it leads without a fault. */
  readonly next: Node[]
}

const search = (algorithm: Algorithm) => {
  const nodes: Node[] = []
  const known = new Map<string, Node>()
  const add = (world: World, from: Node | null, by: string): Node => {
    const key = JSON.stringify(world)
    const node = known.get(key) ?? { world, from, by, next: [] }
    if (!known.has(key)) nodes.push(node)
    known.set(key, node)
    return node
  }
  add(beginning, null, '')
  // Grows while it is walked through.
  for (const node of nodes) {
    assert.ok(nodes.length < 500_000, 'the bounds are too wide')
    const broken = Object.keys(promises).filter((name) => !promises[name]?.(node.world))
    if (broken.length > 0) return { states: nodes.length, broken, way: wayTo(node) }
    for (const { isFault, name, world } of edgesOf(algorithm, node.world)) {
      const after = add(world, node, name)
      if (!isFault) node.next.push(after)
    }
  }
  const stuck = findStuck(nodes)
  return { states: nodes.length, broken: stuck ? [alwaysAnswered] : [], way: wayTo(stuck) }
}

const wayTo = (node: Node | null): string[] => (node?.from ? [...wayTo(node.from), node.by] : [])

/** A world from which the last request is never answered. */
const findStuck = (nodes: readonly Node[]): Node | null => {
  const before = new Map<Node, Node[]>(nodes.map((node) => [node, []]))
  for (const node of nodes) for (const after of node.next) before.get(after)?.push(node)
  const reached = new Set(nodes.filter(({ world }) => world.requests.at(-1)?.answer))
  // A set is walked through with what is added meanwhile.
  for (const node of reached) for (const earlier of before.get(node) ?? []) reached.add(earlier)
  return nodes.find((node) => !reached.has(node)) ?? null
}

test('a keyed authorization keeps its guarantees in every state, after any loss', (t) => {
  const { broken, states, way } = search(inUse)
  t.diagnostic(`${states} states`)
  assert.deepEqual(broken, [], way.join(', '))
  assert.ok(states > 5_000, 'what was searched is not next to nothing')
})

/** Wrong algorithms, each by one slip that is easily made, and the promise that refutes it. */
const slips: readonly (readonly [keyof Algorithm, string, RegExp])[] = [
  ['claimsWithSpend', 'the key is claimed after the spend', /compares once/],
  ['keepsFirst', 'a later answer is recorded over the first', /one answer/],
  ['storesUnderClaim', 'an answer is recorded under whatever claim the key has', /but by a match/],
  ['takesForLost', 'a first request is never taken for lost', /in the end/],
]

for (const [part, slip, promise] of slips) {
  test(`${slip}: refuted by a promise`, (t) => {
    const { broken, way } = search({ ...inUse, [part]: false })
    t.diagnostic(way.join(', '))
    assert.match(broken.join(), promise)
  })
}
