import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOrMakeMasterKeys } from '../../src/hsm/software/master-keys.ts'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import { atEndOfFile } from './end-of-file.ts'
import { freePorts } from './free-ports.ts'
import { shortLived } from './node-flags.ts'
import { openTestPglite } from './pglite.ts'
import type { PgliteImage } from './pglite-image.ts'
import type { RunAs } from './postgres-binaries.ts'
import { openServerDatabase } from './service.ts'
import type { TestPostgres } from './test-databases.ts'

/**
 * The program as an operator starts it: `node src/main.ts` in a process of its own, on free ports
 * of loopback, with a folder of its own. Whatever a test leaves running is killed and removed.
 *
 * ```ts
 * const program = await startProgram()
 * const answer = await program.call('GET', '/products', { token: await program.token() })
 * await program.kill('SIGKILL')
 * const again = await startProgram({ dataDir: program.dataDir })
 * ```
 */

export type ProgramOptions = {
  /** One that another program has left; without it, a new one that is removed after the tests. */
  dataDir?: string
  env?: Readonly<Record<string, string>>
  /** The user that it runs as; ours unless it is given. */
  runAs?: RunAs
  /** What is typed to start it, in the project's folder. */
  words?: readonly [string, ...string[]]
}

export type ProgramAnswer = {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it expects to be there.
  json: any
}

export type ProgramCall = {
  token?: string
  body?: unknown
  headers?: Readonly<Record<string, string>>
}

export type StartedProgram = {
  dataDir: string
  pid: number
  baseUrl: string
  privateUrl: string
  /** Everything that it printed so far. */
  stdout: () => string
  stderr: () => string
  /** Resolves when it has ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Sends a signal and waits for the end. */
  kill: (signal: NodeJS.Signals) => Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export type Program = StartedProgram & {
  sandbox: SandboxFile
  token: (scope?: string) => Promise<string>
  call: (method: string, path: string, call?: ProgramCall) => Promise<ProgramAnswer>
}

/** All that a program gets of the environment of the tests. */
export const bareEnvironment = {
  PATH: process.env.PATH,
  // Another program of the tests may have the sandbox's usual one.
  LINK_PORT: '0',
  ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
}

const projectFolder = fileURLToPath(new URL('../../', import.meta.url))
const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const running = new Set<ChildProcess>()
const folders = new Set<string>()

/**
 * What stops the servers that run in this process, on folders as programs have them: before the
 * folders go.
 */
export const servedHere = new Set<() => Promise<void>>()

atEndOfFile(async () => {
  const children = [...running]
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
  for (const stop of servedHere) await stop()
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
  folders.clear()
})

/** A folder that is removed after the tests of the file. */
export const makeFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-program-'))
  folders.add(folder)
  return folder
}

/**
 * A data directory with an embedded database in it, which spares the program making one.
 * @param prepare what is done to it; without, it is empty.
 */
export const makePreparedFolder = async (
  prepare: (database: Database) => Promise<unknown> = async () => undefined,
  image: PgliteImage = 'empty',
): Promise<string> => {
  const folder = await makeFolder()
  const database = await openTestPglite({ folder: join(folder, 'pgdata'), image, prepare })
  await database.close()
  return folder
}

/**
 * The same at this program's schema, as commands need it, with a master key and the RSA keys: every
 * program would otherwise draw some for two seconds of a processor.
 */
export const makeMigratedFolder = async (): Promise<string> => {
  template ??= makeTemplate()
  const folder = await makeFolder()
  await cp(await template, folder, { recursive: true })
  return folder
}

/** What those folders are copies of: the first who asks makes it. */
let template: Promise<string> | undefined

const makeTemplate = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-template-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await readOrMakeMasterKeys(join(folder, 'master.key'))
  const options = { folder: join(folder, 'pgdata'), image: 'migrated' } as const
  const database = await openTestPglite(options)
  await keepRsaKeys({ database, dataDir: folder })
  await database.close()
  return folder
}

/** The same for programs on a database server: the folder, and what names their database. */
export const openServerFolder = async (postgres: TestPostgres) => {
  const folder = await makeFolder()
  await readOrMakeMasterKeys(join(folder, 'master.key'))
  const { database, url } = await openServerDatabase(postgres, 1)
  await keepRsaKeys({ database, dataDir: folder })
  return { dataDir: folder, env: { DATABASE_URL: url, SANDBOX: 'true' } }
}

