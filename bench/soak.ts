/**
 * Whether an embedded database keeps its pace: a million authorizations with right PINs, one
 * service with all of its background jobs, its data directory on a disk. `npm run bench -- soak`;
 * `SOAK_AUTHORIZATIONS=100000` is a shorter run. Every 50,000 it prints the rate, the latencies,
 * the size of the data directory, the largest of the tables whose rows come and go, and how often
 * the database was vacuumed; at the end the last tenth's rate beside the first tenth's.
 */
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Pool } from 'undici'
import { statement } from '../src/storage/engine/database.ts'
import { openPglite } from '../src/storage/engine/pglite.ts'
import { composeRequest, issueCards } from './network.ts'
import { type BenchService, headersFor, runBench } from './support.ts'

const total = Number(process.env.SOAK_AUTHORIZATIONS ?? 1_000_000)
const stretchSize = Math.min(50_000, Math.ceil(total / 10))
const stretches = Math.ceil(total / stretchSize)
/** Before the measurements, so that the engine's code is compiled with optimizations. */
const warmUpSize = Math.min(10_000, stretchSize)
const callers = 32
const cardCount = 400
const lookEveryMs = 2_000

/** Tables that grow by design until their rows reach the retention. */
const keptTables = [
  'authorization_request',
  'event',
  'published_event',
  'audit_entry',
  'audit_tile',
  'audit_entered',
]

const filesStatement = statement(
  'list_table_files',
  `with named as (
     select oid, coalesce(pg_partition_root(oid), oid)::regclass::text as "tableName"
     from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
   ), whole as (
     select "tableName", oid from named
     union all select "tableName", indexrelid from named join pg_index on indrelid = named.oid
     union all select "tableName", reltoastrelid
       from named join pg_class using (oid) where reltoastrelid <> 0
   )
   select "tableName", pg_relation_filepath(oid) as path from whole
   where pg_relation_filepath(oid) is not null`,
)

/**
 * Returns the table of each database file. The service must be stopped, since only one process
 * opens the database.
 */
async function readTableFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const database = await openPglite(folder)
  try {
    const files = await database.query<{ tableName: string; path: string }>(filesStatement)
    return new Map(files.map(({ path, tableName }) => [basename(path), tableName]))
  } finally {
    await database.close()
  }
}

interface Sizes {
  readonly all: number
  readonly log: number
  readonly byTable: ReadonlyMap<string, number>
}

/**
 * Returns the bytes of the data directory, of its write-ahead log, and of each table with its
 * indexes.
 */
async function measureFiles(
  folder: string,
  tablesByFile: ReadonlyMap<string, string>,
): Promise<Sizes> {
  const byTable = new Map<string, number>()
  let all = 0
  let log = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    // A file may have been deleted meanwhile.
    const { size } = await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))
    all += size
    if (entry.parentPath.includes('pg_wal')) log += size
    const tableName = tablesByFile.get(entry.name.replace(/[._].*$/, ''))
    if (tableName) byTable.set(tableName, (byTable.get(tableName) ?? 0) + size)
  }
  return { all, log, byTable }
}

/** Counts the runs of vacuum, by the time of the last one in the health document. */
function countVacuums(privateUrl: string) {
  let count = 0
  let last = ''
  const look = async (): Promise<void> => {
    const answer = await fetch(`${privateUrl}/health`)
    const { checks } = (await answer.json()) as { checks: Record<string, [{ output?: string }]> }
    const said = checks['database:vacuum']?.[0].output ?? ''
    if (said === last) return
    if (last !== '') count += 1
    last = said
  }
  const timer = setInterval(() => look().catch(() => undefined), lookEveryMs)
  return { count: () => count, last: () => last, stop: () => clearInterval(timer) }
}

interface Stretch {
  readonly perSecond: number
  readonly tookMs: readonly number[]
}

/**
 * Sends authorizations of several callers, in sequence for each.
 * @throws Error unless all are approved.
 */
