import type { Database, SharedStatement, SqlScalar, SqlValue, Statement } from './database.ts'
import { firstRow, isUndone, LockTimeout } from './database.ts'

type Query = <Row>(statement: Statement, values: readonly SqlValue[]) => Promise<Row[]>

/** Somebody who waits for a row. */
interface Waiter {
  readonly values: readonly SqlScalar[]
  /** Whose change it is; null for a read. */
  readonly subject: string | null
  resolve(row: unknown): void
  reject(error: unknown): void
}

/** Those who ask for the same kind of thing. */
interface Queue {
  readonly shared: SharedStatement
  waiters: Waiter[]
  /**
   * Whose changes are under way. Another one of theirs waits here, rather than on a connection for
   * their lock.
   */
  readonly subjects: Set<string | null>
  /** Statements that are under way. */
  sent: number
  /** Whether those who wait are sent at the end of this turn of the event loop. */
  isDue: boolean
  /** When they are sent though others are under way; null where that is not waited for. */
  patience: NodeJS.Timeout | null
}

/** Who goes into one statement: more would make those that came first wait for the last. */
const togetherMost = 64
/**
 * With so many statements under way, those who come then go together with the next that is sent.
 */
const sentMost = 2
/**
 * How long they wait for one of them at most: a slow statement, or a lock, delays nobody else by
 * more.
 */
const patienceMs = 2
/** Impatient ones, too, leave connections to others. */
const sentLimit = 8

const askAlone = async <Row>(
  query: Query,
  { one }: SharedStatement,
  values: readonly SqlScalar[],
): Promise<Row | null> => {
  const row = firstRow(await query<{ ordinal?: number }>(one, values))
  return row && (withoutOrdinal(row) as Row)
}

/** Answers those who wait, by one statement where that can be, and else one by one. */
function createAnswering(query: Query) {
  const answerAlone = (shared: SharedStatement, { reject, resolve, values }: Waiter) =>
    askAlone(query, shared, values).then(resolve, reject)

  async function answerTogether(shared: SharedStatement, waiters: readonly Waiter[]) {
    // Their values, each as a list.
    const lists = (waiters[0]?.values ?? []).map((_, at) =>
      waiters.map(({ values }) => values[at] ?? null),
    )
    const rows = await query<{ ordinal: number }>(shared.several, lists)
    const found = new Map(rows.map((row) => [row.ordinal, withoutOrdinal(row)]))
    for (const [at, waiter] of waiters.entries()) {
      // They are counted from one.
      const row = found.get(at + 1)
      if (row || shared.isRead) waiter.resolve(row ?? null)
      else void answerAlone(shared, waiter)
    }
  }

  return async (shared: SharedStatement, waiters: readonly Waiter[]): Promise<void> => {
    const [first] = waiters
    if (first && waiters.length === 1) return answerAlone(shared, first)
    await answerTogether(shared, waiters).catch((error) => {
      // Whether what failed was undone for the sake of one, and is no matter of the others: its
      // values (SQLSTATE class 22), what it may not do (21, 23), an act that came to nothing
      // halfway, or a lock that it waited for.
      const isOfOne =
        error instanceof LockTimeout ||
        isUndone(error) ||
        (error instanceof Error && 'code' in error && /^2[123]/.test(String(error.code)))
      for (const waiter of waiters) {
        if (isOfOne) void answerAlone(shared, waiter)
        else waiter.reject(error)
      }
    })
  }
}

/**
 * Reads and changes that share statements. A round trip costs about as much as all else that a
 * short act does, and a commit more, so those that are asked for in one turn of the event loop go
 * to the server as one statement, and under load those that come while others are under way. Nobody
 * joins a statement that was sent: a read that begins after a change sees it. Whoever a statement
 * for several left out, or whom one of the others undid, is done alone.
 * @param isWorthwhile not on a cluster: it sends what names one key to the node that has it, and
 *   what several share to all.
 */
export function createSharing(
  query: Query,
  isWorthwhile: () => boolean = () => true,
): Pick<Database, 'readRow' | 'change'> {
  const queues = new Map<SharedStatement, Queue>()
  const answer = createAnswering(query)

  function send(queue: Queue): void {
    if (queue.patience) clearTimeout(queue.patience)
    const { chosen, others } = chooseTogether(queue)
    Object.assign(queue, { waiters: others, isDue: false, patience: null })
    if (chosen.length === 0) return
    queue.sent += 1
    void answer(queue.shared, chosen).finally(() => {
      queue.sent -= 1
      goOn(queue)
    })
    goOn(queue)
  }

  /**
   * Sends those who wait, soon or in a moment. Whoever waits for one of his own changes goes on
   * when it is done.
   */
  function goOn(queue: Queue): void {
    if (queue.waiters.length === 0 || queue.isDue) return
    if (queue.sent < sentMost) {
      queue.isDue = true
      setImmediate(send, queue)
    } else if (queue.sent < sentLimit) queue.patience ??= setTimeout(send, patienceMs, queue)
  }

  const ask = async <Row>(
    shared: SharedStatement,
    subject: string | null,
    values: readonly SqlScalar[],
  ): Promise<Row | null> => {
    if (!isWorthwhile()) return askAlone<Row>(query, shared, values)
    const queue = queues.get(shared) ?? newQueue(shared)
    queues.set(shared, queue)
    const asked = new Promise<Row | null>((resolve, reject) => {
      const resolveRow = (row: unknown): void => resolve(row as Row | null)
      queue.waiters.push({ values, subject, resolve: resolveRow, reject })
    })
    goOn(queue)
    if (subject === null) return asked
    return asked.finally(() => {
      queue.subjects.delete(subject)
      goOn(queue)
    })
  }

  return {
    readRow: (read, key) => ask(read, null, key),
    change: (change, subject, values) => ask(change, subject, values),
  }
}

const withoutOrdinal = ({ ordinal: _, ...row }: { ordinal?: number }): object => row

/** Those who can go in one statement now, first come first; and those who cannot. */
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
  patience: null,
})
