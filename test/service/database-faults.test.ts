import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { Database } from '../../src/storage/engine/database.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openTestPglite } from '../support/pglite.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type ProgramOptions, startProgram } from '../support/process.ts'
import { newCard, pool } from '../support/service.ts'

const postgres = await openPostgres()
const migrations = new URL('../../migrations/', import.meta.url)

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

const provesEachFault = async (options: ProgramOptions): Promise<void> => {
  const program = await startProgram(options)
  const token = await program.token()
  // What a constraint refuses, what a trigger refuses, and a server that is at its end.
  const codes = ['23514', 'P0001', '53100']
  const answers: string[] = []
  for (const designId of codes) {
    const body = newCard({ designId })
    const { status, text } = await program.call('POST', '/cards', { token, body })
    assert.ok(status >= 500, text)
    answers.push(text)
  }
  assert.equal((await program.kill('SIGTERM')).code, 0)
  const faults = program.stdout().match(/^{.*"err".*$/gm) ?? []
  assert.deepEqual(
    faults.map((line) => JSON.parse(line).err.code),
    codes,
  )
  for (const printed of [program.stdout(), program.stderr(), ...answers]) {
    assert.doesNotMatch(printed, /quoted|encrypted_pan|public_token|Calle Mayor/)
  }
}

const title =
  'of a fault of the database the log tells the SQLSTATE, and nothing that the database says of a row'

suite('on the embedded database', () => {
  test(title, async () => {
    const dataDir = await makeFolder()
    const folder = join(dataDir, 'pgdata')
    await (await openTestPglite({ folder, prepare: quoteEveryCard })).close()
    await provesEachFault({ dataDir })
  })
})

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test(title, async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const database = pool(url, 1)
    await quoteEveryCard(database)
    await database.close()
    await provesEachFault({ env: { DATABASE_URL: url, SANDBOX: 'true' } })
  })
})
