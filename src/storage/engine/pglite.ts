import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { MemoryFS, PGlite } from '@electric-sql/pglite'
import { Problem, StartRefusal } from '../../domain/problem.ts'
import {
  type Connection,
  type Database,
  planning,
  randomPageCost,
  type SqlValue,
  type Statement,
  statement,
} from './database.ts'
import { DurableFiles, syncPath } from './durable-files.ts'
import { readFunctionFiles } from './functions.ts'
import { createGroupCommit, type TurnEnd } from './group-commit.ts'
import { openSession, type PgliteSession } from './pglite-session.ts'
import { guardRoom, hasRoom, withoutRoom } from './room.ts'
import { createSharing } from './sharing.ts'

const bytesOid = 17
const dateOid = 1082

/** PGlite's default of 128 MB is meant for a server; an embedded database needs far less. */
const settings = [
  'shared_buffers=16MB',
  planning.join('='),
  `random_page_cost=${randomPageCost}`,
].flatMap((setting) => ['-c', setting])

/**
 * Allows writes to the disk. PGlite turns them off (`-F`), and its file layer supports only
 * `fsync`. A commit does not write to the disk: one call does so for several commits, before any of
 * them is acknowledged.
 */
const durable = ['-c', 'fsync=on', '-c', 'wal_sync_method=fsync', '-c', 'synchronous_commit=off']

// An empty message in the write-ahead log; the last argument makes the call return after the log is
// on the disk.
const syncStatement = statement(
  'sync_commits',
  "select pg_logical_emit_message(false, 'pinfold', '', true) as position",
)

/**
 * Below this memory, the engine is compiled once, quickly, without optimization: reads take half as
 * long again, and lists twice as long. The optimizing compiler needs 600 MiB for a single function
 * of it.
 */
const roomyBytes = 1.5 * 2 ** 30
// Both flags: at run time, V8 does not derive one from the other as it does at its start.
const compiledOnce = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

/** WebAssembly exists in every runtime, but not in the types of Node. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> }

let compiled: Promise<object> | undefined

/**
 * Returns the engine's code, compiled once for all engines of this process, and cached. If the code
 * of a closed engine is released while V8 still optimizes it, V8 may crash (nodejs/node#64500).
 */
function engineCode(): Promise<object> {
  compiled ??= readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))).then(
    (bytes) => WebAssembly.compile(bytes),
  )
  return compiled
}

/**
 * Opens PostgreSQL in this process. There is one connection: transactions take turns.
 * @param folder the location of its files. Null: in memory, until the process ends.
 * @param archive of another database, from which a new one in memory is loaded.
 */
export async function openPglite(folder: string | null, archive?: Blob): Promise<Database> {
  return databaseOn(await startEngine(folder, archive), folder)
}

async function startEngine(folder: string | null, archive?: Blob): Promise<PGlite> {
  // The memory limit of the machine, or of this process's container or unit.
  const memoryBytes = Math.min(process.constrainedMemory() || Infinity, totalmem())
  if (memoryBytes < roomyBytes) for (const flag of compiledOnce) setFlagsFromString(flag)
  return PGlite.create({
    pgliteWasmModule: await engineCode(),
    fs: folder === null ? new MemoryFS() : new DurableFiles(folder),
    ...(archive && { loadDataDir: archive }),
    startParams: [...PGlite.defaultStartParams, ...settings, ...(folder === null ? [] : durable)],
    parsers: {
      // The engine's own parser reads bytes digit by digit.
      [bytesOid]: (text: string) => Buffer.from(text.slice(2), 'hex'),
      [dateOid]: (text: string) => text,
    },
  })
}

/**
 * @param folder the location of its files: committed data is on the disk before it is acknowledged.
 *   Null: in memory.
 */
function databaseOn(engine: PGlite, folder: string | null): Database {
  const room = guardRoom(folder)
  const session = guarded(openSession(engine), room.requireRoom)
  const { take } = createGroupCommit({
    sync: async () => {
      if (folder !== null) await session.query(syncStatement)
    },
  })
  const unchanged = <Result>(result: Result): TurnEnd<Result> => ({ result, isUnsynced: false })
  const changed = <Result>(result: Result): TurnEnd<Result> => ({ result, isUnsynced: true })
  const query = <Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]> =>
    take(async () => {
      const rows = await session.query<Row>(statement, values)
      return mayWrite(statement) ? changed(rows) : unchanged(rows)
    })
  return {
    query,
    isCluster: () => false,
    ...createSharing(query),
    script: (text) => take(async () => changed(await session.script(text).then(() => undefined))),
    transaction: (work) => take(() => inTransaction(session, work)),
    isShared: false,
    load: null,
    requireRoom: async () => room.requireRoom(),
    close: () =>
      take(async () => {
        // An engine that has ended itself does not answer this call.
        if (!session.hasEnded()) await engine.close()
        return unchanged(undefined)
      }),
  }
}

