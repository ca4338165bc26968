/**
 * `npm test`: runs every test file; those of a folder share processes.
 *
 * - `npm test -- FILE …` runs these files, or those of these folders, each in a process of its own,
 *   and prints what they print.
 * - `npm test -- --changed` runs the files that a change concerns (scripts/test/changed.ts).
 * - `npm test -- --suite NAME` runs one of the suites of scripts/test/suites.ts.
 */
import { availableParallelism } from 'node:os'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeClusterRun } from '../test/support/cluster-run.ts'
import { shortLived } from '../test/support/node-flags.ts'
import { findChanged } from './test/changed.ts'
import { writeProcesses } from './test/processes.ts'
import { reportRun } from './test/report.ts'
import { findSuite, listNamedFiles, listTestFiles } from './test/suites.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { changed: { type: 'boolean', default: false }, suite: { type: 'string' } },
})

const suite = values.suite === undefined ? null : findSuite(values.suite)
Object.assign(process.env, suite?.env)
const files = chooseFiles()
if (files.length === 0) console.log('No test file is concerned.')

// Two more than there are cores, since some tests mostly wait.
const concurrency = Number(process.env.TEST_FILES_AT_ONCE ?? availableParallelism() + 2)
// A separate object, since Node's types lack its newest members.
const options = {
  files: positionals.length > 0 ? files : await writeProcesses(files),
  concurrency,
  execArgv: [...shortLived],
  globalSetupPath: fileURLToPath(new URL('../test/support/global-setup.ts', import.meta.url)),
}
const result = await reportRun(run(options), files, positionals.length > 0)
if (files.length === listTestFiles().length && !process.env.TEST_CITUS_URL) {
  console.log(await describeClusterRun())
}
if (result.failed > 0) process.exitCode = 1
else if (positionals.length === 0) await suite?.record?.(files.length, result)

function chooseFiles(): readonly string[] {
  if (positionals.length > 0) return positionals.flatMap(listNamedFiles)
  if (values.changed) return findChanged(listTestFiles())
  return suite ? suite.files() : listTestFiles()
}
