import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGroupCommit } from '../../src/storage/group-commit.ts'

const togetherMaxMs = Number.POSITIVE_INFINITY

/** Turns on a connection whose disk takes what it is given when the test says so. */
function openHeld() {
  const syncs: PromiseWithResolvers<void>[] = []
  const asked: PromiseWithResolvers<void>[] = [Promise.withResolvers()]
  const { take } = createGroupCommit({
    sync: () => {
      const sync = Promise.withResolvers<void>()
      syncs.push(sync)
      asked.at(-1)?.resolve()
      asked.push(Promise.withResolvers())
      return sync.promise
    },
    togetherMaxMs,
  })
  const told: string[] = []
  const turn = (name: string, isUnsynced: boolean, fault?: Error) =>
    take(async () => {
      if (fault) throw fault
      return { result: name, isUnsynced }
    }).then(
      (result) => told.push(result),
      (error: Error) => told.push(error.message),
    )
  return {
    told,
    syncs,
    commit: (name: string) => turn(name, true),
    read: (name: string) => turn(name, false),
    fail: (name: string) => turn(name, false, new Error(name)),
    /** Resolves when the disk is asked for the first, second, … time. */
    isAsked: (time: number) => asked[time - 1]?.promise,
  }
}

test('what is committed at once is put on the disk at once, and told only then', async () => {
  const { commit, isAsked, syncs, told } = openHeld()
  const all = Promise.all(['a', 'b', 'c'].map(commit))
  await isAsked(1)
  assert.deepEqual(told, [])
  syncs[0]?.resolve()
  await all
  assert.deepEqual(told, ['a', 'b', 'c'])
  assert.equal(syncs.length, 1)
})

test('a read and a failure after a commit are not told before the disk has the commit', async () => {
  const { commit, fail, isAsked, read, syncs, told } = openHeld()
  const before = read('before')
  const all = [commit('commit'), read('read'), fail('failure')]
  await isAsked(1)
  await before
  assert.deepEqual(told, ['before'])
  syncs[0]?.resolve()
  await Promise.all(all)
  assert.deepEqual(told, ['before', 'commit', 'read', 'failure'])
  await read('after')
  assert.equal(syncs.length, 1, 'what only reads asks nothing of the disk')
})

test('what the disk refuses is told to nobody, and it is asked again for whoever comes next', async () => {
  const { commit, isAsked, read, syncs, told } = openHeld()
  const refused = [commit('first'), read('second')]
  await isAsked(1)
  syncs[0]?.reject(new Error('refused'))
  await Promise.all(refused)
  assert.deepEqual(told, ['refused', 'refused'])
  const next = read('third')
  await isAsked(2)
  assert.equal(told.length, 2)
  syncs[1]?.resolve()
  await next
  assert.deepEqual(told.slice(2), ['third'])
})

test('however many come after it, a commit does not wait for them for ever', async () => {
  let syncs = 0
  const { take } = createGroupCommit({
    sync: async () => {
      syncs += 1
    },
    togetherMaxMs: 0,
  })
  const turns = Array.from({ length: 5 }, () =>
    take(async () => ({ result: null, isUnsynced: true })),
  )
  await Promise.all(turns)
  assert.equal(syncs, 5)
})

test('turns come one after the other, in the order in which they were asked for', async () => {
  const { take } = createGroupCommit({ sync: async () => {} })
  const seen: string[] = []
  const turn = (name: string) =>
    take(async () => {
      seen.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`${name} ends`)
      return { result: name, isUnsynced: false }
    })
  assert.deepEqual(await Promise.all(['a', 'b'].map(turn)), ['a', 'b'])
  assert.deepEqual(seen, ['a begins', 'a ends', 'b begins', 'b ends'])
})
