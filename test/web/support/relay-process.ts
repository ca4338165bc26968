/** The client system as a process of its own, and a look into all of its memory. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readdir, readFile, watch, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { SandboxFile } from '../../../src/sandbox/sandbox-file.ts'
import { makeFolder } from '../../support/process.ts'

export type RelayProcess = {
  /** Everything that it printed. */
  printed: () => Buffer
  /** Everything in its memory that it could have written: heap, stacks, buffers. */
  memory: () => Promise<Buffer>
  /** Every string of its JavaScript heap, as V8 tells them. */
  heapStrings: () => Promise<Buffer>
}

const program = fileURLToPath(new URL('../../../web/relay/main.ts', import.meta.url))

/** @param url where browsers reach it, which is not its own port. */
export const startRelay = async (
  { baseUrl, clientId, clientSecret, processorPath }: SandboxFile,
  port: number,
  url: string,
): Promise<RelayProcess> => {
  const folder = await makeFolder()
  const client = join(folder, 'client.json')
  await writeFile(client, JSON.stringify({ baseUrl, clientId, clientSecret, processorPath }))
  const flags = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${folder}`]
  const parameters = ['--client', client, '--port', String(port), '--url', url]
  const relay = spawn(process.execPath, [...flags, program, ...parameters])
  after(() => relay.kill('SIGKILL'))
  const chunks: Buffer[] = []
  for (const stream of [relay.stdout, relay.stderr]) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  }
  const printed = () => Buffer.concat(chunks)
  while (!printed().includes('is ready')) await once(relay.stdout, 'data')
  return {
    printed,
    memory: () => readMemory(relay),
    heapStrings: () => stringsOfHeap(relay, folder, `${url}/demo/relay/journal`),
  }
}

const pieceBytes = 1 << 18
const zeros = Buffer.alloc(pieceBytes)

/** The process stands still meanwhile, so that nothing moves from what is unread to what was read. */
const readMemory = async (relay: ChildProcess): Promise<Buffer> => {
  relay.kill('SIGSTOP')
  const memory = await open(`/proc/${relay.pid}/mem`, 'r')
  try {
    const parts: Buffer[] = []
    for (const { length, start } of await writableMappings(relay.pid ?? 0)) {
      const part = Buffer.alloc(length)
      // What was mapped and never touched, or guards a stack, cannot be read.
      const { bytesRead } = await memory
        .read(part, 0, length, start)
        .catch(() => ({ bytesRead: 0 }))
      const read = part.subarray(0, bytesRead)
      // Most of what is mapped was never written to.
      if (!read.equals(zeros.subarray(0, bytesRead))) parts.push(read)
    }
    return Buffer.concat(parts)
  } finally {
    await memory.close()
    relay.kill('SIGCONT')
  }
}

/** In pieces: one page that cannot be read ends a read, and costs no more than its piece. */
const writableMappings = async (pid: number) => {
  const lines = (await readFile(`/proc/${pid}/maps`, 'utf8')).split('\n')
  return lines.flatMap((line) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
    if (from === undefined || to === undefined) return []
    const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)]
    return Array.from({ length: Math.ceil((end - start) / pieceBytes) }, (_, index) => {
      const begin = start + index * pieceBytes
      return { start: begin, length: Math.min(pieceBytes, end - begin) }
    })
  })
}

const stringsOfHeap = async (relay: ChildProcess, folder: string, url: string): Promise<Buffer> => {
  const isSnapshot = (name: string | null) => name?.endsWith('.heapsnapshot') ?? false
  const changes = watch(folder, { signal: AbortSignal.timeout(30_000) })
  relay.kill('SIGUSR2')
  for await (const { filename } of changes) if (isSnapshot(filename)) break
  // It answers nobody until it is written.
  await fetch(url)
  const name = (await readdir(folder)).find(isSnapshot)
  // The rest of a snapshot is sizes and numbers of its own: any six digits can be among them.
  const { strings } = JSON.parse(await readFile(join(folder, name ?? ''), 'utf8'))
  return Buffer.from(strings.join('\n'))
}
