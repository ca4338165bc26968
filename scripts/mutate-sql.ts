/**
 * `npm run mutate:sql [-- cards/tries.ts spend_try …]`: mutates SQL statements, those of the named files of
 * src/storage, or of these names, and looks whether the tests that run a statement see its mutants.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sharePostgres } from '../test/support/postgres.ts'
import { type Mutation, mutationsOf, sqlEquivalentOf } from './mutation/sql-mutants.ts'
import { made, type SqlMutant } from './mutation/sql-seam.ts'

const defaultFiles = [
  'cards/tries.ts',
  'cards/spend-try.ts',
  'cards/settle-try.ts',
  'cards/lost-blocks.ts',
  'cards/authorizations.ts',
  'events/events.ts',
  'idempotency/idempotency.ts',
  'idempotency/claims.ts',
]
/**
 * What proves these statements: each condition by rows that it must leave alone, each lock by a race on a
 * PostgreSQL server. `SQL_TESTS` names others.
 */
const testFiles = globSync(
  process.env.SQL_TESTS?.split(' ') ?? [
    'test/storage/{cards/tries,cards/settle-try,cards/settle-waits,idempotency/idempotency,cards/ordered-lists}.test.ts',
    'test/operations/authorizations/{answers,attempts,events,in-flight,repeats,burst-and-outage,tries-race}.test.ts',
    'test/operations/{idempotency/idempotency,idempotency/idempotency-race,events/events,cards/card-status}.test.ts',
  ],
)
/** A test that runs into one of them looks like one that waits for a lock for ever. */
const timeoutMs = 180_000
const scoreMin = 90

type Chosen = { readonly name: string; readonly text: string }
type Run = { readonly passed: boolean; readonly tookMs: number }

const seamUrl = new URL('mutation/sql-seam.ts', import.meta.url)

/** Of this run alone: a test that is ended does not remove its files. */
const temporary = mkdtempSync(join(tmpdir(), 'pinfold-sql-'))
const testEnvironment = {
  PROPERTY_CASES: 'few',
  TEST_PGLITE_LEFT_OUT: 'PGlite leg left out: mutants are tested on PostgreSQL',
  TMPDIR: temporary,
  NODE_COMPILE_CACHE: join(temporary, 'compiled'),
}

/** Runs one test file behind the seam, to its end or to the first test that fails. */
const runTests = async (file: string, env: Readonly<Record<string, string>>): Promise<Run> => {
  const startedMs = Date.now()
  const seam = ['--import', seamUrl.href, '--test-reporter=tap', '--test-force-exit', file]
  const child = spawn(process.execPath, seam, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...testEnvironment, ...env },
    timeout: timeoutMs,
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (/^\s*not ok/m.test(text)) child.kill()
  })
  const [code] = await once(child, 'exit')
  return { passed: code === 0, tookMs: Date.now() - startedMs }
}

/** The test files that run each statement, the quickest first. */
const recordUses = async (): Promise<Map<string, string[]>> => {
  const timed: { file: string; tookMs: number; names: string[] }[] = []
  for (const file of testFiles) {
    const note = join(temporary, `used-${timed.length}`)
    const { passed, tookMs } = await runTests(file, { SQL_NOTE_FILE: note })
    console.log(
      `${file}: ${(tookMs / 1_000).toFixed(1)} s${passed ? '' : ', fails by itself: left out'}`,
    )
    if (passed) timed.push({ file, tookMs, names: readFileSync(note, 'utf8').split('\n') })
  }
  timed.sort((one, other) => one.tookMs - other.tookMs)
  const uses = new Map<string, string[]>()
  for (const { file, names } of timed) {
    for (const name of names) uses.set(name, [...(uses.get(name) ?? []), file])
  }
  return uses
}

/** The statements that were asked for, by file or by name. */
const choose = async (asked: readonly string[]): Promise<Chosen[]> => {
  const files = asked.filter((each) => each.endsWith('.ts'))
  const names = asked.filter((each) => !each.endsWith('.ts'))
  const wanted = files.length > 0 || names.length > 0 ? files : defaultFiles
  const folder = fileURLToPath(new URL('../src/storage/', import.meta.url))
  for (const file of globSync('**/*.ts', { cwd: folder })) {
    // Alone it is a program.
    if (file !== 'engine/make-pglite.ts') await import(pathToFileURL(resolve(folder, file)).href)
  }
  const sources = wanted.map((file) => readFileSync(resolve(folder, file), 'utf8'))
  return made.filter(
    ({ name }) => names.includes(name) || sources.some((source) => source.includes(`'${name}'`)),
  )
}

/** The first test file that fails with a mutant, or null. */
const findKiller = async (mutant: SqlMutant, files: readonly string[]): Promise<string | null> => {
  for (const file of files) {
    const { passed } = await runTests(file, { SQL_MUTANT: JSON.stringify(mutant) })
    if (!passed) return file
  }
  return null
}

type Counts = { found: number; survived: number; equivalent: number }

/** Tries one mutant. */
const test = async (
  mutant: SqlMutant & Pick<Mutation, 'what'>,
  files: readonly string[],
  counts: Counts,
): Promise<void> => {
  const { name, what } = mutant
  if (sqlEquivalentOf(name, what)) {
    counts.equivalent += 1
    return
  }
  const killer = await findKiller(mutant, files)
  counts[killer ? 'found' : 'survived'] += 1
  console.log(killer ? `found ${name}: ${what} (${killer})` : `SURVIVED ${name}: ${what}`)
}

/** In an order of chance, the same each time: a run that is cut short is a sample. */
const orderOf = ({ mutated }: SqlMutant): string =>
  createHash('sha256').update(mutated).digest('hex')

const main = async (): Promise<void> => {
  const chosen = await choose(process.argv.slice(2))
  const postgres = await sharePostgres()
  const uses = await recordUses()
  const counts: Counts = { found: 0, survived: 0, equivalent: 0 }
  const mutants = chosen
    .flatMap(({ name, text }) => mutationsOf(text).map((each) => ({ name, text, ...each })))
    .sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
  console.log(`${mutants.length} mutants`)
  for (const mutant of mutants) await test(mutant, uses.get(mutant.name) ?? [], counts)
  await postgres.stop()
  rmSync(temporary, { recursive: true, force: true, maxRetries: 10 })
  const score = (100 * counts.found) / Math.max(1, counts.found + counts.survived)
  console.log(`sql: ${score.toFixed(1)} %, ${JSON.stringify(counts)}`)
  if (score < scoreMin) process.exitCode = 1
}

await main()
