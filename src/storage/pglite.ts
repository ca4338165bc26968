import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Connection, Database, SqlValue, Statement } from './database.ts'

const dateOid = 1082

/** PGlite's own default of 128 MB serves a server; a laptop's cards fit in far less. */
const memory = ['-c', 'shared_buffers=16MB']

/**
 * PostgreSQL in this process, its files in a folder. One connection: transactions take turns.
 * @param folder where the files lie; nothing for a database in memory, which ends with the process.
 */
export async function openPglite(
  folder?: string,
  loadDataDir?: Blob,
): Promise<Database & { dump(): Promise<Blob> }> {
  const engine = await PGlite.create({
    ...(folder === undefined ? {} : { dataDir: folder }),
    ...(loadDataDir === undefined ? {} : { loadDataDir }),
    startParams: [...PGlite.defaultStartParams, ...memory],
    parsers: { [dateOid]: (text: string) => text },
  })
  return {
    query: (statement, values) => run(engine, statement, values),
    script: (text) => engine.exec(text).then(() => undefined),
    transaction: (work) => engine.transaction((transaction) => work(connectionOf(transaction))),
    dump: () => engine.dumpDataDir('none'),
    close: () => engine.close(),
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
