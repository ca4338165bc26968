import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Database } from '../../src/storage/engine/database.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openTestPglite } from '../support/pglite.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, startProgram } from '../support/process.ts'
import { newCard, openTestService, pool } from '../support/service.ts'

const postgres = await openPostgres()
const migrations = new URL('../../database/migrations/', import.meta.url)

/** Makes the database refuse every card in words that quote its row; its design is the SQLSTATE. */
const quoteEveryCard = async (database: Database): Promise<void> => {
  await migrate(database, migrations)
  await database.script(`
    create function quote_row() returns trigger language plpgsql as $$
    begin
      raise exception 'quoted: %', to_jsonb(new) using errcode = new.design_id,
        detail = 'quoted: ' || to_jsonb(new)::text, hint = 'quoted: ' || to_jsonb(new)::text;
    end $$;
    create trigger quoting before insert on card for each row execute function quote_row();
  `)
}

// What a constraint refuses, what a trigger refuses, and a server that is at its end.
const codes = ['23514', 'P0001', '53100']

/**
 * The printed text of a service, once it was asked for a card of each fault, and what it answered.
 */
const assertToldByCode = (stdout: string, others: readonly string[]): void => {
  const faults = stdout.match(/^{.*"err".*$/gm) ?? []
  assert.deepEqual(
    faults.map((line) => JSON.parse(line).err.code),
    codes,
  )
  for (const text of [stdout, ...others]) {
    assert.doesNotMatch(text, /quoted|encrypted_pan|public_token|Calle Mayor/)
  }
}

const title =
  'of a fault of the database the log tells the SQLSTATE, and nothing that the database says of a row'

suite('on the embedded database', () => {
  test(title, async () => {
    const dataDir = await makeFolder()
    const folder = join(dataDir, 'pgdata')
    await (await openTestPglite({ folder, prepare: quoteEveryCard })).close()
    const program = await startProgram({ dataDir })
    const token = await program.token()
    const answers: string[] = []
    for (const designId of codes) {
      const body = newCard({ designId })
      const { status, text } = await program.call('POST', '/cards', { token, body })
      assert.ok(status >= 500, text)
      answers.push(text)
    }
    assert.equal((await program.kill('SIGTERM')).code, 0)
    assertToldByCode(program.stdout(), [program.stderr(), ...answers])
  })
})

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test(title, async (t) => {
    const { close, url } = await postgres.createDatabase()
    const database = pool(url, 2)
    t.after(async () => {
      await database.close()
      await close()
    })
    await quoteEveryCard(database)
    const lines: string[] = []
    const service = await openTestService({ database, onLogLine: (line) => lines.push(line) })
    const answers: string[] = []
    for (const designId of codes) {
      const { status, text } = await service.call('POST', '/cards', { body: newCard({ designId }) })
      assert.ok(status >= 500, text)
      answers.push(text)
    }
    await service.close()
    assertToldByCode(lines.join(''), answers)
  })
})
