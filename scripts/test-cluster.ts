/**
 * `npm run test:cluster [-- FILE …]`: the suites of operations and storage, and what both listeners are asked, on the Citus
 * cluster that TEST_CITUS_URL names, in place of an embedded database and of a server. One file after the other: each has
 * databases of its own, and a cluster makes one on every node.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

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
const { status } = spawnSync(process.execPath, ['scripts/test.ts', ...files], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    TEST_SERVER: 'cluster',
    TEST_PGLITE_LEFT_OUT: 'the cluster takes its place',
    TEST_FILES_AT_ONCE: '1',
  },
})
process.exitCode = status ?? 1
