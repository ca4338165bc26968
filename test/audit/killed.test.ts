/**
 * Processes of the service that enter one audit log and are killed while they do; then the log is
 * exported and verified by our verifier and, where Go is installed, by one that is not ours.
 *
 * An act is a card made, a PIN set, tried or shown, or a card restricted. One kill by default. `npm
 * test -- --suite audit`: 5,000 acts and ten kills of the lease's holder on each database, with Go
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
import { openLeftDatabase } from '../support/builders.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type Program, startProgram } from '../support/process.ts'
import { newCard, openServerDatabase, sql, strongPins } from '../support/service.ts'

const postgres = await openPostgres()
const kills = Number(process.env.AUDIT_KILLS ?? 1)
const acts = Number(process.env.AUDIT_ACTS ?? 60)
const env = { SANDBOX: 'true', RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }

/** An act that was answered. Each is done once to a card. */
interface AnsweredAct {
  readonly act: string
  readonly publicToken: string
}

/** What is asked about a card after its creation, and the act that each request is entered as. */
const requestsOn = (card: { readonly publicToken: string; readonly maskedPan: string }) => {
  const { publicToken } = card
  const [pin, wrongPin] = strongPins(card)
  const pinPath = `/card-pin/${publicToken}/pin`
  const tried = { publicToken, pin: wrongPin }
  const restricted = { cardStatusCode: '62' }
  return [
    { act: 'pin.set', method: 'POST', path: pinPath, body: { pin } },
    {
      act: 'authorization.declined',
      method: 'POST',
      path: '/simulator/authorizations',
      body: tried,
    },
    { act: 'pin.revealed', method: 'GET', path: pinPath, body: undefined },
    {
      act: 'card.status_changed',
      method: 'PUT',
      path: `/cards/${publicToken}/status`,
      body: restricted,
    },
  ] as const
}

/**
 * Acts on one new card after the other until it is over, or the process is gone. Puts down what was
 * answered.
 */
const actUntil = async (program: Program, answered: AnsweredAct[], isOver: () => boolean) => {
  const token = await program.token()
  /** Null: the process is gone. */
  const ask = (method: string, path: string, body: unknown) =>
    program.call(method, path, { token, ...(body !== undefined && { body }) }).catch(() => null)
  while (!isOver()) {
    const created = await ask('POST', '/cards', newCard())
    if (!created) return
    assert.equal(created.status, 201, created.text)
    const { publicToken } = created.json
    answered.push({ act: 'card.created', publicToken })
    for (const { act, method, path, body } of requestsOn(created.json)) {
      const answer = await ask(method, path, body)
      if (!answer) return
      assert.ok(answer.status === 200 || answer.status === 204, `${act}: ${answer.text}`)
      answered.push({ act, publicToken })
    }
  }
}

/** Has programs do so many more acts, and kills one of them while they do. */
const actAndKill = async (
  programs: readonly Program[],
  victim: Program,
  answered: AnsweredAct[],
) => {
  const enough = answered.length + Math.ceil(acts / kills)
  const isOver = () => answered.length >= enough + 20 * programs.length
  let isActing = true
  const acting = Promise.all(programs.map((program) => actUntil(program, answered, isOver)))
  const ended = acting.finally(() => {
    isActing = false
  })
  ended.catch(() => undefined)
  // A failure among the acts ends them all, and is thrown below.
  while (answered.length < enough && isActing) await wait(5)
  await victim.kill('SIGKILL')
  await ended
}

/**
 * A try that was lost with its process is entered half a minute later, and the last events once
 * they are published.
 */
const waitUntilEntered = async ({ privateUrl }: Program): Promise<void> => {
  const untilMs = performance.now() + 120_000
  while (performance.now() < untilMs) {
    const signal = AbortSignal.timeout(30_000)
    const metrics = await fetch(`${privateUrl}/metrics`, { signal })
    if (/^pinfold_audit_unentered_seconds 0$/m.test(await metrics.text())) return
    await wait(200)
  }
  throw new Error('Acts waited for two minutes and were not entered.')
}

/**
 * Exports the log, once what was answered last is under a checkpoint, and has it verified.
 * @returns what it says.
 */
