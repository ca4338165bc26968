import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Outcome, runRow } from './vectors/run-row.ts'
import { lacksPublished, readVectorFile } from './vectors/vector-file.ts'

/** The number of rows by outcome. */
export type Tally = Readonly<Record<Outcome['result'], number>>

const none: Tally = { passed: 0, failed: 0, skipped: 0 }

/**
 * Runs every vector file of some folders. Prints each primitive's tally, and each failed or skipped
 * row by ID and name.
 * @param print receives one line.
 * @returns the total tally; an invalid file or folder counts as one failure.
 */
export async function runVectors(
  directories: readonly string[],
  print: (line: string) => void,
): Promise<Tally> {
  let total = none
  for (const directory of directories) {
    const names = await readdir(directory).catch(() => [])
    const paths = names.filter((name) => name.endsWith('.json')).sort()
    if (paths.length === 0) {
      print(`failed: no vector files in ${directory}`)
      total = add(total, { ...none, failed: 1 })
    }
    for (const path of paths) total = add(total, await runFile(join(directory, path), print))
  }
  return total
}

/** `N passed, N failed, N skipped`. */
export function tallyLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

async function runFile(path: string, print: (line: string) => void): Promise<Tally> {
  const file = await readVectorFile(path)
  if (!file) {
    print(`failed: ${path}: not a file of vectors`)
    return { ...none, failed: 1 }
  }
  const lines: string[] = []
  const fail = (line: string): Tally => {
    lines.push(`  failed: ${line}`)
    return { ...none, failed: 1 }
  }
  let tally = none
  for (const row of file.rows) {
    const outcome = await runRow(row, file.primitive)
    tally = add(tally, { ...none, [outcome.result]: 1 })
    if (outcome.result !== 'passed') {
      lines.push(`  ${outcome.result}: ${row.id} ${row.name}: ${outcome.reason}`)
    }
  }
  for (const row of file.malformed) tally = add(tally, fail(`${row}: not a row of the form`))
  if (lacksPublished(file)) tally = add(tally, fail('no published vector'))
  print(`${file.primitive}: ${tallyLine(tally)}`)
  for (const line of lines) print(line)
  return tally
}

function add(left: Tally, right: Tally): Tally {
  return {
    passed: left.passed + right.passed,
    failed: left.failed + right.failed,
    skipped: left.skipped + right.skipped,
  }
}

// npm run vectors -- [DIR …]
if (import.meta.main) {
  const directories = process.argv.slice(2)
  const tally = await runVectors(
    directories.length > 0 ? directories : ['test/vectors'],
    console.log,
  )
  console.log(tallyLine(tally))
  process.exitCode = tally.failed > 0 ? 1 : 0
}
