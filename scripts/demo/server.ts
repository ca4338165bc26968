import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readSandboxFile, type SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { type Config, readConfig } from '../../src/service/config/config.ts'
import { requireNewOrCurrent } from '../../src/service/database.ts'
import { findListeningRefusal } from '../../src/service/listening-refusal.ts'
import { createLog } from '../../src/service/log.ts'

/** The server of the demo. */
export interface DemoServer {
  readonly sandbox: SandboxFile
  /** Whether it was started for the demo. */
  readonly isOwn: boolean
  /** Stops it if it was started for the demo. */
  stop(): Promise<void>
}

const startTimeoutMs = 60_000
const pollMs = 100
const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/**
 * Finds the sandbox that runs on `DATA_DIR`, or starts one there.
 * @throws Error with the reason.
 */
export async function findServer(): Promise<DemoServer> {
  const config = readConfig()
  if (!config.sandbox) throw new Error('The demo needs a sandbox. Remove SANDBOX=false.')
  const running = await readSandboxFile(config.dataDir)
  if (running && (await isReady(running.privateUrl))) {
    return { sandbox: running, isOwn: false, stop: async () => {} }
  }
  await requireFreePorts(config)
  // A demo must not migrate a database of another version.
  await requireNewOrCurrent(config, createLog('silent'))
  return startServer(config)
}

/** @throws Error when another server has a port, since it would be mistaken for the demo's own. */
async function requireFreePorts({ dataDir, privateListener, publicListener }: Config) {
  for (const [variable, { host, port }] of [
    ['PORT', publicListener],
    ['PRIVATE_PORT', privateListener],
  ] as const) {
    const refusal = await findListeningRefusal(host, port)
    if (refusal === null) continue
    throw new Error(
      `The demo cannot start a server for ${dataDir}: another server uses ${host}:${port} ` +
        `(${refusal}). Stop that server, set DATA_DIR to its folder, or set ${variable} to a ` +
        'free port.',
    )
  }
}

async function startServer(config: Config): Promise<DemoServer> {
  // The server runs for seconds: a second, optimizing compilation of the embedded database is
  // skipped.
  const server = spawn(process.execPath, ['--liftoff-only', program], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, LOG_LEVEL: 'warn' },
  })
  stopWithThisProcess(server)
  const stop = () => stopServer(server)
  try {
    await untilReady(server, config.privateUrl)
    const sandbox = await readSandboxFile(config.dataDir)
    if (!sandbox) throw new Error(`The server wrote no sandbox.json to ${config.dataDir}.`)
    return { sandbox, isOwn: true, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Stops the server, however this process ends. */
function stopWithThisProcess(server: ChildProcess): void {
  process.once('exit', () => server.kill('SIGTERM'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1))
  }
}

async function untilReady(server: ChildProcess, privateUrl: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  while (!(await isReady(privateUrl))) {
    if (server.exitCode !== null) throw new Error('The server did not start.')
    if (Date.now() > deadline) throw new Error(`The server is not ready on ${privateUrl}.`)
    await wait(pollMs)
  }
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  server.kill('SIGTERM')
  await exited
}

const isReady = (privateUrl: string): Promise<boolean> =>
  fetch(`${privateUrl}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  )
