import { relative, resolve } from 'node:path'
import type { EventData, TestsStream } from 'node:test'
import { inspect } from 'node:util'

/** The numbers of passed, failed and skipped tests. */
export interface RunResult {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

interface Failure {
  readonly file: string
  readonly title: string
  readonly error: unknown
}

interface RunRecord {
  readonly files: ReadonlySet<string>
  readonly failures: Failure[]
  /** The number of skipped tests by reason. */
  readonly leftOut: Map<string, number>
  /** The files that run, and since when. */
  readonly running: Map<string, number>
  /** The tests' output by the module of their process. */
  readonly output: Map<string, string>
  passed: number
  filesDone: number
}

/**
 * Prints a line for each file as it ends, with its failures. The summary has each failure again,
 * with the command that runs its file alone, because a long log is often kept only in part. It also
 * has the number of skipped tests by reason.
 * @param files the test files, from the root of the project.
 * @param showsOutput whether to print the tests' output without a failure, too.
 */
export async function reportRun(
  tests: TestsStream,
  files: readonly string[],
  showsOutput: boolean,
): Promise<RunResult> {
  const startedMs = Date.now()
  const record: RunRecord = {
    files: new Set(files.map((file) => toRelativePath(file))),
    failures: [],
    leftOut: new Map(),
    running: new Map(),
    output: new Map(),
    passed: 0,
    filesDone: 0,
  }
  const keepOutput = ({ file, message }: EventData.TestStdout) => {
    const path = toRelativePath(file)
    record.output.set(path, (record.output.get(path) ?? '') + message)
  }
  tests.on('test:dequeue', (test) => {
    if (isFile(record, test)) record.running.set(toRelativePath(test.name), Date.now())
  })
  tests.on('test:stdout', keepOutput)
  tests.on('test:stderr', keepOutput)
  tests.on('test:complete', (test) => {
    noteTest(record, test)
    if (isProcess(test)) printOutput(record, test, showsOutput)
    if (!isFile(record, test)) return
    record.running.delete(toRelativePath(test.name))
    record.filesDone += 1
    printFile(record, test)
  })
  const watch = setInterval(() => printLongRunning(record), longRunningMs)
  for await (const _ of tests) {
    // Each event is handled above.
  }
  clearInterval(watch)
  printSummary(record, (Date.now() - startedMs) / 1000)
  const skipped = [...record.leftOut.values()].reduce((sum, count) => sum + count, 0)
  return { passed: record.passed, failed: record.failures.length, skipped }
}

/** A file that has run for longer is named, so that a run that hangs shows where. */
const longRunningMs = 120_000

function printLongRunning({ running }: RunRecord): void {
  for (const [file, sinceMs] of running) {
    const seconds = Math.round((Date.now() - sinceMs) / 1000)
    if (seconds * 1000 >= longRunningMs) console.log(`  still running: ${file}, for ${seconds} s`)
  }
}

/** Each file is reported as a test with its path as the name. */
const isFile = ({ files }: RunRecord, { name }: { readonly name: string }): boolean =>
  files.has(toRelativePath(name))

/** Node reports each process as a test with the path of its module as the name. */
const isProcess = ({ file, name }: EventData.TestComplete): boolean => resolve(name) === file

function noteTest(record: RunRecord, test: EventData.TestComplete): void {
  const { details, name, skip = false } = test
  const { error } = details
  if (error) {
    // A test or a file that failed because of an inner test: the inner one is reported.
    if ('failureType' in error && error.failureType === 'subtestsFailed') return
    const isOfFile = isFile(record, test)
    const file = toRelativePath(isOfFile ? name : test.file)
    record.failures.push({ file, title: isOfFile ? 'the file itself' : name, error })
  } else if (skip !== false) {
    const reason = skip === true ? 'no reason given' : skip
    record.leftOut.set(reason, (record.leftOut.get(reason) ?? 0) + 1)
  } else if (!isFile(record, test) && !isProcess(test) && details.type !== 'suite') {
    record.passed += 1
  }
}

function printFile({ failures, files, filesDone }: RunRecord, test: EventData.TestComplete): void {
  const file = toRelativePath(test.name)
  const found = failures.filter((failure) => failure.file === file)
  const mark = found.length === 0 ? ' ' : '✖'
  const seconds = (test.details.duration_ms / 1000).toFixed(1)
  console.log(`${mark} ${filesDone} of ${files.size} files  ${file}  ${seconds} s`)
  for (const { error, title } of found) console.log(indent(`✖ ${title}\n${describe(error)}`))
}

function printOutput(
  { output }: RunRecord,
  { details, file }: EventData.TestComplete,
  showsOutput: boolean,
): void {
  const printed = output.get(toRelativePath(file))
  if (printed && (showsOutput || details.error)) console.log(indent(printed))
}

function printSummary({ failures, leftOut, passed }: RunRecord, seconds: number): void {
  const minutes = `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`
  console.log(
    `\n${passed} ${passed === 1 ? 'test' : 'tests'} passed, ${failures.length} failed, in ${minutes}.`,
  )
  for (const [reason, count] of leftOut) {
    console.log(`Left out, ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}`)
  }
  for (const file of new Set(failures.map((failure) => failure.file))) {
    console.log(`\n✖ ${file}`)
    for (const { error, title } of failures.filter((failure) => failure.file === file)) {
      console.log(indent(`${title}\n${describe(error)}`))
    }
    console.log(`  npm test -- ${file}`)
  }
}

const toRelativePath = (file = ''): string => relative(process.cwd(), resolve(file))

const describe = (error: unknown): string =>
  inspect(error instanceof Error && error.cause ? error.cause : error)

const indent = (text: string): string => text.trimEnd().replaceAll(/^/gm, '    ')
