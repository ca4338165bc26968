import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNightly } from '../../support/cases.ts'
import { type Algorithm, outstandingTries } from './tries-algorithm.ts'
import { brokenRules, rules } from './tries-rules.ts'
import { slips } from './tries-slips.ts'
import { type Bounds, beginning, edgesOf, keyOf, type World } from './tries-worlds.ts'

type Finding = {
  readonly states: number
  readonly steps: number
  /** The first rules that were broken, with the shortest way there; null where all hold. */
  readonly broken: { readonly rules: readonly string[]; readonly way: readonly string[] } | null
}

/** No rule, but what makes them worth anything: every request is answered, whoever else crashes. */
const answerIsReachable = 'an answer is reachable for every request'

type Node<Stored> = {
  readonly world: World<Stored>
  readonly from: Node<Stored> | null
  readonly by: string
  readonly next: Node<Stored>[]
}

/**
 * Looks at every state that an algorithm of tries can get into within small bounds, breadth first,
 * and holds each step to the seven rules. Requests, crashes, blocks, unblocks, ageing and sweeps
 * come in every order; each comparison has every outcome.
 * @throws if there are more states than `statesMax`: the bounds are too wide.
 */
const search = <Stored extends object>(
  algorithm: Algorithm<Stored>,
  bounds: Bounds,
  statesMax = 500_000,
): Finding => {
  const { add, nodes } = knownNodes<Stored>(statesMax)
  add(beginning(algorithm, bounds), null, '')
  let steps = 0
  // Grows while it is walked through.
  for (const node of nodes) {
    for (const { isCrash, checked, name, world } of edgesOf(algorithm, node.world)) {
      steps += 1
      const rules = checked.flatMap(brokenRules)
      if (rules.length > 0) {
        return { states: nodes.length, steps, broken: { rules, way: [...wayTo(node), name] } }
      }
      const after = add(world, node, name)
      if (!isCrash) node.next.push(after)
    }
  }
  const stuck = findStuck(nodes)
  const broken = stuck && { rules: [answerIsReachable], way: wayTo(stuck) }
  return { states: nodes.length, steps, broken }
}

/** Each world once, by the way on which it was first met. */
const knownNodes = <Stored extends object>(statesMax: number) => {
  const nodes: Node<Stored>[] = []
  const byKey = new Map<string, Node<Stored>>()
  const add = (world: World<Stored>, from: Node<Stored> | null, by: string): Node<Stored> => {
    const key = keyOf(world)
    const known = byKey.get(key)
    if (known) return known
    const node: Node<Stored> = { world, from, by, next: [] }
    byKey.set(key, node)
    nodes.push(node)
    if (nodes.length > statesMax) throw new Error(`More than ${statesMax} states.`)
    return node
  }
  return { add, nodes }
}

const wayTo = <Stored>(node: Node<Stored>): string[] => {
  const way: string[] = []
  for (let at: Node<Stored> | null = node; at?.from; at = at.from) way.unshift(at.by)
  return way
}

/**
 * A state from which those that have not crashed by then are never all answered, whatever happens.
 */
const findStuck = <Stored>(nodes: readonly Node<Stored>[]): Node<Stored> | null => {
  const before = new Map<Node<Stored>, Node<Stored>[]>(nodes.map((node) => [node, []]))
  for (const node of nodes) for (const after of node.next) before.get(after)?.push(node)
  const isDone = ({ world }: Node<Stored>) => world.requests.every(({ end }) => end !== null)
  const reached = new Set(nodes.filter(isDone))
  // A set is walked through with what is added meanwhile.
  for (const node of reached) for (const earlier of before.get(node) ?? []) reached.add(earlier)
  return nodes.find((node) => !reached.has(node)) ?? null
}

/** Too many states for every push. */
const wide: readonly Bounds[] = [
  { limit: 3, requests: ['pin', 'pin', 'pin'], changes: 1 },
  { limit: 2, requests: ['pin', 'pin', 'pin'], changes: 2 },
  { limit: 1, requests: ['pin', 'pin', 'cvv'], changes: 1 },
]

const bounds: readonly Bounds[] = [
  { limit: 1, requests: ['pin', 'pin', 'pin'], changes: 1 },
  { limit: 2, requests: ['pin', 'pin', 'pin'], changes: 1 },
  { limit: 3, requests: ['pin', 'pin', 'pin'], changes: 0 },
  { limit: 1, requests: ['pin', 'pin'], changes: 3 },
  { limit: 2, requests: ['pin', 'cvv'], changes: 1 },
  ...(isNightly ? wide : []),
]

const describe = ({ changes, limit, requests }: Bounds): string =>
  `limit ${limit}, ${requests.join(' ')}, ${changes} blocks or unblocks`

for (const each of bounds) {
  test(`the seven rules hold in every state, and each request can be answered: ${describe(each)}`, (t) => {
    const { broken, states, steps } = search(outstandingTries, each)
    t.diagnostic(`${states} states, ${steps} steps`)
    assert.equal(broken, null)
    assert.ok(states > 500, 'what was searched is not next to nothing')
  })
}

const nameOf = (rule: number): string =>
  Object.keys(rules).find((name) => name.startsWith(`${rule} `)) ?? answerIsReachable

/** The narrowest bounds first: a slip shows by the shortest way. */
const narrow: readonly Bounds[] = [
  { limit: 1, requests: ['pin', 'cvv'], changes: 0 },
  { limit: 1, requests: ['pin', 'pin'], changes: 1 },
  { limit: 2, requests: ['pin', 'pin'], changes: 1 },
  { limit: 2, requests: ['pin', 'pin', 'pin'], changes: 1 },
]

for (const [slip, { algorithm, rule }] of Object.entries(slips)) {
  test(`${slip}: refuted by “${nameOf(rule)}”`, (t) => {
    const found = narrow.map((each) => search(algorithm, each)).find(({ broken }) => broken)
    t.diagnostic(found?.broken?.way.join(', ') ?? 'not refuted')
    assert.ok(found?.broken?.rules.includes(nameOf(rule)), JSON.stringify(found?.broken))
  })
}

test('every rule is one that some slip breaks', () => {
  const refuting = new Set(Object.values(slips).map(({ rule }) => nameOf(rule)))
  assert.deepEqual([...refuting].sort(), [...Object.keys(rules), answerIsReachable].sort())
})
