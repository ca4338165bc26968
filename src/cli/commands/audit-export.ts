import { findMostBytes, parseCheckpoint } from '../../../packages/audit/audit.ts'
import { listTreeTiles, tilePath, tileWidth } from '../../../packages/audit/tiles.ts'
import { escapeLine } from '../../domain/terminal-text.ts'
import { Unreachable } from '../command.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { readWithin, removeWithin, writeWithin } from '../files.ts'
import { type LogName, parseLogNames } from './log-names.ts'

/** What was written of a log. */
interface ExportedLog extends LogName {
  readonly size: number
}

/**
 * What an export is read from: no answer is longer than its kind of file, and all together are no
 * longer than agreed.
 */
interface Source {
  /** @throws Unreachable where it is not there. */
  readNeeded(path: string, mostBytes: number): Promise<Uint8Array>
  /** Null where there is none. */
  readCheckpoint(log: number): Promise<Checkpoint | null>
}

/** A checkpoint as it was read; who signed it is for the verifier to say. */
interface Checkpoint {
  readonly bytes: Uint8Array
  readonly origin: string
  readonly size: number
}

/** Where an export is written, and who hears how far it is. */
interface Target {
  readonly folder: string
  /** Of one log, below the folder: nothing, or `logs/<n>/`. */
  readonly prefix: string
  readonly onProgress: (line: string) => void
}

/** Requests that are under way at once, and files after which it is said how far it is. */
const [together, saidEvery] = [8, 1_000]

/** How often entries are read that were added, or erased, while others were read. */
const mostRounds = 1_000

/**
 * Writes every log to a folder as it is published, with what its entries say: the one in use to the
 * folder itself, those before it to `logs/<n>`. Checkpoints of earlier exports to it are kept, for
 * the verifier to hold the logs against.
 * @param mostBytes how much is read before the export is given up
 * @throws Unreachable where the service answers what no log has
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
  // The oldest first: what is erased of it is covered by an entry of one that is read later.
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

/** @returns how many entries were written; 0 of a log without a checkpoint. */
async function exportLog(source: Source, log: number, target: Target): Promise<number> {
  const { folder, onProgress, prefix } = target
  const at = `/audit/logs/${log}`
  const write = (path: string, bytes: Uint8Array, isDurable: boolean): Promise<void> =>
    writeWithin(folder, `${prefix}${path}`, bytes, { isDurable })
  let written = 0
  let checkpoint = await source.readCheckpoint(log)
  if (checkpoint) await removeOther(target, checkpoint)
  // What entries say is read before the checkpoint under which they are exported: an erasure
  // meanwhile is covered there.
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

/** @throws Unreachable where it is none. */
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

/** Whole numbers, one after another; the last is not among them. */
function* numbers(first: number, end: number): Generator<number> {
  for (let number = first; number < end; number++) yield number
}

/** Every tile and bundle of a tree (c2sp.org/tlog-tiles). */
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
  // One that fails ends the others, too: what follows may have no end.
  let hasFailed = false
  const workOn = async (): Promise<void> => {
    for (let next = rest.next(); !next.done && !hasFailed; next = rest.next()) {
      if (count % saidEvery === 0) onProgress(`file ${count}`)
      count += 1
      await work(next.value).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: together }, workOn))
}

/**
 * Takes away what an earlier export wrote of another log: it belongs to none of the entries that
 * are written now.
 */
async function removeOther({ folder, prefix }: Target, { origin }: Checkpoint): Promise<void> {
  const path = `${prefix}checkpoint`
  const kept = await readWithin(folder, path, findMostBytes(path))
  if (!kept || Buffer.from(kept).toString().split('\n', 1)[0] === origin) return
  for (const name of ['openings', 'tile']) await removeWithin(folder, `${prefix}${name}`)
}

/**
 * Checkpoints of earlier exports that are kept, and their bytes: a verifier reads ten times as
 * many, and twice as much.
 */
const [keptMost, keptBytesMost] = [1_000, findMostBytes('checkpoints.jsonl') / 2]

/** Beside those of earlier exports, each a line of JSON. */
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
 * Leaves out every other line of the older half while there are too many. The oldest and the newest
 * stay.
 */
export function thinLines(lines: readonly string[]): readonly string[] {
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  if (lines.length < 3 || (lines.length <= keptMost && bytes <= keptBytesMost)) return lines
  const newerHalf = Math.ceil(lines.length / 2)
  return thinLines(lines.filter((_, at) => at % 2 === 0 || at >= newerHalf))
}