/** Starts the program and waits until it is ready. */
export const startProgram = async (options: ProgramOptions = {}): Promise<Program> => {
  const program = await spawnProgram(options)
  const isReady = await Promise.race([
    printed(program, 'Pinfold is ready'),
    program.ended.then(() => false),
  ])
  if (!isReady) {
    // Between the choice of a port and its use another process may have taken it.
    if (program.stderr().includes('EADDRINUSE')) {
      return startProgram({ ...options, dataDir: program.dataDir })
    }
    throw new Error(`The program did not start: ${program.stdout()}${program.stderr()}`)
  }
  const text = await readFile(join(program.dataDir, 'sandbox.json'), 'utf8').catch(() => '{}')
  const sandbox = JSON.parse(text) as SandboxFile
  const started: Program = {
    ...program,
    sandbox,
    token: (scope) => askToken(sandbox, scope),
    call: (method, path, call) => request(program.baseUrl, method, path, call),
  }
  const child = starts.get(program)
  if (child) starts.set(started, child)
  return started
}

const starts = new WeakMap<StartedProgram, ChildProcess>()

/** What a program says that refuses to start. @throws Error where it starts, after all. */
export const startRefused = async (options: ProgramOptions): Promise<string> => {
  const program = await spawnProgram(options)
  const end = await Promise.race([program.ended, printed(program, 'Pinfold is ready')])
  if (end !== true && end.code === 1) return program.stderr()
  await program.kill('SIGKILL')
  throw new Error(`It was not refused: ${program.stdout()}${program.stderr()}`)
}

/** Starts the program and does not wait: for those that are to end by themselves. */
export const spawnProgram = async ({
  dataDir,
  env = {},
  runAs,
  words: [word, ...others] = [process.execPath, ...shortLived, mainFile],
}: ProgramOptions): Promise<StartedProgram> => {
  const folder = dataDir ?? (await (env.DATABASE_URL ? makeFolder() : makeMigratedFolder()))
  const [port, privatePort] = await freePorts()
  const child = spawn(word, others, {
    cwd: projectFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...runAs,
    env: {
      ...bareEnvironment,
      DATA_DIR: folder,
      PORT: String(port),
      PRIVATE_PORT: String(privatePort),
      ...env,
    },
  })
  running.add(child)
  const printedOut = collect(child, 'stdout')
  const printedErr = collect(child, 'stderr')
  const ended = once(child, 'close').then(([code, signal]) => {
    running.delete(child)
    return { code, signal }
  })
  const program: StartedProgram = {
    dataDir: folder,
    pid: child.pid ?? 0,
    baseUrl: `${env.TLS_CERT_FILE ? 'https' : 'http'}://127.0.0.1:${port}`,
    privateUrl: `${env.PRIVATE_TLS_CERT_FILE ? 'https' : 'http'}://127.0.0.1:${privatePort}`,
    stdout: printedOut,
    stderr: printedErr,
    ended,
    kill: async (signal) => {
      child.kill(signal)
      return ended
    },
  }
  starts.set(program, child)
  return program
}

const collect = (child: ChildProcess, name: 'stdout' | 'stderr'): (() => string) => {
  const chunks: Buffer[] = []
  child[name]?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

/** Resolves when the program has printed a text on its standard output. */
export const printed = async (program: StartedProgram, text: string): Promise<true> => {
  const stdout = starts.get(program)?.stdout
  while (!program.stdout().includes(text)) {
    if (!stdout) throw new Error('This program was not started here.')
    await once(stdout, 'data')
  }
  return true
}

/** What the token endpoint of a sandbox gives its client. */
export const askToken = async (sandbox: SandboxFile, scope = sandbox.scope): Promise<string> => {
  const { clientId, clientSecret, tokenEndpoint } = sandbox
  const response = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  })
  if (!response.ok) throw new Error(`No token: ${await response.text()}`)
  const { access_token: token } = (await response.json()) as { access_token: string }
  return token
}

/** Paths of the specification are written without `/thr/processor`; others begin with `//`. */
export const request = async (
  baseUrl: string,
  method: string,
  path: string,
  { body, headers = {}, token }: ProgramCall = {},
): Promise<ProgramAnswer> => {
  const url = path.startsWith('//') ? path.slice(1) : `/thr/processor${path}`
  const response = await fetch(`${baseUrl}${url}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== ''
  const { status } = response
  return { status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}
