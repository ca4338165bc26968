/**
 * `npm run mutate [-- domain crypto …]`: mutates the code of some rooms, all of them by default, and holds
 * the share of mutants that their tests find to the least that scripts/mutation/rooms.ts allows. Instead
 * of a room, a file of it can be named.
 */
import { equivalents } from './mutation/equivalents.ts'
import { type RoomName, roomNames, rooms } from './mutation/rooms.ts'
import { removeSandboxes, runStryker } from './mutation/run-stryker.ts'
import { count, describeTally, emptyTally, scoreOf } from './mutation/tally.ts'

/** @returns whether the room's tests find as many as they must. */
const mutateRoom = async (name: RoomName, files: readonly string[]): Promise<boolean> => {
  const room = rooms[name]
  const tally = emptyTally()
  const startedMs = Date.now()
  const mutate = files.length > 0 ? files : [`${room.folder}/**/*.ts`]
  await runStryker(room, mutate, null, (mutant) => count(tally, mutant))
  const minutes = ((Date.now() - startedMs) / 60_000).toFixed(1)
  console.log(`${describeTally(name, tally)}; ${minutes} minutes`)
  const stale = equivalents.filter(
    (each) => each.file.startsWith(room.folder) && !tally.explained.has(each),
  )
  if (files.length === 0) {
    for (const { file, line } of stale) console.log(`no mutant needs this reason: ${file}: ${line}`)
  }
  return scoreOf(tally) >= room.scoreMin && (files.length > 0 || stale.length === 0)
}

const main = async (): Promise<void> => {
  const asked = process.argv.slice(2)
  for (const name of roomNames) {
    const files = asked.filter((each) => each.startsWith(`${rooms[name].folder}/`))
    if (asked.length > 0 && !asked.includes(name) && files.length === 0) continue
    if (!(await mutateRoom(name, files))) process.exitCode = 1
  }
}

try {
  await main()
} finally {
  await removeSandboxes()
}
