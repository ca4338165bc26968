/** The record of the last run of `npm test -- --suite cluster` that passed. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import pg from 'pg'

const file = new URL('../storage/engine/cluster-run.json', import.meta.url)

/** What a run came to. */
interface CountedRun {
  /** Of this repository. */
  readonly commit: string
  readonly files: number
  /** Tests that passed, and those that were left out. */
  readonly tests: number
  readonly skipped: number
}

interface ClusterRun extends CountedRun {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly citus: string
  readonly postgresql: string
  readonly nodes: number
  /** A digest of each statement that storage declared then. */
  readonly statements: Readonly<Record<string, string>>
}

const computeDigest = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12)

/** Digests of all statements that are sent to a cluster, by their names. */
const digestStatements = async (): Promise<Record<string, string>> => {
  const { listDeclaredStatements } = await import('./declared-statements.ts')
  const sent = (await listDeclaredStatements()).filter(({ name }) => !name.endsWith('_several'))
  return Object.fromEntries(
    sent
      .map(({ name, text }) => [name, computeDigest(text)])
      .sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  )
}

/** Puts a run on record. @param url of the cluster's coordinator. */
export async function writeClusterRun(url: string, counted: CountedRun): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select extversion as citus, current_setting('server_version') as postgresql,
       (select count(*)::integer from pg_dist_node) as nodes
     from pg_extension where extname = 'citus'`,
  )
  await client.end()
  const [{ citus, nodes, postgresql }] = rows
  const run: ClusterRun = {
    date: new Date().toISOString().slice(0, 10),
    citus,
    postgresql: String(postgresql).replace(/ .*/, ''),
    nodes,
    ...counted,
    statements: await digestStatements(),
  }
  await writeFile(file, `${JSON.stringify(run, null, 2)}\n`)
}

/** Null where no run was put on record. */
const readClusterRun = async (): Promise<ClusterRun | null> =>
  existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : null

/** Says when the suites ran on a cluster last, and what has changed since. */
export async function describeClusterRun(): Promise<string> {
  const run = await readClusterRun()
  if (!run) return 'No run of the suites on a cluster has passed yet: npm test -- --suite cluster.'
  const { citus, commit, date, nodes, postgresql, statements, tests } = run
  const now = Object.entries(await digestStatements())
  const changed = now.filter(([name, digest]) => statements[name] !== digest).length
  return `The last run on a cluster that passed: ${date}, ${tests} tests, Citus ${citus} over PostgreSQL ${postgresql}, ${nodes} nodes, commit ${commit}; ${changed} statements are new or changed since.`
}
