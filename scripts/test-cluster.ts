/**
 * `npm run test:cluster [-- FILE …]`: the suites of operations and storage, and of what both listeners are asked, on the
 * Citus cluster that TEST_CITUS_URL names, which replaces the embedded database and the server. The files run one after
 * the other unless TEST_FILES_AT_ONCE says otherwise, because a cluster makes the databases of a file on every node. A run
 * of all files that passes is put on record in `test/storage/engine/cluster-run.json`, which `npm test` reports where it
 * has no cluster.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { writeClusterRun } from '../test/support/cluster-run.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** What is about the embedded database, or about the plans and the server of one PostgreSQL. */
const ofOneServer =
  /storage\/(bounded-statements|round-trips|cards\/(ordered-lists|settle-waits)|engine\/(?!cluster|leases))/

if (!process.env.TEST_CITUS_URL) {
  console.log('Citus leg left out: TEST_CITUS_URL names no cluster.')
  process.exit(process.env.TEST_CITUS === 'required' ? 1 : 0)
}
const named = process.argv.slice(2)
const suites = globSync(
  'test/{operations,storage,listeners/public,listeners/private}/**/*.test.ts',
  {
    cwd: root,
  },
)
const files = named.length > 0 ? named : suites.filter((file) => !ofOneServer.test(file)).sort()
const testing = spawn(process.execPath, ['scripts/test.ts', ...files], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    TEST_SERVER: 'cluster',
    TEST_PGLITE_LEFT_OUT: 'the cluster takes its place',
    TEST_FILES_AT_ONCE: process.env.TEST_FILES_AT_ONCE ?? '1',
  },
})
/** What the end of a run says of it. */
let end = ''
testing.stdout.on('data', (piece: Buffer) => {
  process.stdout.write(piece)
  end = (end + piece.toString()).slice(-100_000)
})
const [status]: unknown[] = await once(testing, 'close')
process.exitCode = typeof status === 'number' ? status : 1

const counted = (what: string): number =>
  Number([...end.matchAll(new RegExp(`^ℹ ${what} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0)
if (status === 0 && named.length === 0) {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root })
  await writeClusterRun(process.env.TEST_CITUS_URL, {
    commit: commit.toString().trim(),
    files: files.length,
    tests: counted('pass'),
    skipped: counted('skipped'),
  })
}
