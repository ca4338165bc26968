import type { RowKey, RowRead, SqlValue, Statement } from './database.ts'
import { firstRow, statement } from './database.ts'

/** A read as its two statements are made of it. */
interface RowReadParts<Types extends readonly ('text' | 'integer')[]> {
  readonly columns: string
  /** The types of the parts of its key. */
  readonly key: Types
  /** The tables, joined, and the condition: at most one row, given how each part of its key is written. */
  readonly from: (...parts: { [At in keyof Types]: string }) => string
}

/** Declares a read of at most one row by its key. */
export function rowRead<const Types extends readonly ('text' | 'integer')[]>(
  name: string,
  { columns, from, key }: RowReadParts<Types>,
): RowRead {
  type Parts = { [At in keyof Types]: string }
  const values = key.map((type, at) => `$${at + 1}::${type}`) as unknown as Parts
  const parts = key.map((_, at) => `asked.part${at}`) as unknown as Parts
  const lists = key.map((type, at) => `$${at + 1}::${type}[]`).join(', ')
  const names = key.map((_, at) => `part${at}`).join(', ')
  return {
    one: statement(name, `select ${columns} from ${from(...values)}`),
    several: statement(
      `${name}_several`,
      // The limit keeps the planner from joining whole tables, whatever it takes them for.
      `select asked.ordinal::int as "ordinal", found.*
       from unnest(${lists}) with ordinality as asked(${names}, ordinal)
       cross join lateral (select ${columns} from ${from(...parts)} limit 1) as found`,
    ),
  }
}

type Query = <Row>(statement: Statement, values: readonly SqlValue[]) => Promise<Row[]>

/** Somebody who waits for the row of a key. */
interface Waiter {
  readonly key: RowKey
  resolve(row: unknown): void
  reject(error: unknown): void
}

/** Those who ask for one kind of row. */
interface Queue {
  readonly read: RowRead
  waiters: Waiter[]
  /** Statements that are under way. */
  sent: number
  /** Whether those who wait are sent at the end of this turn of the event loop. */
  isDue: boolean
  /** When they are sent whatever is under way; null where that is not waited for. */
  patience: NodeJS.Timeout | null
}

/** Keys of one statement: more would make those that came first wait for the last. */
const keysMost = 64
/** With so many statements under way, those who come then go together with the next that is sent. */
const sentMost = 2
/** How long they wait for one of them at most: a slow statement, or a lock, delays nobody else by more. */
const patienceMs = 2

/**
 * Reads rows by their keys. A round trip costs about as much as all else that a short read does, so those that
 * are asked for in one turn of the event loop go to the server as one statement, and under load those that come
 * while others are under way. Nobody joins a statement that was sent: a read that begins after a change sees it.
 */
export function createRowReads(
  query: Query,
): <Row>(read: RowRead, key: RowKey) => Promise<Row | null> {
  const queues = new Map<RowRead, Queue>()

  async function answerAlone({ one }: RowRead, { key, reject, resolve }: Waiter): Promise<void> {
    await query(one, key).then((rows) => resolve(firstRow(rows)), reject)
  }

  async function answerTogether(read: RowRead, waiters: readonly Waiter[]): Promise<void> {
    const lists = waiters[0]?.key.map((_, at) => waiters.map(({ key }) => key[at])) ?? []
    const rows = await query<{ ordinal: number }>(read.several, lists as SqlValue[])
    const found = new Map(rows.map(({ ordinal, ...row }) => [ordinal, row]))
    // They are counted from one.
    for (const [at, { resolve }] of waiters.entries()) resolve(found.get(at + 1) ?? null)
  }

  async function answer(read: RowRead, waiters: readonly Waiter[]): Promise<void> {
    const [first] = waiters
    if (first && waiters.length === 1) return answerAlone(read, first)
    try {
      await answerTogether(read, waiters)
    } catch (error) {
      if (isOfOneKey(error)) await Promise.all(waiters.map((each) => answerAlone(read, each)))
      else for (const { reject } of waiters) reject(error)
    }
  }

  function send(queue: Queue): void {
    const { patience, read, waiters } = queue
    if (patience) clearTimeout(patience)
    Object.assign(queue, { waiters: [], isDue: false, patience: null })
    for (let from = 0; from < waiters.length; from += keysMost) {
      queue.sent += 1
      void answer(read, waiters.slice(from, from + keysMost)).finally(() => {
        queue.sent -= 1
        if (queue.patience) sendSoon(queue)
      })
    }
  }

  function sendSoon(queue: Queue): void {
    if (queue.isDue) return
    queue.isDue = true
    setImmediate(send, queue)
  }

  return <Row>(read: RowRead, key: RowKey) =>
    new Promise<Row | null>((resolve, reject) => {
      const queue = queues.get(read) ?? newQueue(read)
      queues.set(read, queue)
      queue.waiters.push({ key, resolve: (row) => resolve(row as Row | null), reject })
      if (queue.sent < sentMost) sendSoon(queue)
      else queue.patience ??= setTimeout(send, patienceMs, queue)
    })
}

/** Whether what is wrong is wrong with a key, and no matter of the others: a data exception (SQLSTATE class 22). */
const isOfOneKey = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('22')

const newQueue = (read: RowRead): Queue => ({
  read,
  waiters: [],
  sent: 0,
  isDue: false,
  patience: null,
})
