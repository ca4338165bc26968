import * as cli from '../command.ts'
import { findLocalSandbox } from '../connection/local-sandbox.ts'
import { readNamedFile } from '../files.ts'
import { print } from '../output.ts'
import { parseScenario, type ScenarioFile } from '../scenario/file.ts'
import { runScenarios, type ScenarioResult } from '../scenario/run.ts'

export const scenarioCommand: cli.Command = {
  words: 'scenario run',
  names: ['FILE…'],
  summary: 'runs scenario files in the sandbox, each from the present state',
  description:
    'A scenario names cardholders, calls and the expected answers and events. The sandbox has ' +
    'its\nstate again afterwards. The exit code is 1 if a scenario fails, and 2 for an invalid ' +
    'file.\nThe same output under the same seed.',
  options: {
    seed: { type: 'string', value: 'TEXT', help: 'decides the order of the files' },
  },
  connection: [],
  example: 'pinfold scenario run examples/scenarios/*.yaml --seed 7',
  async run(call) {
    const files = await readFiles(call.names)
    const sandbox = await findLocalSandbox()
    const { json = false } = call.options
    const seed = cli.findText(call, 'seed') ?? null
    const results = await runScenarios(sandbox, files, seed, (result) => {
      if (!json) print(describeResult(result), { '✔': 'green', '✖': 'red' })
    })
    const failed = results.filter(({ failure }) => failure !== null).length
    const passed = results.length - failed
    return {
      json: { passed, failed, results },
      text: `${passed} passed, ${failed} failed.`,
      exitCode: failed === 0 ? cli.exitCodes.done : cli.exitCodes.refused,
    }
  },
}

/** @throws UsageError with the faults of all files. */
async function readFiles(paths: readonly string[]): Promise<readonly ScenarioFile[]> {
  const faults: string[] = []
  const files: ScenarioFile[] = []
  for (const path of paths) {
    try {
      files.push(parseScenario(path, await readNamedFile(path)))
    } catch (error) {
      if (!(error instanceof cli.UsageError)) throw error
      faults.push(error.message)
    }
  }
  if (faults.length > 0) throw new cli.UsageError(faults.join('\n'))
  return files
}

function describeResult({ failure, file, scenario }: ScenarioResult): string {
  if (!failure) return `✔ ${scenario}`
  const { differences, line, step } = failure
  const details = differences.map((each) => each.replaceAll(/^/gm, '    '))
  return [`✖ ${scenario}`, `  ${file}:${line}: ${step}`, ...details].join('\n')
}
