import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as settle } from 'node:timers/promises'
import { Problem } from '../../../src/domain/problem.ts'
import { createFairQueue } from '../../../src/operations/card-data/fair-queue.ts'

/** Work that begins when it is its turn, and ends when it is told to. */
const works = (queue: ReturnType<typeof createFairQueue>) => {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (subject: string, name: string) =>
    queue.run(subject, () => {
      begun.push(name)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.set(name, resolve)
      return promise
    })
  const end = async (name: string) => {
    ends.get(name)?.()
    await settle()
  }
  return { ask, begun, end }
}

test('of many who wait, each subject is next in its turn, however much one of them asks for', async () => {
  const { ask, begun, end } = works(createFairQueue({ runningMax: 2, waitingMaxPerClient: 10 }))
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map((name) => ask(name.slice(0, 1), name))
  assert.deepEqual(begun, ['a1', 'a2'])
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']) await end(name)
  await Promise.all(all)
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2'])
})

test('whoever waits with too much already is told to come back, and the others are not', async () => {
  const { ask, begun, end } = works(createFairQueue({ runningMax: 1, waitingMaxPerClient: 2 }))
  const all = ['a1', 'a2', 'a3'].map((name) => ask('a', name))
  await assert.rejects(
    ask('a', 'a4'),
    (error) => error instanceof Problem && error.headers['retry-after'] === '1',
  )
  all.push(ask('b', 'b1'))
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name)
  await Promise.all(all)
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3'])
})

test('a turn that fails is over, and the next one begins', async () => {
  const queue = createFairQueue({ runningMax: 1, waitingMaxPerClient: 1 })
  const failing = queue.run('a', () => Promise.reject(new Error('no')))
  const following = queue.run('a', () => Promise.resolve('done'))
  await assert.rejects(failing, /no/)
  assert.equal(await following, 'done')
  assert.equal(await queue.run('a', () => Promise.resolve('again')), 'again')
})
