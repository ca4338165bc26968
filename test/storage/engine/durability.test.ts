import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { statement } from '../../../src/storage/engine/database.ts'
import { createGroupCommit } from '../../../src/storage/engine/group-commit.ts'
import { openPglite } from '../../../src/storage/engine/pglite.ts'
import { openTestPglite } from '../../support/pglite.ts'

const insert = statement('insert_kept', 'insert into kept (text) values ($1)')
const claim = statement(
  'claim_key_by_function',
  'select claim_idempotency_key($1, $2::bytea[], $3::bytea, $4::uuid, null::bytea)',
)
const count = statement('count_kept', 'select count(*)::int as "rows" from kept')

/** Stands between this process and the disk, and sees every file that is to be on it. */
function watchDisk(t: TestContext, onSync: (descriptor: number) => void): void {
  const { fsyncSync } = fs
  t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
    onSync(descriptor)
    fsyncSync(descriptor)
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
}

async function openInFolder(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-durability-'))
  t.after(() => rm(folder, { recursive: true }))
  const database = await openTestPglite({ folder })
  t.after(() => database.close().catch(() => undefined))
  await database.script('create table kept (text text)')
  return { database, folder }
}

const logFiles = (folder: string): Set<number> =>
  new Set(
    fs
      .readdirSync(join(folder, 'pg_wal'))
      .map((name) => fs.statSync(join(folder, 'pg_wal', name)).ino),
  )

test('the embedded database acknowledges a commit only when it is on the disk', async (t) => {
  const { database, folder } = await openInFolder(t)
  let syncs = 0
  watchDisk(t, (descriptor) => {
    if (logFiles(folder).has(fs.fstatSync(descriptor).ino)) syncs += 1
  })
  for (let row = 1; row <= 5; row++) {
    await database.query(insert, [`row ${row}`])
    assert.equal(syncs, row, 'each commit has its own')
  }
  await database.query(count)
  assert.equal(syncs, 5, 'a read has none')
})

test('a change by a database function is on the disk before it is acknowledged', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-durability-'))
  t.after(() => rm(folder, { recursive: true }))
  const database = await openTestPglite({ folder, image: 'migrated' })
  t.after(() => database.close())
  let syncs = 0
  watchDisk(t, (descriptor) => {
    if (logFiles(folder).has(fs.fstatSync(descriptor).ino)) syncs += 1
  })
  await database.query(claim, ['client', [randomBytes(32)], randomBytes(32), randomUUID()])
  assert.equal(syncs, 1)
})

test('what is committed at once is acknowledged after the disk has it, and the disk holds all of it', async (t) => {
  const { database, folder } = await openInFolder(t)
  let acknowledged = 0
  const acknowledgedAtSync: number[] = []
  watchDisk(t, () => acknowledgedAtSync.push(acknowledged))
  const rows = Array.from({ length: 20 }, (_, row) => `row ${row}`)
  await Promise.all(
    rows.map(async (row, index) => {
      if (index % 2 === 0) await database.query(insert, [row])
      else await database.transaction((connection) => connection.query(insert, [row]))
      acknowledged += 1
    }),
  )
  assert.equal(acknowledgedAtSync[0], 0)
  assert.ok(acknowledgedAtSync.length <= rows.length)
  // As a process that was killed would leave them: what lies in its memory is lost.
  const copy = `${folder}-copy`
  t.after(() => rm(copy, { recursive: true }))
  await cp(folder, copy, { recursive: true })
  const left = await openPglite(copy)
  t.after(() => left.close())
  assert.deepEqual(await left.query(count), [{ rows: rows.length }])
})

test('the embedded database does not acknowledge a commit that the disk refuses', async (t) => {
  const { database } = await openInFolder(t)
  watchDisk(t, () => {
    throw Object.assign(new Error('the disk is broken'), { code: 'EIO' })
  })
  await assert.rejects(database.query(insert, ['lost']))
  await assert.rejects(database.query(count), 'it has stopped: nothing is answered from memory')
})

const togetherMaxMs = Number.POSITIVE_INFINITY

/** Turns on a connection whose disk takes what it is given when the test says so. */
function openDelayed() {
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
  const answered: string[] = []
  const turn = (name: string, isUnsynced: boolean, fault?: Error) =>
    take(async () => {
      if (fault) throw fault
      return { result: name, isUnsynced }
    }).then(
      (result) => answered.push(result),
      (error: Error) => answered.push(error.message),
    )
  return {
    answered,
    syncs,
    commit: (name: string) => turn(name, true),
    read: (name: string) => turn(name, false),
    fail: (name: string) => turn(name, false, new Error(name)),
    /** Resolves when the disk is asked for the first, second, … time. */
    isAsked: (time: number) => asked[time - 1]?.promise,
  }
}

test('what is committed at once is put on the disk at once, and answered only then', async () => {
  const { commit, isAsked, syncs, answered } = openDelayed()
  const all = Promise.all(['a', 'b', 'c'].map(commit))
  await isAsked(1)
  assert.deepEqual(answered, [])
  syncs[0]?.resolve()
  await all
  assert.deepEqual(answered, ['a', 'b', 'c'])
  assert.equal(syncs.length, 1)
})

test('a read and a failure after a commit are not answered before the disk has the commit', async () => {
  const { commit, fail, isAsked, read, syncs, answered } = openDelayed()
  const before = read('before')
  const all = [commit('commit'), read('read'), fail('failure')]
  await isAsked(1)
  await before
  assert.deepEqual(answered, ['before'])
  syncs[0]?.resolve()
  await Promise.all(all)
  assert.deepEqual(answered, ['before', 'commit', 'read', 'failure'])
  await read('after')
  assert.equal(syncs.length, 1, 'what only reads asks nothing of the disk')
})

test('a commit that the disk refuses is not confirmed, and the next one tries the disk again', async () => {
  const { commit, isAsked, read, syncs, answered } = openDelayed()
  const refused = [commit('first'), read('second')]
  await isAsked(1)
  syncs[0]?.reject(new Error('refused'))
  await Promise.all(refused)
  assert.deepEqual(answered, ['refused', 'refused'])
  const next = read('third')
  await isAsked(2)
  assert.equal(answered.length, 2)
  syncs[1]?.resolve()
  await next
  assert.deepEqual(answered.slice(2), ['third'])
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
