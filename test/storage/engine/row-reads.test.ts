import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Database, Statement } from '../../../src/storage/engine/database.ts'
import { createRowReads, rowRead } from '../../../src/storage/engine/row-reads.ts'
import { openTestPglite } from '../../support/pglite.ts'
import { openPostgres } from '../../support/postgres.ts'
import { pool, sql } from '../../support/service.ts'

const postgres = await openPostgres()

const noteRead = rowRead('test_find_note', {
  columns: 'note.text',
  key: ['text', 'text'],
  from: (note, owner) => `owner join note using (owner_name)
    where note.note_name = ${note} and owner_name = ${owner}`,
})

const engines = [
  { name: 'PGlite', skip: false, open: (): Promise<Database> => openTestPglite() },
  {
    name: 'PostgreSQL',
    skip: postgres.leftOut,
    open: async () => pool((await postgres.createDatabase()).url, 3),
  },
] as const

for (const { name, open, skip } of engines) {
  suite(`rows that are read by their keys on ${name}`, { skip }, () => {
    let database: Database
    const find = (note: string, owner: string) =>
      database.readRow<{ text: string }>(noteRead, [note, owner])
    before(async () => {
      database = await open()
      await database.script(`
        create table owner (owner_name text primary key);
        create table note (note_name text primary key, owner_name text not null, text text not null);
        insert into owner values ('ana'), ('ben');
        insert into note select 'n' || n, case when n % 2 = 0 then 'ana' else 'ben' end, 'text ' || n
        from generate_series(1, 200) n`)
    })

    test('each gets its own, however many ask in one turn, and a stranger nothing', async () => {
      const asked = Array.from({ length: 200 }, (_, at) => ({
        note: `n${at + 1}`,
        owner: at % 3 === 0 ? 'ana' : 'ben',
      }))
      const found = await Promise.all(asked.map(({ note, owner }) => find(note, owner)))
      const due = asked.map(({ note, owner }, at) =>
        (owner === 'ana') === (at % 2 === 1) ? { text: `text ${note.slice(1)}` } : null,
      )
      assert.deepEqual(found, due)
    })

    test('one key asked for twice in a turn is answered twice, to each owner by itself', async () => {
      const found = await Promise.all([find('n2', 'ana'), find('n2', 'ben'), find('n2', 'ana')])
      assert.deepEqual(found, [{ text: 'text 2' }, null, { text: 'text 2' }])
    })

    test('a key that the engine refuses is refused alone', async () => {
      const [sound, refused, other] = await Promise.allSettled([
        find('n1', 'ben'),
        find('n\u0000', 'ben'),
        find('n3', 'ben'),
      ])
      assert.equal(refused.status, 'rejected')
      assert.deepEqual(
        [sound, other].map((each) => each.status === 'fulfilled' && each.value?.text),
        ['text 1', 'text 3'],
      )
    })

    test('a read that begins after a change sees it, whatever was asked before', async () => {
      for (const text of ['one', 'two', 'three']) {
        const before = find('n5', 'ben')
        await sql(database, `update note set text = $1 where note_name = 'n5'`, [text])
        assert.equal((await find('n5', 'ben'))?.text, text)
        await before
      }
    })
  })
}

/** Reads whose statements are answered when a test says so. */
const openSlowReads = () => {
  const sent: { statement: Statement; keys: number; answer: () => void }[] = []
  const find = createRowReads(
    (statement, [first]) =>
      new Promise((resolve) => {
        const keys = Array.isArray(first) ? first.length : 1
        sent.push({ statement, keys, answer: () => resolve([]) })
      }),
  )
  return {
    sent,
    keysSent: () => sent.map(({ keys }) => keys),
    ask: (count: number) => Array.from({ length: count }, () => find(noteRead, ['n1', 'ana'])),
  }
}

test('nobody joins a statement that was sent, and none has too many keys', async () => {
  const { ask, keysSent, sent } = openSlowReads()
  const early = ask(1)
  assert.deepEqual(keysSent(), [], 'it waits for the others of its turn')
  await turn()
  assert.deepEqual(keysSent(), [1])
  const late = ask(130)
  await turn()
  assert.deepEqual(keysSent(), [1, 64, 64, 2])
  assert.equal(sent[0]?.statement, noteRead.one)
  for (const { answer } of sent) answer()
  const nobody = Array.from({ length: 131 }, () => null)
  assert.deepEqual(await Promise.all([...early, ...late]), nobody)
})

test('those who come while two are under way go together when one of them ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { ask, keysSent, sent } = openSlowReads()
  for (let statement = 1; statement <= 2; statement += 1) {
    ask(1)
    await turn()
  }
  ask(2)
  await turn()
  ask(3)
  await turn()
  assert.deepEqual(keysSent(), [1, 1])
  sent[0]?.answer()
  await turn()
  await turn()
  assert.deepEqual(keysSent(), [1, 1, 5])
})

test('statements that do not end keep nobody else waiting for more than a moment', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { ask, keysSent } = openSlowReads()
  for (let statement = 1; statement <= 2; statement += 1) {
    ask(1)
    await turn()
  }
  ask(4)
  t.mock.timers.tick(2)
  assert.deepEqual(keysSent(), [1, 1, 4])
})

test('what fails for another reason than a key fails for all of a statement at once', async () => {
  let statements = 0
  const away = Object.assign(new Error('terminating connection'), { code: '57P01' })
  const find = createRowReads(() => {
    statements += 1
    return Promise.reject(away)
  })
  const found = await Promise.allSettled(
    Array.from({ length: 5 }, () => find(noteRead, ['n1', 'a'])),
  )
  assert.deepEqual(
    found.map((each) => each.status === 'rejected' && each.reason),
    Array(5).fill(away),
  )
  assert.equal(statements, 1)
})
