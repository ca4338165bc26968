/**
 * Measures scenario files: `npm run bench -- scenarios`. Runs the shipped files again and again, 200
 * scenarios in all, in a sandbox on an embedded database, twice under one seed, and fails if one
 * does not pass or if the two reports differ in a byte. `--count 40` runs fewer, `--seed 8` runs
 * them in another order.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePorts } from './support.ts'

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '7' },
  },
})
const count = Number(options.count)
const root = fileURLToPath(new URL('../', import.meta.url))
const folder = 'examples/scenarios'

interface Run {
  readonly report: string
  readonly seconds: number
}

/** Starts the sandbox, runs the work, and removes the sandbox. */
async function withSandbox(work: (environment: NodeJS.ProcessEnv) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-scenarios-'))
  const [port, privatePort] = await freePorts(2)
  const environment = {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: String(port),
    PRIVATE_PORT: String(privatePort),
    LINK_PORT: '0',
    LOG_LEVEL: 'warn',
  }
  const service = spawn(process.execPath, ['src/main.ts'], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await untilReady(service)
    await work(environment)
  } finally {
    service.kill('SIGTERM')
    if (service.exitCode === null) await once(service, 'exit')
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function untilReady({ stdout }: ChildProcess): Promise<void> {
  if (!stdout) throw new Error('Its standard output is not read.')
  let printed = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk
    if (printed.includes('Pinfold is ready')) break
  }
  stdout.resume()
}

/** Runs the command in a process of its own, its start included in the time. */
async function runAll(files: readonly string[], environment: NodeJS.ProcessEnv): Promise<Run> {
  const fromMs = performance.now()
  const words = ['bin/pinfold.mjs', 'scenario', 'run', ...files, '--seed', options.seed]
  const command = spawn(process.execPath, words, {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [report] = await Promise.all([text(command.stdout), once(command, 'exit')])
  if (command.exitCode !== 0) throw new Error(report)
  return { report, seconds: (performance.now() - fromMs) / 1_000 }
}

const shipped = (await readdir(join(root, folder))).sort()
const files = Array.from({ length: count }, (_, at) =>
  join(folder, shipped[at % shipped.length] ?? ''),
)

await withSandbox(async (environment) => {
  const runs: Run[] = []
  for (const name of ['first', 'second']) {
    const run = await runAll(files, environment)
    runs.push(run)
    const digest = createHash('sha256').update(run.report).digest('hex').slice(0, 16)
    console.log(`${name} run: ${count} scenarios in ${run.seconds.toFixed(1)} s, report ${digest}`)
  }
  if (new Set(runs.map(({ report }) => report)).size > 1) {
    throw new Error('The reports differ.')
  }
  console.log('Both reports have the same bytes.')
})
