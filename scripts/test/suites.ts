import { execFileSync } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { writeClusterRun } from '../../test/support/cluster-run.ts'
import type { RunResult } from './report.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const find = (...patterns: readonly string[]): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).sort())

/** Every test file, from the root of the project. */
export const listTestFiles = (): string[] => find('test/**/*.test.ts')

/** Test files with their own command, since they take longer or need more than `npm test` has. */
export interface Suite {
  readonly files: () => string[]
  readonly env?: Readonly<Record<string, string>>
  /** Called after all of its files have passed. */
  readonly record?: (files: number, result: RunResult) => Promise<void>
}

/** Tests of the embedded database, or of the plans and the server of one PostgreSQL. */
const ofOneServer = [
  /storage\/(bounded-statements|round-trips)/,
  /storage\/(authorizations\/settle-waits|cards\/(lines|ordered-lists))/,
  /storage\/engine\/(?!cluster|leases)/,
]

const suites: Readonly<Record<string, Suite>> = {
  /** More acts and kills than in `npm test`; Go also verifies the log. */
  audit: {
    files: () => ['test/audit/killed.test.ts'],
    env: { AUDIT_ACTS: '5000', AUDIT_KILLS: '10', TEST_GO: 'required' },
  },
  /** On the Citus cluster in TEST_CITUS_URL, instead of the embedded database and a server. */
  cluster: {
    files: () =>
      find('test/{operations,storage,listeners/public,listeners/private}/**/*.test.ts').filter(
        (file) => !ofOneServer.some((pattern) => pattern.test(file)),
      ),
    env: {
      TEST_SERVER: 'cluster',
      TEST_PGLITE_LEFT_OUT: 'the cluster takes its place',
      // A cluster creates the databases of a file on every node.
      TEST_FILES_AT_ONCE: process.env.TEST_FILES_AT_ONCE ?? '1',
    },
    record: recordClusterRun,
  },
  /** More processes that are killed while clients decide than in `npm test`. */
  decisions: {
    files: () => ['test/operations/decisions/killed.test.ts'],
    env: { DECISION_KILLS: '1000' },
  },
  failover: { files: () => ['test/service/failover.test.ts'], env: { FAILOVERS: '10' } },
  fuzz: { files: () => ['test/fuzz/fuzz.test.ts'], env: { FUZZ_RUNS: '20000' } },
  /** More schedules of acts on one card, and a job of renewals for many cards. */
  life: {
    files: () => [
      'test/operations/card-life/schedules.test.ts',
      'test/operations/renewals/jobs.test.ts',
    ],
    env: { LIFE_SCHEDULES: '10000', TEST_RENEWED_CARDS: '100000' },
  },
  /**
   * ISO 8583 libraries of other authors, from checkouts in two variables
   * (docs/reference/iso8583.md).
   */
  libraries: { files: () => ['test/listeners/iso8583/libraries/libraries.test.ts'] },
  /** All files, with more cases of each property. */
  nightly: { files: listTestFiles, env: { PROPERTY_CASES: 'nightly' } },
  /** A trial release, installed by npm. */
  package: { files: () => ['scripts/test-package.ts'] },
  /** Deliveries of many events while service and receiver are killed. */
  storm: {
    files: () => ['test/operations/webhooks/storm.test.ts'],
    env: {
      STORM_CARDS: '500',
      STORM_EVENTS_PER_CARD: '20',
      STORM_SERVER_KILLS: '5',
      STORM_RECEIVER_KILLS: '2',
    },
  },
}

/** Returns a suite. Exits if it does not exist, or lacks its cluster. */
export function findSuite(name: string): Suite {
  const suite = suites[name]
  if (!suite) endWith(`There is no suite ${name}. Suites: ${Object.keys(suites).join(', ')}.`)
  if (name === 'cluster' && !process.env.TEST_CITUS_URL) {
    endWith('The suite cluster needs TEST_CITUS_URL, the URL of a cluster’s coordinator.')
  }
  return suite
}

/** Returns a test file, or those of a folder. Exits if the path does not exist. */
export function listNamedFiles(path: string): readonly string[] {
  if (!existsSync(path)) endWith(`There is no file ${path}.`)
  if (!statSync(path).isDirectory()) return [path]
  return globSync(`${path}/**/*.test.ts`).sort()
}

function endWith(message: string): never {
  console.error(message)
  process.exit(1)
}

async function recordClusterRun(files: number, { passed, skipped }: RunResult): Promise<void> {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root })
  await writeClusterRun(process.env.TEST_CITUS_URL ?? '', {
    commit: commit.toString().trim(),
    files,
    tests: passed,
    skipped,
  })
}