async function authorize(
  { pool, service }: { pool: Pool; service: BenchService },
  bodies: readonly string[],
  count: number,
): Promise<Stretch> {
  // A new token, since the run is longer than its life.
  const headers = await headersFor(service, service.sandbox.network)
  const tookMs: number[] = []
  let asked = 0
  const call = async (): Promise<void> => {
    while (asked < count) {
      const body = bodies[asked % bodies.length] ?? ''
      asked += 1
      const fromMs = performance.now()
      const answer = await pool.request({
        method: 'POST',
        path: '/network/authorizations',
        headers,
        body,
      })
      const text = await answer.body.text()
      tookMs.push(performance.now() - fromMs)
      if (answer.statusCode !== 200 || JSON.parse(text).responseCode !== '00') {
        throw new Error(`${answer.statusCode} ${text}`)
      }
    }
  }
  const fromMs = performance.now()
  await Promise.all(Array.from({ length: callers }, call))
  return { perSecond: (count / (performance.now() - fromMs)) * 1_000, tookMs }
}

/** Processor time of a process in milliseconds, which other load on the machine hardly affects. */
async function readProcessorMs({ child }: BenchService): Promise<number> {
  const text = await readFile(`/proc/${child.pid}/stat`, 'utf8')
  // After the name in brackets, user and system time are fields 12 and 13, in hundredths
  // (proc_pid_stat(5)).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const quantile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

function describeSizes({ all, byTable, log }: Sizes): string {
  const tables = [...byTable].toSorted(([, one], [, other]) => other - one)
  const largest = tables
    .filter(([tableName]) => !keptTables.includes(tableName))
    .slice(0, 4)
    .map(([tableName, bytes]) => `${tableName} ${megabytes(bytes)}`)
  const kept = tables
    .filter(([tableName]) => keptTables.includes(tableName))
    .reduce((sum, [, bytes]) => sum + bytes, 0)
  return `${megabytes(all)} MB (log ${megabytes(log)}, kept rows ${megabytes(kept)}); ${largest.join(', ')}`
}

await runBench(async (bench) => {
  const onDisk = { DATABASE_URL: '' }
  const folder = join(bench.dataDir, 'pgdata')
  const first = await bench.startService(onDisk)
  const cards = await issueCards(first, cardCount)
  first.child.kill('SIGTERM')
  await once(first.child, 'exit')
  const tablesByFile = await readTableFiles(folder)
  const service = await bench.startService(onDisk)
  const pool = new Pool(service.privateUrl, { connections: callers })
  const vacuums = countVacuums(service.privateUrl)
  const bodies = cards.map((card) => composeRequest(service, card))
  const rates: number[] = []
  const costs: number[] = []
  await authorize({ pool, service }, bodies, warmUpSize)
  console.log(`before: ${describeSizes(await measureFiles(folder, tablesByFile))}`)
  try {
    for (let stretch = 1; stretch <= stretches; stretch += 1) {
      const beforeMs = await readProcessorMs(service)
      const { perSecond, tookMs } = await authorize({ pool, service }, bodies, stretchSize)
      const processorMs = ((await readProcessorMs(service)) - beforeMs) / stretchSize
      rates.push(perSecond)
      costs.push(processorMs)
      const sorted = tookMs.toSorted((a, b) => a - b)
      console.log(
        `${stretch * stretchSize}: ${Math.round(perSecond)}/s, p50 ${quantile(sorted, 0.5)} ms, ` +
          `p99 ${quantile(sorted, 0.99)} ms, processor ${processorMs.toFixed(2)} ms; ` +
          `${describeSizes(await measureFiles(folder, tablesByFile))}; ` +
          `vacuums seen: ${vacuums.count()}`,
      )
    }
  } finally {
    vacuums.stop()
    await pool.close()
  }
  const tenth = Math.round(stretches / 10)
  // All stretches have the same size, so their times are added, not their rates.
  const computeRate = (part: readonly number[]) =>
    part.length / part.reduce((sum, perSecond) => sum + 1 / perSecond, 0)
  const begin = computeRate(rates.slice(0, tenth))
  const end = computeRate(rates.slice(-tenth))
  console.log(
    `first tenth ${Math.round(begin)}/s, last tenth ${Math.round(end)}/s: ` +
      `${(end / begin).toFixed(2)}`,
  )
  const computeCost = (part: readonly number[]) =>
    part.reduce((sum, ms) => sum + ms, 0) / part.length
  const cost = computeCost(costs.slice(0, tenth))
  const lastCost = computeCost(costs.slice(-tenth))
  console.log(
    `processor: ${cost.toFixed(2)} ms each in the first tenth, ${lastCost.toFixed(2)} in the last`,
  )
  console.log(vacuums.last())
})
