import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** The processes that one, by default this one, has started to hold its tokens: their ids. */
export async function tokenProcesses(of = process.pid): Promise<readonly number[]> {
  const listed = process.platform === 'linux' ? await listByFiles() : await listByCommand()
  return listed
    .filter(({ args, parent }) => parent === of && /\/pkcs11\/process\.ts/.test(args))
    .map(({ pid }) => pid)
}

type Listed = { pid: number; parent: number; args: string }

/** A slim image has no `ps`. */
async function listByFiles(): Promise<readonly Listed[]> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name))
  const listed = await Promise.all(
    pids.map(async (pid) => {
      const [status, args] = await Promise.all(
        ['status', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
      ).catch(() => ['', ''])
      const parent = Number(/^PPid:\s+([0-9]+)$/m.exec(status ?? '')?.[1])
      return { pid: Number(pid), parent, args: args ?? '' }
    }),
  )
  return listed
}

async function listByCommand(): Promise<readonly Listed[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='])
  return stdout.split('\n').map((line) => {
    const [, pid, parent, args = ''] = /^\s*([0-9]+)\s+([0-9]+)\s+(.*)$/.exec(line) ?? []
    return { pid: Number(pid), parent: Number(parent), args }
  })
}
