/**
 * Debian's PgBouncer in front of a test server. `TEST_PGBOUNCER=required` turns a missing one into
 * an error.
 *
 * ```ts
 * const bouncer = await openPgBouncer(postgres, 'session')
 * const url = bouncer.composeUrl('cards')
 * ```
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atEndOfFile } from './end-of-file.ts'
import { freePorts } from './free-ports.ts'
import { reachableTemporaryFolder, unprivilegedUser } from './postgres-binaries.ts'

export type PoolMode = 'session' | 'transaction' | 'statement'

const programs = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer']
const program = programs.find((path) => existsSync(path))

/** For `test(title, { skip: pgBouncerLeftOut }, …)`: `false`, or why there is none. */
export const pgBouncerLeftOut = program ? false : 'PgBouncer is not installed'
if (pgBouncerLeftOut && process.env.TEST_PGBOUNCER === 'required') throw new Error(pgBouncerLeftOut)

/** Starts one on a free port of loopback; it ends with the file. @param serverUrl of a superuser */
export const openPgBouncer = async (
  serverUrl: string,
  poolMode: PoolMode,
): Promise<{ composeUrl: (database: string) => string }> => {
  if (!program) throw new Error('PgBouncer is not installed')
  const runAs = await unprivilegedUser()
  const folder = await mkdtemp(join(await reachableTemporaryFolder(runAs), 'pinfold-pgbouncer-'))
  await chmod(folder, 0o755)
  const server = new URL(serverUrl)
  const [port] = await freePorts()
  const file = join(folder, 'pgbouncer.ini')
  const login = `user=${server.username} password=${decodeURIComponent(server.password)}`
  await writeFile(
    file,
    `[databases]
* = host=${server.hostname} port=${server.port} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = 40
`,
    { mode: 0o644 },
  )
  const child = spawn(program, [file], { ...runAs, cwd: '/', stdio: 'ignore' })
  const ended = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  while (!(await answers(port))) {
    if (child.exitCode !== null)
      throw new Error(`PgBouncer ended with exit code ${child.exitCode}.`)
    await sleep(20)
  }
  return { composeUrl: (database) => `postgresql://pinfold@127.0.0.1:${port}/${database}` }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
