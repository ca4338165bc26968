import { findMostBytes, parseCheckpoint } from '../../../packages/audit/audit.ts'
import { listTreeTiles, tilePath, tileWidth } from '../../../packages/audit/tiles.ts'
import { escapeLine } from '../../domain/terminal-text.ts'
import { Unreachable } from '../command.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { readWithin, removeWithin, writeWithin } from '../files.ts'
import { type LogName, parseLogNames } from './log-names.ts'

/** The exported part of a log. */
interface ExportedLog extends LogName {
  readonly size: number
}

/** The source of an export. It bounds each answer by its kind of file, and the total. */
interface Source {
  /** @throws Unreachable when it does not exist. */
  readNeeded(path: string, mostBytes: number): Promise<Uint8Array>
  /** Null without one. */
  readCheckpoint(log: number): Promise<Checkpoint | null>
}

/** A checkpoint, not yet verified. */
interface Checkpoint {
  readonly bytes: Uint8Array
  readonly origin: string
  readonly size: number
}

/** The target of an export and the receiver of its progress. */
interface Target {
  readonly folder: string
  /** The folder of one log: empty, or `logs/<n>/`. */
  readonly prefix: string
  readonly onProgress: (line: string) => void
}

/** The number of concurrent requests. */
const atOnce = 8
/** The number of files between two reports of progress. */
const reportEvery = 1_000

/** The maximum number of rounds for entries that were added or erased during the export. */
const mostRounds = 1_000

/**
 * Exports every log to a folder in its published form, with the content of its entries: the current
 * one to the folder itself, previous ones to `logs/<n>`. Checkpoints of earlier exports to the
 * folder are kept, so that the verifier can compare the logs with them.
 * @param mostBytes the maximum size of an export
 * @throws Unreachable when the service's answers cannot be those of a log
 */
export async function exportLogs(
  service: ServiceConnection,
  folder: string,
  mostBytes: number,
  onProgress: (line: string) => void,
): Promise<ExportedLog[]> {
  const source = createSource(service, mostBytes)
  const logs = parseLogNames(await service.ask<unknown>('GET', '/audit/logs'))
  const keys = await source.readNeeded('/audit/keys', findMostBytes('keys'))
  await writeWithin(folder, 'keys', keys, { isDurable: true })
  const exported: ExportedLog[] = []
  // The oldest first: an erasure in it is recorded in a log that is read later.
  for (const { log, origin } of logs.toReversed()) {
    const prefix = log === logs[0]?.log ? '' : `logs/${log}/`
    const tell = (done: string) => onProgress(`${origin}: ${done}`)
    const size = await exportLog(source, log, { folder, prefix, onProgress: tell })
    if (size > 0) exported.unshift({ log, origin, size })
  }
  return exported
}

function createSource({ readBytes }: ServiceConnection, mostBytes: number): Source {
  let left = mostBytes
  const read = async (path: string, most: number): Promise<Uint8Array | null> => {
    const bytes = (await readBytes(path, most))?.bytes ?? null
    left -= bytes?.length ?? 0
    if (left >= 0) return bytes
    const limit = `more than ${Math.floor(mostBytes / bytesPerMebibyte)} MiB`
    throw new Unreachable(`The audit log exceeds the limit: ${limit}. To raise it, use --most-mib.`)
  }
  return {
    async readNeeded(path, most) {
      const bytes = await read(path, most)
      if (bytes) return bytes
      throw new Unreachable(`${path} is missing, although it belongs to a signed tree.`)
    },
    async readCheckpoint(log) {
      const bytes = await read(`/audit/logs/${log}/checkpoint`, findMostBytes('checkpoint'))
      return bytes && readCheckpoint(bytes)
    },
  }
}

export const bytesPerMebibyte = 1_048_576

