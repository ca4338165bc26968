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

/** PGlite's own default of 128 MB serves a server; a laptop's cards fit in far less. */
const settings = ['-c', 'shared_buffers=16MB', '-c', planning.join('=')]

/**
 * What is committed can be put on the disk. PGlite turns that off (`-F`); and of the ways to do it,
 * `fsync` alone is handed on to the files. A commit does not do it by itself: one call does it for
 * several, before any of them is acknowledged.
 */
const durable = ['-c', 'fsync=on', '-c', 'wal_sync_method=fsync', '-c', 'synchronous_commit=off']

// An empty message in the log of the database; the last value says that the log is on the disk when
// it returns.
const syncStatement = statement(
  'sync_commits',
  "select pg_logical_emit_message(false, 'pinfold', '', true) as position",
)

/**
 * Below this the engine is compiled once, quickly, and stays as it is: reads take half as long
 * again, and lists twice as long. Compiled a second time to run faster, one function of it alone
 * takes 600 MiB for as long as that lasts.
 */
const roomyBytes = 1.5 * 2 ** 30
// Both: while a program runs, V8 does not conclude the one from the other, as it would at its
// start.
const compiledOnce = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

/** What there is of it in every runtime, and in no types of Node. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> }

let compiled: Promise<object> | undefined

/**
 * The engine's code: compiled once, for all engines of this process, and kept. Where the code of
 * one that was closed is given up while it is still being compiled to run faster, V8 may end the
 * process (nodejs/node#64500).
 */
function engineCode(): Promise<object> {
  compiled ??= readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))).then(
    (bytes) => WebAssembly.compile(bytes),
  )
  return compiled
}

/**
 * PostgreSQL in this process. One connection: transactions take turns.
 * @param folder where its files lie. Null: in memory, and they end with the process.
 * @param archive of another database, which a new one in memory is loaded from.
 */
export async function openPglite(folder: string | null, archive?: Blob): Promise<Database> {
  return databaseOn(await startEngine(folder, archive), folder)
}

async function startEngine(folder: string | null, archive?: Blob): Promise<PGlite> {
  // What this process may take: of the machine, or of the container or unit that it runs in.
  const memoryBytes = Math.min(process.constrainedMemory() || Infinity, totalmem())
  if (memoryBytes < roomyBytes) for (const flag of compiledOnce) setFlagsFromString(flag)
  return PGlite.create({
    pgliteWasmModule: await engineCode(),
    fs: folder === null ? new MemoryFS() : new DurableFiles(folder),
    ...(archive && { loadDataDir: archive }),
    startParams: [...PGlite.defaultStartParams, ...settings, ...(folder === null ? [] : durable)],
    parsers: {
      // The engine's own reads them digit by digit.
      [bytesOid]: (text: string) => Buffer.from(text.slice(2), 'hex'),
      [dateOid]: (text: string) => text,
    },
  })
}

/**
 * @param folder where its files lie: what is committed is put on the disk before it is
 *   acknowledged. Null: in memory.
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
    load: null,
    requireRoom: async () => room.requireRoom(),
    close: () =>
      take(async () => {
        // What has ended itself does not answer this, either.
        if (!session.hasEnded()) await engine.close()
        return unchanged(undefined)
      }),
  }
}

/**
 * A session that refuses changes while the disk has no room for them, and everything once the
 * engine has ended itself, as it does where its log cannot be written.
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
 * Whether a statement may leave something to be put on the disk. A lock on rows is taken for it,
 * and so is each call of a function of the database.
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

/** What a new database takes, and what must be free for its changes. */
const newDatabaseBytes = 64 * 2 ** 20

/** @throws `StartRefusal` where a new database would not fit. */
function refuseSmallDisk(folder: string): void {
  if (hasRoom(dirname(folder), newDatabaseBytes)) return
  throw new StartRefusal(
    `The disk of DATA_DIR has too little space for a new database in ${folder}: free ` +
      `${newDatabaseBytes / 2 ** 20} MiB, or set DATA_DIR to another folder.`,
  )
}

/** The names in a folder; nothing where there is none. */
async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/**
 * Makes an empty database in a folder, unless there is one: whole or not at all, so that a start
 * that was cut short leaves nothing behind that looks like a database.
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
  // Never the folder of an earlier start: its program may still be writing there.
  const draft = await mkdtemp(`${folder}.new-`)
  const program = fileURLToPath(new URL('make-pglite.ts', import.meta.url))
  // It ends before the engine would run faster for being compiled a second time.
  try {
    await promisify(execFile)(process.execPath, ['--liftoff-only', program, draft])
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    refuseSmallDisk(folder)
    throw error
  }
  syncPath(dirname(folder))
  // What an earlier start left. One that is still being written to stays: it does no harm.
  const names = await readdir(dirname(folder))
  for (const name of names.filter((each) => each.startsWith(`${basename(folder)}.new-`))) {
    await rm(join(dirname(folder), name), { recursive: true }).catch(() => undefined)
  }
}
