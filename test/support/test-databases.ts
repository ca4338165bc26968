/** What every place that tests get databases from gives, and how it is administered. */
import pg from 'pg'

export type TestDatabase = {
  /** What `DATABASE_URL` would be. */
  url: string
  name: string
  /** Ends every session on it and drops it. */
  close: () => Promise<void>
}

export type TestPostgres = {
  /** For `test(title, { skip: postgres.leftOut }, …)`: `false`, or why there is no server. */
  leftOut: string | false
  /** The superuser's URL; unset where there is no server. */
  url: string | undefined
  /** The process of a server of its own, for those who stop or kill it. */
  pid: number | undefined
  /** Whether its databases are those of a cluster: a schema is spread before it is used. */
  isCluster: boolean
  /** A database of its own, empty or a copy of a template. */
  createDatabase: (options?: { template?: string }) => Promise<TestDatabase>
  /**
   * The name of a template database, prepared once per server whichever test process asks first.
   * `key` tells templates apart; `prepare` gets the URL and leaves no connection open.
   */
  template: (key: string, prepare: (url: string) => Promise<void>) => Promise<string>
  /** Stops the server if this process started it. A test that forgets leaves nothing behind. */
  stop: () => Promise<void>
}

/** On a connection of its own, so that no idle one keeps a test process alive. */
export const administer = async (
  url: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

export const onDatabase = (url: string, name: string): string => {
  const database = new URL(url)
  database.pathname = `/${name}`
  return database.href
}
