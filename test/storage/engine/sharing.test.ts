import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  type Database,
  LockTimeout,
  type SharedStatement,
  type SqlValue,
  type Statement,
  statement,
} from '../../../src/storage/engine/database.ts'
import { createSharing } from '../../../src/storage/engine/sharing.ts'
import { openTestPglite } from '../../support/pglite.ts'
import { openPostgres } from '../../support/postgres.ts'
import { pool, sql } from '../../support/service.ts'

const postgres = await openPostgres()

const noteRead: SharedStatement = {
  isRead: true,
  one: statement(
    'test_find_note',
    `select note.text from owner join note using (owner_name)
     where note.note_name = $1 and owner_name = $2`,
  ),
  several: statement(
    'test_find_note_several',
    `select asked.ordinal::integer as "ordinal", found.*
     from unnest($1::text[], $2::text[]) with ordinality as asked (note_name, owner_name, ordinal)
     cross join lateral (
       select note.text from owner join note using (owner_name)
       where note.note_name = asked.note_name and owner_name = asked.owner_name
     ) as found`,
  ),
}

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

    test('changes of one turn are each done, and of whom there is none, nothing', async () => {
      const notes = Array.from({ length: 100 }, (_, at) => `n${at + 151}`)
      const renamed = await Promise.all(
        notes.map((note) =>
          database.change<{ note: string }>(renaming, note, [note, `of ${notes.length}`]),
        ),
      )
      const there = notes.slice(0, 50)
      assert.deepEqual(
        renamed.map((row) => row?.note ?? null),
        notes.map((note) => (there.includes(note) ? note : null)),
      )
      const rows = await sql<{ note_name: string }>(
        database,
        `select note_name from note where text = 'of 100'`,
      )
      assert.deepEqual(new Set(rows.map((row) => row.note_name)), new Set(there))
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

interface Sent {
  readonly statement: Statement
  readonly values: readonly SqlValue[]
  answer(rows: readonly object[]): void
  fail(error: Error): void
}

/** Statements that are answered when a test says so. */
function openSlowStatements() {
  const sent: Sent[] = []
  const sharing = createSharing(
    (statement, values) =>
      new Promise((resolve, reject) => {
        const answer = (rows: readonly object[]) => resolve(rows as never)
        sent.push({ statement, values, answer, fail: reject })
      }),
  )
  return {
    ...sharing,
    sent,
    sizesSent: () => sent.map(({ values: [first] }) => (Array.isArray(first) ? first.length : 1)),
    read: (count: number) =>
      Array.from({ length: count }, () => sharing.readRow(noteRead, ['n1', 'ana'])),
    rename: (...notes: readonly string[]) =>
      Promise.allSettled(notes.map((note) => sharing.change(renaming, note, [note, 'new']))),
    /** Two statements that do not end. */
    async occupy(): Promise<void> {
      for (let statement = 1; statement <= 2; statement += 1) {
        void sharing.readRow(noteRead, ['n1', 'ana'])
        void sharing.change(renaming, `busy ${statement}`, [`busy ${statement}`, 'new'])
        await turn()
      }
      sent.length = 0
    },
  }
}

const renaming: SharedStatement = {
  isRead: false,
  one: statement(
    'test_rename_note',
    'update note set text = $2 where note_name = $1 returning note_name as "note"',
  ),
  several: statement(
    'test_rename_note_several',
    `with asked as (
       select * from unnest($1::text[], $2::text[]) with ordinality as caller (note_name, new_text, ordinal)
     )
     update note set text = new_text from asked where note.note_name = asked.note_name
     returning asked.ordinal::integer as "ordinal", note.note_name as "note"`,
  ),
}

suite('which statements reads and changes share', () => {
  test('no call joins a statement that was sent, and no statement has too many calls', async () => {
    const { read, sent, sizesSent } = openSlowStatements()
    const early = read(1)
    assert.deepEqual(sizesSent(), [], 'it waits for the others of its turn')
    await turn()
    assert.deepEqual(sizesSent(), [1])
    const late = read(100)
    await turn()
    assert.deepEqual(sizesSent(), [1, 64])
    assert.equal(sent[0]?.statement, noteRead.one)
    sent[0]?.answer([])
    await turn()
    await turn()
    assert.deepEqual(sizesSent(), [1, 64, 36])
    for (const { answer } of sent) answer([])
    const nobody = Array.from({ length: 101 }, () => null)
    assert.deepEqual(await Promise.all([...early, ...late]), nobody)
  })

  test('those who come while two are under way go together when one of them ends', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { read, sent, sizesSent } = openSlowStatements()
    for (let statement = 1; statement <= 2; statement += 1) {
      read(1)
      await turn()
    }
    read(2)
    await turn()
    read(3)
    await turn()
    assert.deepEqual(sizesSent(), [1, 1])
    sent[0]?.answer([])
    await turn()
    await turn()
    assert.deepEqual(sizesSent(), [1, 1, 5])
  })

  test('statements that do not end delay other statements only for a moment', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { occupy, read, sizesSent } = openSlowStatements()
    await occupy()
    read(4)
    t.mock.timers.tick(2)
    assert.deepEqual(sizesSent(), [4])
  })

  test('two changes of one subject never share a statement', async () => {
    const { rename, sent } = openSlowStatements()
    const renamed = rename('n1', 'n2', 'n1')
    await turn()
    assert.deepEqual(sent[0]?.values, [
      ['n1', 'n2'],
      ['new', 'new'],
    ])
    await turn()
    assert.equal(sent.length, 1, 'it waits for its own, and not in the database')
    sent[0]?.answer([{ ordinal: 1 }, { ordinal: 2 }])
    await turn()
    await turn()
    assert.equal(sent[1]?.statement, renaming.one)
    sent[1]?.answer([{ ordinal: 1 }])
    assert.deepEqual(
      (await renamed).map(({ status }) => status),
      Array(3).fill('fulfilled'),
    )
  })

  test('however many do not end, some connections are left to others', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { rename, sizesSent } = openSlowStatements()
    for (let each = 1; each <= 20; each += 1) {
      void rename(`n${each}`)
      await turn()
      t.mock.timers.tick(2)
    }
    assert.deepEqual(sizesSent(), Array(8).fill(1))
  })

  test('whom a change for several left out is done alone, and waits for nobody else', async () => {
    const { rename, sent } = openSlowStatements()
    const renamed = rename('n1', 'n2', 'n3')
    await turn()
    sent[0]?.answer([{ ordinal: 1 }, { ordinal: 3 }])
    await turn()
    assert.deepEqual(
      sent.slice(1).map(({ statement, values }) => [statement, values]),
      [[renaming.one, ['n2', 'new']]],
    )
    sent[1]?.answer([])
    const due = [{}, null, {}].map((value) => ({ status: 'fulfilled', value }))
    assert.deepEqual(await renamed, due)
  })

  for (const { name, error } of [
    { name: 'a value', error: Object.assign(new Error('bad value'), { code: '22021' }) },
    { name: 'what may not be', error: Object.assign(new Error('no null'), { code: '23502' }) },
    { name: 'a lock', error: new LockTimeout(null) },
  ]) {
    test(`what ${name} of one undid is done for each alone`, async () => {
      const { rename, sent } = openSlowStatements()
      const renamed = rename('n1', 'n2')
      await turn()
      sent[0]?.fail(error)
      await turn()
      assert.deepEqual(
        sent.slice(1).map(({ statement }) => statement),
        [renaming.one, renaming.one],
      )
      sent[1]?.fail(error)
      sent[2]?.answer([{ ordinal: 1 }])
      const [first, second] = await renamed
      assert.deepEqual([first?.status, second?.status], ['rejected', 'fulfilled'])
    })
  }

  test('where the database is away all fail at once, and it is not asked again for each', async () => {
    const { read, rename, sent } = openSlowStatements()
    const away = Object.assign(new Error('terminating connection'), { code: '57P01' })
    const [reads, renamed] = [Promise.allSettled(read(5)), rename('n1', 'n2', 'n3')]
    await turn()
    for (const { fail } of sent) fail(away)
    const failed = [...(await reads), ...(await renamed)]
    assert.deepEqual(
      failed.map((each) => each.status === 'rejected' && each.reason),
      Array(8).fill(away),
    )
    assert.equal(sent.length, 2)
  })
})
