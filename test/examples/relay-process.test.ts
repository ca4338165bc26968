import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readdir, readFile, watch, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { platform } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { makeFolder } from '../support/process.ts'
import { openChromium, readCard } from '../web/support/chromium.ts'
import {
  choosePin,
  freePort,
  issueCard,
  openDemo,
  reveal,
  startSandbox,
} from '../web/support/demo.ts'

/** The client system as a process of its own, and a look into all of its memory. */
type RelayProcess = {
  /** Everything that it printed. */
  printed: () => Buffer
  /** Everything in its memory that it could have written: heap, stacks, buffers. */
  memory: () => Promise<Buffer>
  /** Every string of its JavaScript heap, as V8 tells them. */
  heapStrings: () => Promise<Buffer>
}

const program = fileURLToPath(new URL('../../examples/demo/relay/main.ts', import.meta.url))

/** @param url where browsers reach it, which is not its own port. */
const startRelay = async (
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

/**
 * The process stands still meanwhile, so that nothing moves from what is unread to what was read.
 */
const readMemory = async (relay: ChildProcess): Promise<Buffer> => {
  relay.kill('SIGSTOP')
  const memory = await open(`/proc/${relay.pid}/mem`, 'r')
  try {
    const parts: Buffer[] = []
    // One for all: thousands of them would have all garbage looked for again and again.
    const piece = Buffer.alloc(pieceBytes)
    for (const { length, start } of await writableMappings(relay.pid ?? 0)) {
      // What was mapped and never touched, or guards a stack, cannot be read.
      const { bytesRead } = await memory
        .read(piece, 0, length, start)
        .catch(() => ({ bytesRead: 0 }))
      const read = piece.subarray(0, bytesRead)
      // Most of what is mapped was never written to.
      if (!read.equals(zeros.subarray(0, bytesRead))) parts.push(Buffer.from(read))
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
  const changes = watch(folder, { signal: AbortSignal.timeout(120_000) })
  relay.kill('SIGUSR2')
  for await (const { filename } of changes) if (isSnapshot(filename)) break
  // It answers nobody until it is written.
  await fetch(url)
  const name = (await readdir(folder)).find(isSnapshot)
  // The rest of a snapshot is sizes and numbers of its own: any six digits can be among them.
  const { strings } = JSON.parse(await readFile(join(folder, name ?? ''), 'utf8'))
  return Buffer.from(strings.join('\n'))
}

/** A wire that keeps every byte that goes over it, in both directions. */
type Recorder = {
  url: string
  recorded: () => Buffer
}

/** @param targetPort where it leads. Nobody needs to listen there yet. */
const record = async (targetPort: number): Promise<Recorder> => {
  const chunks: Buffer[] = []
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1')
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      from.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        to.write(chunk)
      })
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => server.close())
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The recorder has no port.')
  return { url: `http://127.0.0.1:${address.port}`, recorded: () => Buffer.concat(chunks) }
}

const chromium = await openChromium()
const skip = chromium.leftOut || (platform() !== 'linux' && 'Memory of a process is read on Linux.')

test('nothing that the device shows is in the memory, log or traffic of the relay', {
  skip,
}, async () => {
  const [servicePort, relayPort] = [await freePort(), await freePort()]
  const toService = await record(servicePort)
  const toRelay = await record(relayPort)
  const sandbox = await startSandbox({ port: servicePort, baseUrl: toService.url })
  const relay = await startRelay(sandbox.file, relayPort, toRelay.url)
  // Six digits can stand in a memory by chance: these do not, before anybody typed them.
  const before = await relay.memory()
  const { complaints, devtools, page, requested } = await chromium.visit()
  await openDemo(page, toRelay.url)
  await issueCard(page, '1003')
  const lastFour = (await readCard(devtools)).pan.slice(-4)
  const pin = ['628416', '719340', '805372', '340957'].find(
    (each) => !holds(before, each) && !each.includes(lastFour),
  )
  assert.ok(pin)
  assert.equal(await choosePin(page, pin), 'Your new PIN is set.')
  await page.check('#with-pin')
  const answered = page.waitForResponse((response) => response.url().endsWith('/encrypted'))
  await reveal(page)
  const { jwe } = await (await answered).json()
  const shown = await readCard(devtools)
  assert.deepEqual([shown.pin, shown.pan.length, shown.cvv.length], [pin, 16, 3])
  assert.deepEqual(complaints, [])
  for (const url of requested) {
    const isKeys = url === `${toService.url}/.well-known/jwks.json`
    assert.ok(isKeys || url.startsWith(`${toRelay.url}/demo`) || url === 'data:,', url)
  }

  const places = {
    memory: await relay.memory(),
    heap: await relay.heapStrings(),
    log: relay.printed(),
    'traffic with the device': toRelay.recorded(),
    'traffic with the service': toService.recorded(),
  }
  const secrets = secretsOf(shown)
  for (const [name, bytes] of Object.entries(places)) {
    for (const secret of secrets) assert.ok(!holds(bytes, secret), `${secret} is in the ${name}`)
  }
  // What it did relay is found in the same places by the same search, or finding nothing says
  // nothing.
  for (const name of [
    'memory',
    'heap',
    'traffic with the device',
    'traffic with the service',
  ] as const) {
    assert.ok(holds(places[name], jwe), `the ciphertext is in the ${name}`)
  }
})

/** As text of one byte or two a character: V8 keeps both. */
const holds = (bytes: Buffer, text: string): boolean =>
  bytes.includes(Buffer.from(text, 'latin1')) || bytes.includes(Buffer.from(text, 'utf16le'))

/**
 * Three digits alone are everywhere: the CVV is looked for as it stands in what is sealed, where
 * the number is beside it.
 */
const secretsOf = ({ cvv, pan, pin }: { cvv: string; pan: string; pin: string }): string[] => [
  pan,
  pan.replaceAll(/(.{4})(?=.)/g, '$1 '),
  Buffer.from(pan).toString('hex'),
  pin,
  `"CVV":"${cvv}"`,
  `\\"CVV\\":\\"${cvv}\\"`,
  `"cvv":"${cvv}"`,
]