/** @returns the number of exported entries; 0 for a log without a checkpoint. */
async function exportLog(source: Source, log: number, target: Target): Promise<number> {
  const { folder, onProgress, prefix } = target
  const at = `/audit/logs/${log}`
  const write = (path: string, bytes: Uint8Array, isDurable: boolean): Promise<void> =>
    writeWithin(folder, `${prefix}${path}`, bytes, { isDurable })
  let written = 0
  let checkpoint = await source.readCheckpoint(log)
  if (checkpoint) await removeOther(target, checkpoint)
  // Content is read before the checkpoint of the export, which then covers erasures during the
  // export.
  for (let round = 0; checkpoint && written < checkpoint.size; round++) {
    const { size } = checkpoint
    if (round >= mostRounds) throw new Unreachable(`${at} does not end.`)
    const bundles = numbers(Math.floor(written / tileWidth), Math.ceil(size / tileWidth))
    await inTurn(bundles, onProgress, async (bundle) => {
      const path = `openings/${bundle}.jsonl`
      await write(
        path,
        await source.readNeeded(`${at}/openings/${bundle}`, findMostBytes(path)),
        false,
      )
    })
    written = size
    checkpoint = await source.readCheckpoint(log)
    if (checkpoint && checkpoint.size < written) {
      throw new Unreachable(`${at} has fewer entries than before.`)
    }
  }
  if (!checkpoint) return 0
  const { bytes, size } = checkpoint
  await inTurn(listPaths(size), onProgress, async (path) => {
    await write(path, await source.readNeeded(`${at}/${path}`, findMostBytes(path)), false)
  })
  await keepCheckpoint(target, Buffer.from(bytes).toString())
  await write('checkpoint', bytes, true)
  return size
}

/** @throws Unreachable when it is malformed. */
function readCheckpoint(bytes: Uint8Array): Checkpoint {
  const note = Buffer.from(bytes).toString()
  try {
    const { origin, size } = parseCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))
    return { bytes, origin, size }
  } catch (cause) {
    const begins = escapeLine(note.slice(0, 40))
    throw new Unreachable(`The service returned no valid checkpoint: ${begins}`, { cause })
  }
}

/** Yields whole numbers; the last is excluded. */
function* numbers(first: number, end: number): Generator<number> {
  for (let number = first; number < end; number++) yield number
}

/** Yields the paths of all tiles and bundles of a tree (c2sp.org/tlog-tiles). */
function* listPaths(size: number): Generator<string> {
  for (const { full, level, partial } of listTreeTiles(size)) {
    for (const each of level === 0 ? [0, 'entries' as const] : [level]) {
      for (const index of numbers(0, full)) yield tilePath(each, index)
      if (partial > 0) yield tilePath(each, full, partial)
    }
  }
}

async function inTurn<Item>(
  items: Iterable<Item>,
  onProgress: (line: string) => void,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]()
  let count = 0
  // A failure also ends the other requests, since the list may be endless.
  let hasFailed = false
  const workOn = async (): Promise<void> => {
    for (let next = rest.next(); !next.done && !hasFailed; next = rest.next()) {
      if (count % reportEvery === 0) onProgress(`file ${count}`)
      count += 1
      await work(next.value).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, workOn))
}

/** Deletes another log's files of an earlier export, which match no exported entry. */
async function removeOther({ folder, prefix }: Target, { origin }: Checkpoint): Promise<void> {
  const path = `${prefix}checkpoint`
  const kept = await readWithin(folder, path, findMostBytes(path))
  if (!kept || Buffer.from(kept).toString().split('\n', 1)[0] === origin) return
  for (const name of ['openings', 'tile']) await removeWithin(folder, `${prefix}${name}`)
}

/** The maximum number of stored checkpoints: a tenth of a verifier's limit. */
const keptMost = 1_000
/** Their maximum size in bytes: half of a verifier's limit. */
const keptBytesMost = findMostBytes('checkpoints.jsonl') / 2

/** Appends the checkpoint to those of earlier exports, one JSON line each. */
async function keepCheckpoint({ folder, prefix }: Target, note: string): Promise<void> {
  const path = `${prefix}checkpoints.jsonl`
  const kept = await readWithin(folder, path, findMostBytes(path))
  const lines = Buffer.from(kept ?? [])
    .toString()
    .split('\n')
  const line = JSON.stringify(note)
  if (lines.includes(line)) return
  const text = thinLines([...lines.filter((each) => each !== ''), line]).join('\n')
  await writeWithin(folder, path, Buffer.from(`${text}\n`), { isDurable: true })
}

/**
 * Drops every other line of the older half until the limits are met. The oldest and the newest
 * stay.
 */
export function thinLines(lines: readonly string[]): readonly string[] {
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  if (lines.length < 3 || (lines.length <= keptMost && bytes <= keptBytesMost)) return lines
  const newerHalf = Math.ceil(lines.length / 2)
  return thinLines(lines.filter((_, at) => at % 2 === 0 || at >= newerHalf))
}
