import {
  Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  types,
} from 'pg'
import { lockTimeoutMs, type PoolLoad, planning, randomPageCost } from './database.ts'
import { type DatabaseServers, parseDatabaseUrl } from './database-url.ts'

export interface SessionsOptions {
  /** The address of one server, or of several as `parseDatabaseUrl` accepts them. */
  readonly connectionString: string
  /** The maximum number of connections in this pool. */
  readonly poolSize: number
  /** The time limit of a statement; default 10 seconds. */
  readonly statementTimeoutMs?: number
  /** Called with errors of an idle connection. */
  onIdleError(error: Error): void
}

/** A connection to the server with the database. It belongs to one user until it is released. */
export interface Session {
  /**
   * Resolves when the server, and its synchronous standby, has executed the statement.
   * @throws `UnconfirmedCommit`; errors of the driver.
   */
  ask(asked: Asked): Promise<{ readonly rows: unknown[] }>
  /** Runs SQL text. It and the following statements have no time limit except their own. */
  script(text: string): Promise<void>
  /** False after it was found broken, or connected to a wrong server: it is then closed. */
  readonly isSound: boolean
  release(isSpent: boolean): void
}

interface Asked {
  readonly text: string
  readonly name?: string
  readonly values?: unknown[]
}

/** The connections of a pool. */
interface Sessions {
  take(): Promise<Session>
  /**
   * Whether the last known server is a cluster. True before a server is known, which is correct on
   * both.
   */
  isCluster(): boolean
  load(): PoolLoad
  /** Closes the pool. A second call waits for the same end. */
  close(): Promise<void>
}

/** A commit that may be lost with its server: whether the synchronous standby has it is unknown. */
export class UnconfirmedCommit extends Error {}

/** How long a caller waits for a new or a free connection. */
const connectTimeoutMs = 5_000
/** With several servers, one that does not answer is skipped after this time. */
const connectTimeoutOfSeveralMs = 2_000
/**
 * A server reports a statement timeout itself. After this additional time without a report, it is
 * considered silent.
 */
const silenceMs = 1_000
const dateOid = 1082

/** Dates stay `YYYY-MM-DD`, so that no time zone shifts them. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format as 'text'),
}

/** Opens connections to the server that accepts writes. */
export function openSessions(options: SessionsOptions): Sessions {
  const { onIdleError, poolSize, statementTimeoutMs = 10_000 } = options
  const choice = createChoice(parseDatabaseUrl(options.connectionString), statementTimeoutMs)
  const pool = new Pool({
    // The types require a class with a constructor for configurations; this one has its own.
    Client: createClientClass(
      choice,
      statementTimeoutMs + silenceMs,
    ) as unknown as new () => Client,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    types: parsers,
    onConnect: choice.greet,
  })
  pool.on('error', onIdleError)
  let closing: Promise<void> | undefined
  return {
    take: () => take(pool, choice),
    isCluster: choice.isCluster,
    load: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => {
      closing ??= pool.end()
      return closing
    },
  }
}

type ServerClient = Session & {
  isPatient: boolean
  /** How long its user waited for the connection before the first statement. */
  waitedMs: number
  readonly generation: number
}

/** Takes a connection to the first server, or to the next one that has the database. */
async function take(pool: Pool, choice: Choice): Promise<Session> {
  const beganMs = performance.now()
  const untilMs = beganMs + connectTimeoutMs
  for (let tries = 1; ; ) {
    const address = choice.address()
    try {
      // The pool creates clients of the given class, but types them as its own.
      const client = (await pool.connect()) as unknown as ServerClient
      client.isPatient = false
      client.waitedMs = performance.now() - beganMs
      if (client.generation === choice.generation()) return client
      client.release(true)
    } catch (error) {
      choice.leave(address, error as Error)
      if (performance.now() >= untilMs) throw error
      if (tries === choice.count) throw choice.fault()
      tries += 1
    }
  }
}

type Choice = ReturnType<typeof createChoice>

/**
 * Chooses the server of the next attempt. The last known server comes first, so that no caller
 * waits for one that is down.
 */
