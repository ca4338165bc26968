import { firstRow, type RowKey, type RowRead, type SqlValue, type Statement } from './database.ts'

type Query = <Row>(statement: Statement, values: readonly SqlValue[]) => Promise<Row[]>

/** Somebody who waits for the row of a key. */
interface Waiter {
  readonly key: RowKey
  resolve(row: unknown): void
  reject(error: unknown): void
}

/** Keys of one statement: more would make those that came first wait for the last. */
const keysMost = 64

/**
 * Reads rows by their keys. A round trip costs about as much as all else that a short read does, so those that
 * are asked for in one turn of the event loop go to the server as one statement. Nobody joins a statement that
 * was sent: a read that begins after a change sees it.
 */
export function createRowReads(
  query: Query,
): <Row>(read: RowRead, key: RowKey) => Promise<Row | null> {
  const waiting = new Map<RowRead, Waiter[]>()

  async function answerAlone({ one }: RowRead, { key, reject, resolve }: Waiter): Promise<void> {
    await query(one, key).then((rows) => resolve(firstRow(rows)), reject)
  }

  async function answerTogether(read: RowRead, waiters: readonly Waiter[]): Promise<void> {
    const lists = waiters[0]?.key.map((_, at) => waiters.map(({ key }) => key[at])) ?? []
    const rows = await query<{ place: number }>(read.several, lists as SqlValue[])
    const found = new Map(rows.map(({ place, ...row }) => [place, row]))
    // Places are counted from one.
    for (const [at, { resolve }] of waiters.entries()) resolve(found.get(at + 1) ?? null)
  }

  function send(read: RowRead): void {
    const waiters = waiting.get(read) ?? []
    waiting.delete(read)
    for (let from = 0; from < waiters.length; from += keysMost) {
      const some = waiters.slice(from, from + keysMost)
      const [first] = some
      if (first && some.length === 1) void answerAlone(read, first)
      else {
        // What is wrong with one key is no matter of the others.
        answerTogether(read, some).catch(() => some.map((each) => answerAlone(read, each)))
      }
    }
  }

  return <Row>(read: RowRead, key: RowKey) =>
    new Promise<Row | null>((resolve, reject) => {
      const waiter: Waiter = { key, resolve: (row) => resolve(row as Row | null), reject }
      const others = waiting.get(read)
      if (others) {
        others.push(waiter)
        return
      }
      waiting.set(read, [waiter])
      setImmediate(send, read)
    })
}
