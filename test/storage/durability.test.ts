import assert from 'node:assert/strict'
import fs from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { statement } from '../../src/storage/database.ts'
import { openPglite } from '../../src/storage/pglite.ts'
import { openTestPglite } from '../support/pglite.ts'

const insert = statement('insert_kept', 'insert into kept (text) values ($1)')
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

test('what the embedded database acknowledges is on the disk, not in memory of the machine', async (t) => {
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

test('what the disk does not take is not acknowledged by the embedded database', async (t) => {
  const { database } = await openInFolder(t)
  watchDisk(t, () => {
    throw Object.assign(new Error('the disk is broken'), { code: 'EIO' })
  })
  await assert.rejects(database.query(insert, ['lost']))
  await assert.rejects(database.query(count), 'it has stopped: nothing is answered from memory')
})
