/**
 * `npm run mutate:changed [-- <minutes> [<base>]]`: mutates the lines that changed since a commit, then a sample of
 * files that the commit at hand draws, until the minutes are over. Rooms whose mutants take long wait for the night.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { quickRooms, type RoomName, rooms } from './mutation/rooms.ts'
import { removeSandboxes, runStryker } from './mutation/run-mutants.ts'
import { count, describeTally, emptyTally, scoreOf, type Tally } from './mutation/tally.ts'

/** Of so few mutants one that survives is no trend. */
const mutantsMin = 50

const git = (...words: readonly string[]): string =>
  execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** Where the work at hand began, or null in a history that does not go so far back. */
const findBase = (): string | null => {
  for (const words of [
    ['merge-base', 'HEAD', 'origin/main'],
    ['rev-parse', '--verify', 'HEAD~1'],
  ]) {
    try {
      const base = git(...words)
      if (base !== git('rev-parse', 'HEAD')) return base
    } catch {
      // The next one.
    }
  }
  return null
}

/** `file:from-to` of the lines that are new since a commit, in a folder. */
const changedLines = (base: string, folder: string): string[] => {
  let file = ''
  return git('diff', '--unified=0', '--diff-filter=AM', base, '--', folder)
    .split('\n')
    .flatMap((line) => {
      file = /^\+\+\+ b\/(.+\.ts)$/.exec(line)?.[1] ?? file
      const [, from = '', lines = '1'] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
      if (from === '' || lines === '0') return []
      return [`${file}:${from}-${Number(from) + Number(lines) - 1}`]
    })
}

/** The files of the quick rooms, in an order that follows from the commit. */
const drawFiles = (seed: string): { name: RoomName; file: string }[] => {
  const order = (file: string) => createHash('sha256').update(`${seed} ${file}`).digest('hex')
  return quickRooms
    .flatMap((name) => globSync(`${rooms[name].folder}/**/*.ts`).map((file) => ({ name, file })))
    .sort((one, other) => (order(one.file) < order(other.file) ? -1 : 1))
}

/** What was drawn is for the reader: a file may lie below the least score of its whole room. */
const report = (
  changed: ReadonlyMap<RoomName, Tally>,
  drawn: ReadonlyMap<RoomName, Tally>,
): void => {
  for (const [name, tally] of drawn) console.log(describeTally(`drawn from ${name}`, tally))
  for (const [name, tally] of changed) {
    console.log(describeTally(`changed in ${name}`, tally))
    const isEnough = tally.found + tally.survivors.length >= mutantsMin
    if (isEnough && scoreOf(tally) < rooms[name].scoreMin) process.exitCode = 1
  }
}

const main = async (): Promise<void> => {
  const [minutes = '5', base = findBase()] = process.argv.slice(2)
  const deadlineMs = Date.now() + Number(minutes) * 60_000
  const changed = new Map<RoomName, Tally>(quickRooms.map((name) => [name, emptyTally()]))
  const drawn = new Map<RoomName, Tally>(quickRooms.map((name) => [name, emptyTally()]))
  const mutate = (tally: Tally, name: RoomName, files: readonly string[]): Promise<boolean> =>
    runStryker(rooms[name], files, deadlineMs, (mutant) => count(tally, mutant))
  let isInTime = true
  for (const [name, tally] of changed) {
    const lines = base === null ? [] : changedLines(base, rooms[name].folder)
    if (isInTime && lines.length > 0) isInTime = await mutate(tally, name, lines)
  }
  for (const { file, name } of isInTime ? drawFiles(git('rev-parse', 'HEAD')) : []) {
    if (!(await mutate(drawn.get(name) ?? emptyTally(), name, [file]))) break
  }
  report(changed, drawn)
}

try {
  await main()
} finally {
  await removeSandboxes()
}
