import { execFile } from 'node:child_process'
import { access, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Connection, Database, SqlValue, Statement } from './database.ts'
import { DurableFiles, syncPath } from './durable-files.ts'

const dateOid = 1082

/** PGlite's own default of 128 MB serves a server; a laptop's cards fit in far less. */
const memory = ['-c', 'shared_buffers=16MB']

/**
 * What is committed is on the disk before it is acknowledged. PGlite turns that off (`-F`); and of the
 * ways to do it, `fsync` alone is handed on to the files.
 */
const durable = ['-c', 'fsync=on', '-c', 'wal_sync_method=fsync']

/**
 * PostgreSQL in this process, its files in a folder. One connection: transactions take turns.
 * @param folder where the files lie; nothing for a database in memory, which ends with the process.
 */
export async function openPglite(
  folder?: string,
  loadDataDir?: Blob,
): Promise<Database & { dump(): Promise<Blob> }> {
  const engine = await PGlite.create({
    ...(folder === undefined ? {} : { fs: new DurableFiles(folder) }),
    ...(loadDataDir === undefined ? {} : { loadDataDir }),
    startParams: [
      ...PGlite.defaultStartParams,
      ...memory,
      ...(folder === undefined ? [] : durable),
    ],
    parsers: { [dateOid]: (text: string) => text },
  })
  const breathe = breather()
  return {
    query: async (statement, values) => {
      await breathe()
      return run(engine, statement, values)
    },
    script: (text) => engine.exec(text).then(() => undefined),
    // Inside, where those that queued up at once come by one after the other.
    transaction: (work) =>
      engine.transaction(async (transaction) => {
        await breathe()
        return work(connectionOf(transaction))
      }),
    load: null,
    dump: () => engine.dumpDataDir('none'),
    close: () => engine.close(),
  }
}

/** How long this process may work for the database without looking at anything else. */
const breathAfterMs = 10

/**
 * The engine answers without ever waiting, so a burst would keep timers and sockets waiting until its
 * end: now and then the event loop gets its turn.
 */
function breather(): () => Promise<void> {
  let breathedAtMs = performance.now()
  return async () => {
    if (performance.now() - breathedAtMs < breathAfterMs) return
    await turnOfEventLoop()
    breathedAtMs = performance.now()
  }
}

const connectionOf = (transaction: Transaction): Connection => ({
  query: (statement, values) => run(transaction, statement, values),
  script: (text) => transaction.exec(text).then(() => undefined),
})

async function run<Row>(
  target: PGlite | Transaction,
  { text }: Statement,
  values: readonly SqlValue[] = [],
): Promise<Row[]> {
  return (await target.query<Row>(text, [...values])).rows
}

/**
 * Makes an empty database in a folder, unless there is one: whole or not at all, so that a start that
 * was cut short leaves nothing behind that looks like a database.
 */
export async function makePgliteFolder(folder: string): Promise<void> {
  if (await exists(folder)) return
  // Never the folder of an earlier start: its program may still be writing there.
  const draft = await mkdtemp(`${folder}.new-`)
  const program = fileURLToPath(new URL('make-pglite.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [program, draft])
  await rename(draft, folder)
  syncPath(dirname(folder))
  await removeDrafts(folder)
}

/** What an earlier start left. One that is still being written to stays: it does no harm. */
async function removeDrafts(folder: string): Promise<void> {
  const names = await readdir(dirname(folder))
  const drafts = names.filter((name) => name.startsWith(`${basename(folder)}.new-`))
  for (const draft of drafts) {
    await rm(join(dirname(folder), draft), { recursive: true }).catch(() => undefined)
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
