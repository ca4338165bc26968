/**
 * `npm run mutate [-- domain crypto …]`: mutates the code of some rooms, all of them by default, and holds
 * the share of mutants that their tests find to the least that scripts/mutation/rooms.ts allows. Instead
 * of a room, a file of it can be named.
 */
import { globSync } from 'node:fs'
import { sharePostgres } from '../test/support/postgres.ts'
import { equivalents } from './mutation/equivalents.ts'
import { type Room, type RoomName, roomNames, rooms } from './mutation/rooms.ts'
import { removeSandboxes, runStryker, runWarm } from './mutation/run-mutants.ts'
import { count, describeTally, emptyTally, scoreOf } from './mutation/tally.ts'
import type { TestedMutant } from './mutation/tested-mutant.ts'

/** @returns whether the room's tests find as many as they must. */
const mutateRoom = async (name: RoomName, files: readonly string[]): Promise<boolean> => {
  const room: Room = rooms[name]
  const tally = emptyTally()
  const startedMs = Date.now()
  const mutate = files.length > 0 ? files : [`${room.folder}/**/*.ts`]
  const tested = (mutant: TestedMutant) => count(tally, mutant)
  if (room.needsDatabase)
    await runWarm(
      mutate.flatMap((each) => globSync(each)),
      room.tests,
      tested,
    )
  else await runStryker(room, mutate, null, tested)
  const minutes = ((Date.now() - startedMs) / 60_000).toFixed(1)
  console.log(`${describeTally(name, tally)}; ${minutes} minutes`)
  const isWhole = files.length === 0
  const stale = equivalents.filter(
    (each) => each.file.startsWith(room.folder) && !tally.explained.has(each),
  )
  if (isWhole) {
    for (const { file, line } of stale) console.log(`no mutant needs this reason: ${file}: ${line}`)
  }
  return scoreOf(tally) >= room.scoreMin && (!isWhole || stale.length === 0)
}

const main = async (): Promise<void> => {
  const asked = process.argv.slice(2)
  const filesOf = (name: RoomName) =>
    asked.filter((each) => each.startsWith(`${rooms[name].folder}/`))
  const chosen = roomNames.filter(
    (name) => asked.length === 0 || asked.includes(name) || filesOf(name).length > 0,
  )
  const postgres = chosen.some(needsDatabase) ? await sharePostgres() : null
  if (postgres?.leftOut) throw new Error(postgres.leftOut)
  for (const name of chosen) {
    if (!(await mutateRoom(name, filesOf(name)))) process.exitCode = 1
  }
  await postgres?.stop()
}

const needsDatabase = (name: RoomName): boolean => 'needsDatabase' in rooms[name]

try {
  await main()
} finally {
  await removeSandboxes()
}