function createChoice({ addresses, sessions }: DatabaseServers, statementTimeoutMs: number) {
  const faults = new Map<string, Error>()
  const timeoutMs = addresses.length === 1 ? connectTimeoutMs : connectTimeoutOfSeveralMs
  let current = 0
  let generation = 0
  let isCluster = true
  const address = () => addresses[current] ?? addresses[0]
  return {
    count: addresses.length,
    timeoutMs,
    address,
    isCluster: () => isCluster,
    /** Connections of an earlier generation are no longer used. */
    generation: () => generation,
    /**
     * Called if a connection fails or leads to a read-only server: all earlier connections may,
     * too.
     */
    distrust() {
      generation += 1
    },
    leave(left: string, fault: Error) {
      faults.set(left, fault)
      // Other callers may have moved to the next server already.
      if (left === address()) current = (current + 1) % addresses.length
    },
    /** Why there is no connection. With several servers, the last fault of each. */
    fault(): Error | undefined {
      if (addresses.length === 1) return faults.get(addresses[0])
      const told = addresses.map((each) => `${new URL(each).host}: ${faults.get(each)?.message}`)
      return new Error(told.join('; '))
    },
    /**
     * Sets up a new connection.
     * @throws Error if its server does not have the required role.
     */
    async greet(client: ClientBase): Promise<void> {
      const text = `set statement_timeout = ${statementTimeoutMs}; ${greeting}`
      const asked = { text, query_timeout: timeoutMs }
      // A text of several statements returns a list of results, which the types do not express.
      const results = (await client.query(asked)) as unknown as readonly { rows: Nature[] }[]
      const nature = results.at(-1)?.rows[0]
      isCluster = nature?.isCluster ?? isCluster
      if (sessions === 'any' || !nature) return
      const isGood = sessions === 'primary' ? !nature.isStandby : !nature.isReadOnly
      if (!isGood) throw new Error(nature.isStandby ? 'is a standby' : 'is read-only')
    },
  }
}

/** The role of a server for its clients. */
interface Nature {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly isCluster: boolean
}

/**
 * The settings that a session depends on, whatever the defaults of the server, the database and the
 * user are. They are set here and not in the start-up packet, because poolers reject parameters
 * that they do not know. The driver reads dates, intervals and bytes only in these forms.
 */
const sessionSettings = `set client_encoding = 'UTF8';
  set standard_conforming_strings = on;
  set datestyle = 'ISO, YMD';
  set intervalstyle = 'postgres';
  set timezone = 'UTC';
  set bytea_output = 'hex';
  set extra_float_digits = 1;
  set default_transaction_isolation = 'read committed';
  set transform_null_equals = off;
  set array_nulls = on;
  set quote_all_identifiers = off;
  set exit_on_error = off;
  set random_page_cost = ${randomPageCost};
  set lock_timeout = ${lockTimeoutMs};
  set idle_in_transaction_session_timeout = 15000;
  select set_config(name, '0', false) from pg_settings
  where name in ('idle_session_timeout', 'transaction_timeout');`

/**
 * Warnings are enabled whatever the user's setting is: one of them reports an unconfirmed commit.
 * Statements are planned once, except on a cluster, which finds the node of a statement by its
 * values. A cluster uses one connection to each node for statements over several shards, so that
 * later statements of the transaction can follow.
 */
const greeting = `${sessionSettings}
  set client_min_messages = warning;
  select
    set_config(
      '${planning[0]}', case when is_cluster then 'auto' else '${planning[1]}' end, false
    ),
    case when is_cluster then set_config('citus.multi_shard_modify_mode', 'sequential', false) end,
    pg_is_in_recovery() as "isStandby",
    current_setting('transaction_read_only') = 'on' as "isReadOnly",
    is_cluster as "isCluster"
  from (
    select exists (select from pg_extension where extname = 'citus') as is_cluster
  ) as asked`

/**
 * Creates the class of connections that detect the loss of their server.
 * @param silenceMaxMs how long its server may be silent.
 */