const exportOf = async (
  program: Program,
  { answered, url }: { readonly answered: readonly AnsweredAct[]; readonly url?: string },
  t: TestContext,
) => {
  const own = { DATA_DIR: program.dataDir, ...(url && { DATABASE_URL: url, SANDBOX: 'true' }) }
  await waitUntilEntered(program)
  const token = await program.token()
  const path = `/card-pin/${answered.at(-1)?.publicToken}/pin`
  const last = await program.call('GET', path, { token })
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

/**
 * Each act that was answered is entered, and what was committed is entered once.
 * @returns how many of each act.
 */
const requireAllEntered = async (
  database: Database,
  answered: readonly AnsweredAct[],
): Promise<string> => {
  const entries = await sql<{ entryId: string; act: string; token: string; hasTry: boolean }>(
    database,
    `select entry_id::text as "entryId", act, public_token as "token",
       text::jsonb #> '{details,tryNumber}' is not null as "hasTry"
     from audit_entry
     where act like 'card.%' or act like 'pin.%' or act like 'authorization.%'`,
  )
  const entered = new Set(entries.map(({ act, token }) => `${act} ${token}`))
  for (const { act, publicToken } of answered) {
    assert.ok(entered.has(`${act} ${publicToken}`), `${act} of ${publicToken}`)
  }
  const idsOf = (chosen: (entry: (typeof entries)[number]) => boolean) =>
    entries.filter(chosen).map(({ entryId }) => entryId)
  const events = await sql<{ eventId: string }>(
    database,
    'select event_id::text as "eventId" from event',
  )
  const reported = idsOf(({ act }) => act !== 'pin.attempted')
  assert.deepEqual(reported.sort(), events.map(({ eventId }) => eventId).sort())
  const [counts] = await sql<{ tries: number; indexes: number }>(
    database,
    `select (
         select count(*)::integer
         from authorization_request
         where try_number is not null
           and (
             response_code is not null
             or requested_at <= (
               select timestamptz 'epoch' + position * interval '1 microsecond'
               from audit_entered
               where source = 'tries'
             )
           )
       ) as "tries",
       (select (count(*) - max(entry_index))::integer from audit_entry) as "indexes"`,
  )
  const tries = idsOf(({ hasTry }) => hasTry)
  assert.equal(new Set(tries).size, counts?.tries)
  assert.equal(tries.length, counts?.tries)
  assert.equal(counts?.indexes, 1)
  const created = entries.filter(({ act }) => act === 'card.created').map(({ token }) => token)
  assert.equal(new Set(created).size, created.length)
  const acts = [...new Set(entries.map(({ act }) => act))].sort()
  const counted = acts.map((act) => `${entries.filter((entry) => entry.act === act).length} ${act}`)
  return counted.join(', ')
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
    const answered: AnsweredAct[] = []
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
      await actAndKill(programs, victim, answered)
      // It was the holder, if another takes the lease once its time is over.
      for (let looks = 0; looks < 80 && (await holderOf()) === before; looks += 1) await wait(100)
      if ((await holderOf()) !== before) hits += 1
      if (hits < kills) programs[round % 2] = await start()
      else programs.splice(round % 2, 1)
    }
    const [program] = programs
    assert(program)
    const exported = await exportOf(program, { answered, url }, t)
    const entered = await requireAllEntered(database, answered)
    t.diagnostic(`${answered.length} acts answered, ${hits} kills of the holder: ${exported}`)
    t.diagnostic(`Entered: ${entered}`)
  })

  test('one on the embedded database, again and again: likewise', async (t) => {
    let program = await startProgram({ env })
    const { dataDir } = program
    const answered: AnsweredAct[] = []
    for (let hits = 0; hits < kills; hits += 1) {
      await actAndKill([program], program, answered)
      program = await startProgram({ dataDir, env })
    }
    const exported = await exportOf(program, { answered }, t)
    t.diagnostic(`${answered.length} acts answered, ${kills} kills: ${exported}`)
    await program.kill('SIGTERM')
    const database = await openLeftDatabase(dataDir)
    const entered = await requireAllEntered(database, answered)
    await database.close()
    t.diagnostic(`Entered: ${entered}`)
  })
})
