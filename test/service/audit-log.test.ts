/** Processes of the service that enter one audit log, and are killed while they do. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readOrMakeMasterKeys } from '../../src/hsm/software/master-keys.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { entriesOf } from '../support/audit.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type Program, startProgram } from '../support/process.ts'
import { newCard, openServerDatabase, sql } from '../support/service.ts'

const postgres = await openPostgres()

/** Creates cards until it is told to stop, or its process is gone. @returns the ids of those that were answered. */
const createUntil = async (program: Program, isOver: () => boolean): Promise<string[]> => {
  const token = await program.token()
  const made: string[] = []
  while (!isOver()) {
    const answer = await program
      .call('POST', '/cards', { token, body: newCard() })
      .catch(() => null)
    if (!answer) break
    assert.equal(answer.status, 201, answer.text)
    made.push(answer.json.publicToken)
  }
  return made
}

const countOf = async (database: Database, from: string): Promise<number> =>
  (await sql<{ n: number }>(database, `select count(*)::integer as n from ${from}`))[0]?.n ?? 0

suite('two processes of which either is killed while they enter', {
  skip: postgres.leftOut,
  timeout: 180_000,
}, () => {
  test('leave an audit log that has every act once, and goes on', async () => {
    const { database, url } = await openServerDatabase(postgres, 4)
    const dataDir = await makeFolder()
    await readOrMakeMasterKeys(`${dataDir}/master.key`)
    const env = { DATABASE_URL: url, SANDBOX: 'true', RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }
    const start = () => startProgram({ dataDir, env })
    const programs = [await start(), await start()] as [Program, Program]
    const made: string[] = []
    for (const victim of [0, 1] as const) {
      const before = await countOf(database, 'audit_entry')
      let isOver = false
      const creating = programs.map((program) => createUntil(program, () => isOver))
      // Killed while it is at it, whichever of them has the lease.
      while ((await countOf(database, 'audit_entry')) < before + 20) await wait(20)
      await programs[victim].kill('SIGKILL')
      // The lease is another's once its time is over.
      const killedAt = await countOf(database, 'audit_entry')
      while ((await countOf(database, 'audit_entry')) < killedAt + 20) await wait(20)
      isOver = true
      made.push(...(await Promise.all(creating)).flat())
      programs[victim] = await start()
    }
    const isEntered = async () =>
      (await countOf(database, 'event')) ===
      (await countOf(database, `audit_entry where act like 'card.%'`))
    while (!(await isEntered())) await wait(50)
    const entries = await entriesOf(database)
    assert.deepEqual(
      entries.map(({ index }) => index),
      entries.map((_, at) => at),
    )
    const created = entries
      .filter(({ act }) => act === 'card.created')
      .map(({ publicToken }) => publicToken)
    assert.equal(new Set(created).size, created.length)
    for (const publicToken of made) assert.ok(created.includes(publicToken))
    const isSigned = () => countOf(database, `audit_checkpoint where size >= ${entries.length}`)
    while ((await isSigned()) === 0) await wait(50)
  })
})
