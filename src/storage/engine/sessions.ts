import {
  Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  types,
} from 'pg'
import { lockTimeoutMs, type PoolLoad, planning } from './database.ts'
import { type DatabaseServers, parseDatabaseUrl } from './database-url.ts'

export interface SessionsOptions {
  /** Of one server, or of several as `parseDatabaseUrl` takes them. */
  readonly connectionString: string
  /** Connections that this pool may have. */
  readonly poolSize: number
  /** For one statement; 10 seconds unless it is given. */
  readonly statementTimeoutMs?: number
  /** Called with what breaks on a connection that nobody is using. */
  onIdleError(error: Error): void
}

/** A connection to the server that has the database, of one who uses it until it is released. */
export interface Session {
  /**
   * Resolves when the server has done it, and the standby has it that was to.
   * @throws `UnconfirmedCommit`; what the driver throws.
   */
  ask(asked: Asked): Promise<{ readonly rows: unknown[] }>
  /**
   * Runs SQL text, which may take as long as it likes, and so may what is asked after it: it says
   * itself how long.
   */
  script(text: string): Promise<void>
  /**
   * False once it was found broken, or to lead to a server that is not the one: it is thrown away.
   */
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
   * Whether the server found last is that of a cluster; so is one that is not known yet, which is
   * right on both.
   */
  isCluster(): boolean
  load(): PoolLoad
  /** Closes the pool. A second call waits for the same end. */
  close(): Promise<void>
}

/**
 * A commit that may be lost with its server: a standby should have it, and it is unknown whether it
 * does.
 */
export class UnconfirmedCommit extends Error {}

/** How long one waits for a connection: for one that is made, and for one that others have. */
const connectTimeoutMs = 5_000
/** One of several servers that does not answer is left for the next. */
const connectTimeoutOfSeveralMs = 2_000
/**
 * A server says by itself that a statement took too long. One that has not said so by then says
 * nothing any more.
 */
const silenceMs = 1_000
const dateOid = 1082

