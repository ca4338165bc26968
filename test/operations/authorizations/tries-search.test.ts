import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNightly } from '../../support/cases.ts'
import { countedAttempts } from './tries-algorithm.ts'
import { rules } from './tries-rules.ts'
import { answerIsReachable, search } from './tries-search.ts'
import { slips } from './tries-slips.ts'
import type { Bounds } from './tries-worlds.ts'

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
    const { broken, states, steps } = search(countedAttempts, each)
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
