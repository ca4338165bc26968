import { syncTree } from './durable-files.ts'
import { findMadeDatabase, unpackDatabase } from './made-database.ts'

// A separate program: making a database takes several hundred megabytes, which the operating system
// gets back when this process ends.
const [, , folder] = process.argv
if (folder === undefined) throw new Error('The folder to make a database in is missing.')
const packed = await findMadeDatabase()
if (packed) {
  await unpackDatabase(packed, folder)
} else {
  const { PGlite } = await import('@electric-sql/pglite')
  const engine = await PGlite.create(folder)
  await engine.close()
}
// The server never writes some files again, so they are written to the disk here.
await syncTree(folder)