/**
 * Wraps a session: it rejects changes while the disk has no room for them, and everything after the
 * engine has ended itself, which it does if it cannot write its log.
 */
function guarded(session: PgliteSession, requireRoom: () => void) {
  let end: Problem | null = null
  async function ask<Result>(work: () => Promise<Result>): Promise<Result> {
    if (end) throw end
    try {
      return await work()
    } catch (error) {
      if (error instanceof Error && 'severity' in error && isEnd.test(String(error.severity))) {
        const detail = 'The embedded database has ended itself. Start the service again.'
        end = new Problem('unavailable', { detail, cause: error })
        throw end
      }
      throw withoutRoom(error)
    }
  }
  return {
    hasEnded: () => end !== null,
    query: <Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]> =>
      ask(async () => {
        if (statement !== syncStatement && mayWrite(statement)) requireRoom()
        return session.query<Row>(statement, values)
      }),
    script: (text: string): Promise<string> =>
      ask(async () => {
        if (!isTransactionEdge.test(text)) requireRoom()
        return session.script(text)
      }),
  }
}

const isEnd = /^(?:FATAL|PANIC)$/
const isTransactionEdge = /^(?:begin|commit|rollback)$/

const functionNames = (await readFunctionFiles()).map(({ functionName }) => functionName)
const writes = new RegExp(`\\b(insert|update|delete|merge|${functionNames.join('|')})\\b`, 'i')

/**
 * Whether a statement may leave data to write to the disk. Row locks and calls of database
 * functions count as writes.
 */
const mayWrite = ({ text }: Statement): boolean =>
  !/^\s*(select|with)\b/i.test(text) || writes.test(text)

async function inTransaction<Result>(
  session: PgliteSession,
  work: (connection: Connection) => Promise<Result>,
): Promise<TurnEnd<Result>> {
  let isUnsynced = false
  const connection: Connection = {
    query: (statement, values) => {
      isUnsynced ||= mayWrite(statement)
      return session.query(statement, values)
    },
    async script(text) {
      isUnsynced = true
      await session.script(text)
    },
  }
  await session.script('begin')
  try {
    const result = await work(connection)
    const ended = await session.script('commit')
    if (ended !== 'COMMIT') throw new Error('A statement of the transaction had failed.')
    return { result, isUnsynced }
  } catch (error) {
    await session.script('rollback')
    throw error
  }
}

/** The size of a new database, and the free space for its changes. */
const newDatabaseBytes = 64 * 2 ** 20

/** @throws `StartRefusal` if a new database would not fit. */
function refuseSmallDisk(folder: string): void {
  if (hasRoom(dirname(folder), newDatabaseBytes)) return
  throw new StartRefusal(
    `The disk of DATA_DIR has too little space for a new database in ${folder}: free ` +
      `${newDatabaseBytes / 2 ** 20} MiB, or set DATA_DIR to another folder.`,
  )
}

/** Lists the names in a folder; empty if the folder does not exist. */
async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/**
 * Makes an empty database in a folder, unless there is one. It is complete or absent, so that an
 * interrupted start leaves no partial database.
 */
export async function makePgliteFolder(folder: string): Promise<void> {
  const found = await listFolder(folder)
  if (found.includes('PG_VERSION')) return
  if (found.length > 0) {
    throw new StartRefusal(
      `${folder} in DATA_DIR has files, but no database (PG_VERSION is missing): restore it ` +
        'from a backup, or move it away.',
    )
  }
  refuseSmallDisk(folder)
  // Never the folder of an earlier start, whose program may still be writing.
  const draft = await mkdtemp(`${folder}.new-`)
  const program = fileURLToPath(new URL('make-pglite.ts', import.meta.url))
  // The program ends before optimized code would make the engine faster.
  try {
    await promisify(execFile)(process.execPath, ['--liftoff-only', program, draft])
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    refuseSmallDisk(folder)
    throw error
  }
  syncPath(dirname(folder))
  // Removes the remains of earlier starts. One that is still being written to stays, which is
  // harmless.
  const names = await readdir(dirname(folder))
  for (const name of names.filter((each) => each.startsWith(`${basename(folder)}.new-`))) {
    await rm(join(dirname(folder), name), { recursive: true }).catch(() => undefined)
  }
}
