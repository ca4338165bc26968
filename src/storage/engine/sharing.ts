import type { Database, SharedStatement, SqlScalar, SqlValue, Statement } from './database.ts'
import { firstRow, isUndone, LockTimeout } from './database.ts'

type Query = <Row>(statement: Statement, values: readonly SqlValue[]) => Promise<Row[]>

/** A call that waits for its row. */
interface Waiter {
  readonly values: readonly SqlScalar[]
  /** The subject of a change; null for a read. */
  readonly subject: string | null
  resolve(row: unknown): void
  reject(error: unknown): void
}

/** The waiting calls of one statement. */
interface Queue {
  readonly shared: SharedStatement
  waiters: Waiter[]
  /**
   * The subjects with a running change. A second change of a subject waits here, rather than on a
   * connection for the lock.
   */
  readonly subjects: Set<string | null>
  /** The number of running statements. */
  sent: number
  /** Whether the waiting calls are sent at the end of this turn of the event loop. */
  isDue: boolean
  /** The timer after which calls are sent despite running statements; null without one. */
  timer: NodeJS.Timeout | null
}

/** The maximum number of calls in one statement. More would delay the first of them. */
const togetherMost = 64
/** With this many running statements, further calls wait and share the next statement. */
const sentMost = 2
/**
 * The maximum wait for a running statement: a slow statement, or a lock, delays other calls by no
 * more.
 */
const waitMostMs = 2
/** The maximum number of running statements after that wait, which leaves connections to others. */
const sentLimit = 8

const queryAlone = async <Row>(
  query: Query,
  { one }: SharedStatement,
  values: readonly SqlScalar[],
): Promise<Row | null> => {
  const row = firstRow(await query<{ ordinal?: number }>(one, values))
  return row && (withoutOrdinal(row) as Row)
}

/** Answers waiting calls with one statement if possible, otherwise one by one. */
function createAnswering(query: Query) {
  const runAlone = (shared: SharedStatement, { reject, resolve, values }: Waiter) =>
    queryAlone(query, shared, values).then(resolve, reject)

  async function runTogether(shared: SharedStatement, waiters: readonly Waiter[]) {
    // One list for each parameter, with the values of all calls.
    const lists = (waiters[0]?.values ?? []).map((_, at) =>
      waiters.map(({ values }) => values[at] ?? null),
    )
    const rows = await query<{ ordinal: number }>(shared.several, lists)
    const found = new Map(rows.map((row) => [row.ordinal, withoutOrdinal(row)]))
    for (const [at, waiter] of waiters.entries()) {
      // Ordinals start at one.
      const row = found.get(at + 1)
      if (row || shared.isRead) waiter.resolve(row ?? null)
      else void runAlone(shared, waiter)
    }
  }

  return async (shared: SharedStatement, waiters: readonly Waiter[]): Promise<void> => {
    const [first] = waiters
    if (first && waiters.length === 1) return runAlone(shared, first)
    await runTogether(shared, waiters).catch((error) => {
      // Whether a single call caused the failure: its values (SQLSTATE class 22), a cardinality or
      // constraint (21, 23), an act that was undone halfway, or a lock that it waited for. Each
      // call is then repeated alone.
      const isOfOne =
        error instanceof LockTimeout ||
        isUndone(error) ||
        (error instanceof Error && 'code' in error && /^2[123]/.test(String(error.code)))
      for (const waiter of waiters) {
        if (isOfOne) void runAlone(shared, waiter)
        else waiter.reject(error)
      }
    })
  }
}

/**
 * Creates reads and changes that share statements. A round trip costs about as much as the rest of
 * a short act, and a commit more. So the calls of one turn of the event loop go to the server as
 * one statement, and under load also those that arrive while others are running. No call joins a
 * statement that was already sent: a read that begins after a change sees it. A call that a shared
 * statement omitted, or that failed because of another call, is repeated alone.
 * @param isWorthwhile false on a cluster, which sends a statement with one key to one node, and a
 *   shared statement to all.
 */
export function createSharing(
  query: Query,
  isWorthwhile: () => boolean = () => true,
): Pick<Database, 'readRow' | 'change'> {
  const queues = new Map<SharedStatement, Queue>()
  const answer = createAnswering(query)

  function send(queue: Queue): void {
    if (queue.timer) clearTimeout(queue.timer)
    const { chosen, others } = chooseTogether(queue)
    Object.assign(queue, { waiters: others, isDue: false, timer: null })
    if (chosen.length === 0) return
    queue.sent += 1
    void answer(queue.shared, chosen).finally(() => {
      queue.sent -= 1
      schedule(queue)
    })
    schedule(queue)
  }

  /**
   * Schedules the waiting calls. A call that waits for another change of its subject is sent after
   * that one.
   */
  function schedule(queue: Queue): void {
    if (queue.waiters.length === 0 || queue.isDue) return
    if (queue.sent < sentMost) {
      queue.isDue = true
      setImmediate(send, queue)
    } else if (queue.sent < sentLimit) queue.timer ??= setTimeout(send, waitMostMs, queue)
  }

  const enqueue = async <Row>(
    shared: SharedStatement,
    subject: string | null,
    values: readonly SqlScalar[],
  ): Promise<Row | null> => {
    if (!isWorthwhile()) return queryAlone<Row>(query, shared, values)
    const queue = queues.get(shared) ?? newQueue(shared)
    queues.set(shared, queue)
    const row = new Promise<Row | null>((resolve, reject) => {
      const resolveRow = (row: unknown): void => resolve(row as Row | null)
      queue.waiters.push({ values, subject, resolve: resolveRow, reject })
    })
    schedule(queue)
    if (subject === null) return row
    return row.finally(() => {
      queue.subjects.delete(subject)
      schedule(queue)
    })
  }

  return {
    readRow: (read, key) => enqueue(read, null, key),
    change: (change, subject, values) => enqueue(change, subject, values),
  }
}

const withoutOrdinal = ({ ordinal: _, ...row }: { ordinal?: number }): object => row

/** Chooses the calls for the next statement, in the order of arrival, and returns the others. */
function chooseTogether({ subjects, waiters }: Queue) {
  const chosen: Waiter[] = []
  const others: Waiter[] = []
  for (const waiter of waiters) {
    const { subject } = waiter
    if (chosen.length < togetherMost && !subjects.has(subject)) {
      chosen.push(waiter)
      if (subject !== null) subjects.add(subject)
    } else others.push(waiter)
  }
  return { chosen, others }
}

const newQueue = (shared: SharedStatement): Queue => ({
  shared,
  waiters: [],
  subjects: new Set(),
  sent: 0,
  isDue: false,
  timer: null,
})
