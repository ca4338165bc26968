import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseCheckpoint } from '../../../sdk/audit/audit.ts'
import { tilePath, tilesOfSize, tileWidth } from '../../domain/audit-tree.ts'
import { Unreachable } from '../command.ts'
import type { ServiceConnection } from '../connection/requests.ts'

/** A log as the private listener lists it. */
interface Log {
  readonly log: number
  readonly origin: string
}

/** What was written of a log. */
interface ExportedLog extends Log {
  readonly size: number
}

/** Requests that are under way at once, and files after which it is said how far it is. */
const [together, saidEvery] = [8, 1_000]

/**
 * Writes every log to a folder as it is published, with what its entries say: the one in use to the folder itself, those
 * before it to `logs/<n>`. Checkpoints of earlier exports to it are kept, for the verifier to hold the logs against.
 */
export async function exportLogs(
  service: ServiceConnection,
  folder: string,
  onProgress: (line: string) => void,
): Promise<ExportedLog[]> {
  const logs = await service.ask<Log[]>('GET', '/audit/logs')
  await writeDurably(join(folder, 'keys'), (await service.readBytes('/audit/keys'))?.bytes)
  const exported: ExportedLog[] = []
  // The oldest first: what is erased of it is covered by an entry of one that is read later.
  for (const { log, origin } of logs.toReversed()) {
    const isNewest = log === logs[0]?.log
    const own = isNewest ? folder : join(folder, 'logs', String(log))
    const size = await exportLog(service, log, own, (done) => onProgress(`${origin}: ${done}`))
    if (size > 0) exported.unshift({ log, origin, size })
  }
  return exported
}

/** @returns how many entries were written; 0 of a log without a checkpoint. */
async function exportLog(
  service: ServiceConnection,
  log: number,
  folder: string,
  onProgress: (line: string) => void,
): Promise<number> {
  const at = `/audit/logs/${log}`
  let written = 0
  let note = await service.readBytes(`${at}/checkpoint`)
  if (note) await removeOther(folder, note.bytes)
  // What entries say before the checkpoint under which they are exported: what is erased meanwhile is covered there.
  for (let hasErased = true; note && (hasErased || written < sizeOf(note.bytes)); ) {
    const { bytes } = note
    const size = sizeOf(bytes)
    const first = Math.floor(written / tileWidth)
    const bundles = Array.from({ length: Math.ceil(size / tileWidth) - first }, (_, n) => first + n)
    hasErased = false
    await inTurn(bundles, onProgress, async (bundle) => {
      const said = await needed(service, `${at}/openings/${bundle}`)
      hasErased ||= written > 0 && Buffer.from(said).includes('"erased":true')
      await writeWhole(join(folder, `openings/${bundle}.jsonl`), said)
    })
    written = size
    note = await service.readBytes(`${at}/checkpoint`)
  }
  if (!note) return 0
  const size = sizeOf(note.bytes)
  await inTurn(pathsOf(size), onProgress, async (path) => {
    await writeWhole(join(folder, path), await needed(service, `${at}/${path}`))
  })
  await keepCheckpoint(folder, Buffer.from(note.bytes).toString())
  await writeDurably(join(folder, 'checkpoint'), note.bytes)
  return size
}

const sizeOf = (note: Uint8Array): number => {
  const text = Buffer.from(note).toString()
  return parseCheckpoint(text.slice(0, text.lastIndexOf('\n\n') + 1)).size
}

/** Every tile and bundle of a tree (c2sp.org/tlog-tiles). */
function pathsOf(size: number): string[] {
  return tilesOfSize(size).flatMap(({ full, level, partial }) =>
    (level === 0 ? [0, 'entries' as const] : [level]).flatMap((each) => [
      ...Array.from({ length: full }, (_, index) => tilePath(each, index)),
      ...(partial > 0 ? [tilePath(each, full, partial)] : []),
    ]),
  )
}

async function needed(service: ServiceConnection, path: string): Promise<Uint8Array> {
  const answer = await service.readBytes(path)
  if (answer) return answer.bytes
  throw new Unreachable(`${path} is not there, though it is of a tree that was signed.`)
}

async function inTurn<Item>(
  items: readonly Item[],
  onProgress: (line: string) => void,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.entries()
  await Promise.all(
    Array.from({ length: together }, async () => {
      for (const [at, item] of rest) {
        if (at % saidEvery === 0) onProgress(`file ${at} of ${items.length}`)
        await work(item)
      }
    }),
  )
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, bytes)
}

/** Takes away what an earlier export wrote of another log: it belongs to none of the entries that are written now. */
async function removeOther(folder: string, note: Uint8Array): Promise<void> {
  const kept = await readFile(join(folder, 'checkpoint')).catch(() => null)
  if (!kept || originOf(kept) === originOf(note)) return
  for (const name of ['openings', 'tile'])
    await rm(join(folder, name), { recursive: true, force: true })
}

/** The line that a checkpoint begins with. */
const originOf = (note: Uint8Array): string => Buffer.from(note).toString().split('\n', 1)[0] ?? ''

/** Beside those of earlier exports, each a line of JSON. */
async function keepCheckpoint(folder: string, note: string): Promise<void> {
  const path = join(folder, 'checkpoints.jsonl')
  const kept = await readFile(path, 'utf8').catch(() => '')
  const line = `${JSON.stringify(note)}\n`
  if (!kept.split('\n').includes(line.trimEnd())) {
    await writeDurably(path, Buffer.from(`${kept}${line}`))
  }
}

/** A crash leaves the older file or this one whole. */
export async function writeDurably(
  path: string,
  bytes: Uint8Array = new Uint8Array(),
): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const handle = await open(`${path}.draft`, 'w')
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.draft`, path)
}
