import type { Algorithm } from './tries-algorithm.ts'
import { brokenRules } from './tries-rules.ts'
import { type Bounds, beginning, edgesOf, keyOf, type World } from './tries-worlds.ts'

/**
 * Looks at every state that an algorithm of tries can get into within small bounds, breadth first, and
 * holds each step to the seven rules. Requests, crashes, blocks, unblocks, ageing and sweeps come in
 * every order; each comparison has every outcome.
 */

export type Finding = {
  readonly states: number
  readonly steps: number
  /** The first rules that were broken, with the shortest way there; null where all hold. */
  readonly broken: { readonly rules: readonly string[]; readonly way: readonly string[] } | null
}

/** No rule, but what makes them worth anything: every request is answered, whoever else crashes. */
export const answerIsReachable = 'an answer is reachable for every request'

type Node<Stored> = {
  readonly world: World<Stored>
  readonly from: Node<Stored> | null
  readonly by: string
  readonly next: Node<Stored>[]
}

/** @throws if there are more states than `statesMax`: the bounds are too wide. */
export const search = <Stored extends object>(
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

/** A state from which those that have not crashed by then are never all answered, whatever happens. */
const findStuck = <Stored>(nodes: readonly Node<Stored>[]): Node<Stored> | null => {
  const before = new Map<Node<Stored>, Node<Stored>[]>(nodes.map((node) => [node, []]))
  for (const node of nodes) for (const after of node.next) before.get(after)?.push(node)
  const isDone = ({ world }: Node<Stored>) => world.requests.every(({ end }) => end !== null)
  const reached = new Set(nodes.filter(isDone))
  // A set is walked through with what is added meanwhile.
  for (const node of reached) for (const earlier of before.get(node) ?? []) reached.add(earlier)
  return nodes.find((node) => !reached.has(node)) ?? null
}