/** Dates stay `YYYY-MM-DD`: they have no time zone to be moved by. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format as 'text'),
}

/** Connections to that of the servers which can be written to. */
export function openSessions(options: SessionsOptions): Sessions {
  const { onIdleError, poolSize, statementTimeoutMs = 10_000 } = options
  const choice = createChoice(parseDatabaseUrl(options.connectionString), statementTimeoutMs)
  const pool = new Pool({
    // The types want a class that takes a configuration; this one has its own.
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
  /** For how long its user has waited for it, and not asked anything yet. */
  waitedMs: number
  readonly generation: number
}

/** A connection to the server that is asked first, or to the next one that has the database. */
async function take(pool: Pool, choice: Choice): Promise<Session> {
  const beganMs = performance.now()
  const untilMs = beganMs + connectTimeoutMs
  for (let tries = 1; ; ) {
    const address = choice.address()
    try {
      // The pool makes clients of the class that it was given, and types them as its own.
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
 * Which server is asked next. The one that was found last is the first, so that nobody waits for
 * one that is gone.
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
    /** Connections of an earlier one are not used any more. */
    generation: () => generation,
    /**
     * A connection leads nowhere, or to a server that takes no changes: so may all that were made
     * before now.
     */
    distrust() {
      generation += 1
    },
    leave(left: string, fault: Error) {
      faults.set(left, fault)
      // Others may have gone on already.
      if (left === address()) current = (current + 1) % addresses.length
    },
    /** Why there is no connection. Of several servers, what was found last of each. */
    fault(): Error | undefined {
      if (addresses.length === 1) return faults.get(addresses[0])
      const told = addresses.map((each) => `${new URL(each).host}: ${faults.get(each)?.message}`)
      return new Error(told.join('; '))
    },
    /** Sets up a new connection. @throws Error where its server is not the one that is wanted. */
    async greet(client: ClientBase): Promise<void> {
      const text = `set statement_timeout = ${statementTimeoutMs}; ${greeting}`
      const asked = { text, query_timeout: timeoutMs }
      // A text of several statements gets a list of results, which the types do not know.
      const results = (await client.query(asked)) as unknown as readonly { rows: Nature[] }[]
      const nature = results.at(-1)?.rows[0]
      isCluster = nature?.isCluster ?? isCluster
      if (sessions === 'any' || !nature) return
      const isGood = sessions === 'primary' ? !nature.isStandby : !nature.isReadOnly
      if (!isGood) throw new Error(nature.isStandby ? 'is a standby' : 'is read-only')
    },
  }
}

/** What a server is to those who connect to it. */
interface Nature {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly isCluster: boolean
}

/**
 * What a session depends on, whatever the server, the database and the user have set. It is set
 * here and not as the session starts, because poolers refuse parameters of the start that they do
 * not know. The driver reads dates, intervals and bytes in these forms only.
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
  set lock_timeout = ${lockTimeoutMs};
  set idle_in_transaction_session_timeout = 15000;
  select set_config(name, '0', false) from pg_settings
  where name in ('idle_session_timeout', 'transaction_timeout');`

/**
 * Warnings are asked for whatever the user's own setting is: one of them says that a commit is
 * unconfirmed. Statements are planned once, but on a cluster: it finds the node of a statement by
 * its values. And it has one connection to each node for what is sent to several shards of it: only
 * so may what else is in the transaction come after.
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
 * A connection that knows what became of it.
 * @param silenceMaxMs how long its server may say nothing.
 */
const createClientClass = (choice: Choice, silenceMaxMs: number) =>
  class extends Client {
    readonly generation = choice.generation()
    isSound = true
    isUnconfirmed = false
    isPatient = false
    waitedMs = 0

    constructor(config: ClientConfig) {
      const [connectionString, connectionTimeoutMillis] = [choice.address(), choice.timeoutMs]
      super({ ...config, connectionString, connectionTimeoutMillis })
      this.on('notice', ({ routine }) => {
        if (routine === standbyWait) this.isUnconfirmed = true
      })
      // A break shows in the statement that it meets. Unheard, it would end the process.
      this.on('error', () => {
        this.isSound = false
      })
    }

    async ask(asked: Asked): Promise<{ readonly rows: unknown[] }> {
      // Who waited for the connection waits for the first answer on it for as much less.
      const isHurried = this.waitedMs > silenceMs
      const silenceLeftMs = Math.max(silenceMs, silenceMaxMs - this.waitedMs)
      this.waitedMs = 0
      try {
        // No time-out of the server ends a wait for a standby.
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
     * Goes by what its server said, or by that it said nothing: in too short a time, nothing
     * follows for the others.
     */
    judge(said: DatabaseError | null, isHurried: boolean): void {
      // Its server shuts down, or has ended it: it is of no use any more.
      const isOver = said?.severity === 'FATAL' || /^(?:08|57P)/.test(said?.code ?? '')
      if (said === null || isOver) this.isSound = false
      if (said === null ? !isHurried : said.code === readOnly) choice.distrust()
    }
  }

/**
 * The routine of a server that warns of a wait for a standby that was cancelled: the commit is
 * answered as done all the same. The words of the warning are in the server's language.
 */
const standbyWait = 'SyncRepWaitForLSN'

export const readOnly = '25006'

/**
 * Takes two sessions of an address, and compares their backends.
 * @returns whether one had that of the other.
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

/** Compares the backends of two sessions, and gives the other one back. */
async function isBackendShared(one: Session, other: Session): Promise<boolean> {
  try {
    for (let round = 0; round < roundsOfComparison; round += 1) {
      if (await takesBackend(one, other)) return true
    }
    return false
  } finally {
    // Behind a pooler the transaction of a session may have outlived it.
    other.release(true)
  }
}

/** Whether a transaction of one session takes the backend that another session had. */
async function takesBackend(one: Session, other: Session): Promise<boolean> {
  const before = await readBackend(one)
  try {
    await other.ask({ text: 'begin' })
  } catch (error) {
    if (error instanceof DatabaseError && error.code === protocolViolation) return true
    throw error
  }
  const taken = await readBackend(other)
  // The session that lost its backend would wait for another one, so it is not asked again.
  const isShared = taken === before || (await readBackend(one)) !== before
  await other.ask({ text: 'rollback' })
  return isShared
}

/** How PgBouncer in statement mode refuses a transaction (PostgreSQL manual, appendix A). */
const protocolViolation = '08P01'

async function readBackend(session: Session): Promise<number | undefined> {
  const { rows } = await session.ask({ text: 'select pg_backend_pid() as pid' })
  const [row] = rows as readonly { readonly pid: number }[]
  return row?.pid
}
