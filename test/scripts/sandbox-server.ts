import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** A place for a sandbox of its own: a fresh data directory and two free ports. */
export interface SandboxPlace {
  readonly dataDir: string
  readonly baseUrl: string
  readonly privateUrl: string
  /** What a process is given that runs there. */
  readonly env: Readonly<Record<string, string | undefined>>
  remove(): Promise<void>
}

export const projectRoot = fileURLToPath(new URL('../../', import.meta.url))

export async function sandboxPlace(): Promise<SandboxPlace> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-sandbox-test-'))
  const [port, privatePort] = await freePorts()
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env
  return {
    dataDir,
    baseUrl: `http://127.0.0.1:${port}`,
    privateUrl: `http://127.0.0.1:${privatePort}`,
    env: {
      ...outer,
      DATA_DIR: dataDir,
      PORT: String(port),
      PRIVATE_PORT: String(privatePort),
      LOG_LEVEL: 'warn',
    },
    remove: () => rm(dataDir, { recursive: true, force: true }),
  }
}

async function freePorts(): Promise<[number, number]> {
  const [one, two] = [createServer(), createServer()]
  const ports = await Promise.all([one, two].map(portOf))
  await Promise.all([one, two].map((server) => once(server.close(), 'close')))
  return [ports[0] ?? 0, ports[1] ?? 0]
}

async function portOf(server: ReturnType<typeof createServer>): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** Starts the program there. @returns what stops it, once it says that it is ready. */
export async function startSandbox({ env }: SandboxPlace): Promise<() => Promise<void>> {
  const server = spawn(process.execPath, ['src/main.ts'], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await Promise.race([
    untilSaid(server.stdout, 'Pinfold is ready'),
    once(server, 'exit').then(() => Promise.reject(new Error('The server did not start.'))),
  ])
  server.stdout.resume()
  return async () => {
    const exited = once(server, 'exit')
    server.kill('SIGTERM')
    await exited
  }
}

async function untilSaid(output: Readable, text: string): Promise<void> {
  let said = ''
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    said += chunk
    if (said.includes(text)) return
  }
}
