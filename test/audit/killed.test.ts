/**
 * Processes of the service that enter one audit log and are killed while they do; then the log is exported and verified
 * by our verifier and, where Go is installed, by one that is not ours.
 *
 * One kill by default. `npm run test:audit`: 5,000 acts and ten kills of the lease's holder on each database, with Go
 * (Debian's `golang-go` and `golang-golang-x-mod-dev`).
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readOrMakeMasterKeys } from '../../src/hsm/software/master-keys.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { pinfold } from '../cli/run-pinfold.ts'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type Program, startProgram } from '../support/process.ts'
import { newCard, openServerDatabase, sql } from '../support/service.ts'

const postgres = await openPostgres()
const kills = Number(process.env.AUDIT_KILLS ?? 1)
const acts = Number(process.env.AUDIT_ACTS ?? 60)
const env = { SANDBOX: 'true', RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }

/** Creates cards until it is told to stop, or its process is gone. Puts down those that were answered. */
const createUntil = async (program: Program, made: string[], isOver: () => boolean) => {
  const token = await program.token()
  while (!isOver()) {
    const answer = await program
      .call('POST', '/cards', { token, body: newCard() })
      .catch(() => null)
    if (!answer) break
    assert.equal(answer.status, 201, answer.text)
    made.push(answer.json.publicToken)
  }
}

/** Lets programs create so many more cards, and kills one of them while they do. */
const createAndKill = async (programs: readonly Program[], victim: Program, made: string[]) => {
  const enough = made.length + Math.ceil(acts / kills)
  const isOver = () => made.length >= enough + 20 * programs.length
  const creating = programs.map((program) => createUntil(program, made, isOver))
  while (made.length < enough) await wait(5)
  await victim.kill('SIGKILL')
  await Promise.all(creating)
}

/** Exports the log, once what was answered last is under a checkpoint, and has it verified. @returns what it says. */
const exportOf = async (
  program: Program,
  { made, url }: { readonly made: readonly string[]; readonly url?: string },
  t: TestContext,
) => {
  const own = { DATA_DIR: program.dataDir, ...(url && { DATABASE_URL: url, SANDBOX: 'true' }) }
  const token = await program.token()
  const last = await program.call('GET', `/card-pin/${made.at(-1)}/pin`, { token })
  const entry = last.headers.get('audit-entry')
  const receipt = await pinfold(own, 'audit', 'receipt', String(entry))
  assert.equal(receipt.code, 0, receipt.stdout + receipt.stderr)
  const folder = join(await makeFolder(), 'export')
  const exported = await pinfold(own, 'audit', 'export', folder)
  assert.equal(exported.code, 0, exported.stdout + exported.stderr)
  const verified = await pinfold({}, 'audit', 'verify', folder)
  assert.equal(verified.code, 0, verified.stdout + verified.stderr)
  await verifyByGo(folder, t)
  return exported.stdout.trim()
}

const go = (...words: string[]) =>
  promisify(execFile)('go', words, {
    env: { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOFLAGS: '' },
  })

const verifyByGo = async (folder: string, t: TestContext): Promise<void> => {
  const isThere = await go('list', 'golang.org/x/mod/sumdb/tlog').then(
    () => true,
    () => false,
  )
  if (!isThere) {
    assert.notEqual(process.env.TEST_GO, 'required', 'Go with golang.org/x/mod is not installed')
    return t.diagnostic(
      'not verified by Go: golang-go and golang-golang-x-mod-dev are not installed',
    )
  }
  const verifier = fileURLToPath(new URL('go/verify.go', import.meta.url))
  const { stdout } = await go('run', verifier, folder)
  t.diagnostic(`Go: ${stdout.trim().replaceAll(folder, 'the export')}`)
}

/** Each card that was answered is entered once, and each event that was committed. */
const requireAllEntered = async (database: Database, made: readonly string[]): Promise<number> => {
  const created = await sql<{ token: string }>(
    database,
    `select public_token as "token" from audit_entry where act = 'card.created'`,
  )
  const tokens = created.map(({ token }) => token)
  assert.equal(new Set(tokens).size, tokens.length)
  const entered = new Set(tokens)
  for (const token of made) assert.ok(entered.has(token), token)
  const [counts] = await sql<{ events: number; entries: number; indexes: number }>(
    database,
    `select (select count(*)::integer from event) as "events",
       (select count(*)::integer from audit_entry where act like 'card.%' or act like 'pin.%') as "entries",
       (select (count(*) - max(entry_index))::integer from audit_entry) as "indexes"`,
  )
  assert.equal(counts?.entries, counts?.events)
  assert.equal(counts?.indexes, 1)
  return tokens.length
}

suite('processes that enter an audit log and are killed', { timeout: 1_200_000 }, () => {
  test('two on a PostgreSQL server: every act once, and others verify it', {
    skip: postgres.leftOut,
  }, async (t) => {
    const { database, url } = await openServerDatabase(postgres, 4)
    const dataDir = await makeFolder()
    await readOrMakeMasterKeys(`${dataDir}/master.key`)
    // The programs would draw some for two seconds of a processor.
    await keepRsaKeys({ database, dataDir })
    const start = () => startProgram({ dataDir, env: { ...env, DATABASE_URL: url } })
    const programs = [await start(), await start()]
    const made: string[] = []
    const holderOf = async () => {
      const [lease] = await sql<{ holder: string }>(
        database,
        `select holder::text as "holder" from lease where lease_name = 'keep-audit-log'`,
      )
      return lease?.holder
    }
    let hits = 0
    for (let round = 0; hits < kills; round += 1) {
      const before = await holderOf()
      const victim = programs[round % 2]
      assert(victim)
      await createAndKill(programs, victim, made)
      // It was the holder, if another takes the lease once its time is over.
      for (let looks = 0; looks < 80 && (await holderOf()) === before; looks += 1) await wait(100)
      if ((await holderOf()) !== before) hits += 1
      if (hits < kills) programs[round % 2] = await start()
      else programs.splice(round % 2, 1)
    }
    const [program] = programs
    assert(program)
    const exported = await exportOf(program, { made, url }, t)
    const cards = await requireAllEntered(database, made)
    t.diagnostic(`${cards} cards, ${hits} kills of the holder: ${exported}`)
  })

  test('one on the embedded database, again and again: likewise', async (t) => {
    let program = await startProgram({ env })
    const { dataDir } = program
    const made: string[] = []
    for (let hits = 0; hits < kills; hits += 1) {
      await createAndKill([program], program, made)
      program = await startProgram({ dataDir, env })
    }
    const exported = await exportOf(program, { made }, t)
    t.diagnostic(`${made.length} cards, ${kills} kills: ${exported}`)
    await program.kill('SIGTERM')
  })
})
