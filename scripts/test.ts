/** `npm test [-- FILE …]`: every test, or those of the named files, each then in a process of its own. */
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { describeClusterRun } from '../test/support/cluster-run.ts'
import { testPrograms } from '../test/support/programs.ts'

/** All programs of the tests, three more than the least machine has cores: some tests wait for what takes time by its nature. */
const concurrency = Number(process.env.TEST_FILES_AT_ONCE ?? 5)

const named = process.argv.slice(2)
if (named.length === 0 && !process.env.TEST_CITUS_URL) console.log(await describeClusterRun())
const files = named.length > 0 ? named : await testPrograms()
const globalSetupPath = fileURLToPath(new URL('../test/support/global-setup.ts', import.meta.url))
const runnerHook = new URL('../test/support/runner-hook.ts', import.meta.url)
const execArgv = ['--import', runnerHook.href]
// An object of its own: the types of Node do not know the last of its members yet.
const options = { files, concurrency, execArgv, globalSetupPath }
const tests = run(options)
tests.on('test:fail', () => {
  process.exitCode = 1
})
tests.compose(spec).pipe(process.stdout)
