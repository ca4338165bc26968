/** `npm test [-- FILE …]`: every test, or those of the named files, each then in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { testPrograms } from '../test/support/programs.ts'

/** One more than the least machine has cores: some tests wait for what takes time by its nature. */
const concurrency = 3

const named = process.argv.slice(2)
const child = spawn(
  process.execPath,
  [
    '--test',
    `--test-concurrency=${concurrency}`,
    '--test-global-setup=test/support/global-setup.ts',
    ...(named.length > 0 ? named : testPrograms()),
  ],
  { stdio: 'inherit' },
)
const [code] = await once(child, 'exit')
process.exitCode = code ?? 1