const createClientClass = (choice: Choice, silenceMaxMs: number) =>
  class extends Client {
    readonly generation = choice.generation()
    isSound = true
    isUnconfirmed = false
    isPatient = false
    waitedMs = 0

    constructor(config: ClientConfig) {
      const connectionString = choice.address()
      const connectionTimeoutMillis = choice.timeoutMs
      super({ ...config, connectionString, connectionTimeoutMillis })
      this.on('notice', ({ routine }) => {
        if (routine === standbyWait) this.isUnconfirmed = true
      })
      // A broken connection shows in the next statement. An unhandled error event would end the
      // process.
      this.on('error', () => {
        this.isSound = false
      })
    }

    async ask(asked: Asked): Promise<{ readonly rows: unknown[] }> {
      // A caller that waited for the connection waits shorter for its first answer.
      const isHurried = this.waitedMs > silenceMs
      const silenceLeftMs = Math.max(silenceMs, silenceMaxMs - this.waitedMs)
      this.waitedMs = 0
      try {
        // Timeouts of the server do not end a wait for a standby.
        const bounded = this.isPatient ? asked : { ...asked, query_timeout: silenceLeftMs }
        const answer = await this.query(bounded)
        if (this.isUnconfirmed) throw new UnconfirmedCommit('A wait for a standby was cancelled.')
        return answer
      } catch (error) {
        this.judge(error instanceof DatabaseError ? error : null, isHurried)
        throw error
      }
    }

    async script(text: string): Promise<void> {
      this.isPatient = true
      await this.ask({ text })
    }

    /**
     * Reacts to an error of the server, or to its silence. A silence after a shortened time says
     * nothing about other connections.
     */
    judge(said: DatabaseError | null, isHurried: boolean): void {
      // The server is shutting down, or has ended the session: the connection is unusable.
      const isOver = said?.severity === 'FATAL' || /^(?:08|57P)/.test(said?.code ?? '')
      if (said === null || isOver) this.isSound = false
      if (said === null ? !isHurried : said.code === readOnly) choice.distrust()
    }
  }

/**
 * The routine that warns of a cancelled wait for a standby. The commit is reported as successful
 * all the same. The routine is compared because the text is in the server's language.
 */
const standbyWait = 'SyncRepWaitForLSN'

export const readOnly = '25006'

/**
 * Opens two sessions of an address, and compares their backends.
 * @returns whether both had the same one.
 */
export async function compareBackends(connectionString: string): Promise<boolean> {
  const onIdleError = (): void => undefined
  const sessions = openSessions({ connectionString, poolSize: 2, onIdleError })
  try {
    const one = await sessions.take()
    try {
      return await isBackendShared(one, await sessions.take())
    } finally {
      // Also where there is no other one: the pool closes once it has all of its own back.
      one.release(true)
    }
  } finally {
    await sessions.close()
  }
}

const roundsOfComparison = 3

/** Compares the backends of two sessions, and returns the second one. */
async function isBackendShared(one: Session, other: Session): Promise<boolean> {
  try {
    for (let round = 0; round < roundsOfComparison; round += 1) {
      if (await takesBackend(one, other)) return true
    }
    return false
  } finally {
    // Behind a pooler, the transaction of a session may have outlived it.
    other.release(true)
  }
}

/** Whether a transaction of one session takes the backend of another session. */
async function takesBackend(one: Session, other: Session): Promise<boolean> {
  const before = await readBackend(one)
  try {
    await other.ask({ text: 'begin' })
  } catch (error) {
    if (error instanceof DatabaseError && error.code === protocolViolation) return true
    throw error
  }
  const taken = await readBackend(other)
  // The session that lost its backend would wait for another one, so it is not used again.
  const isShared = taken === before || (await readBackend(one)) !== before
  await other.ask({ text: 'rollback' })
  return isShared
}

/**
 * PgBouncer in statement mode rejects a transaction with this code (PostgreSQL manual, appendix A).
 */
const protocolViolation = '08P01'

async function readBackend(session: Session): Promise<number | undefined> {
  const { rows } = await session.ask({ text: 'select pg_backend_pid() as pid' })
  const [row] = rows as readonly { readonly pid: number }[]
  return row?.pid
}
