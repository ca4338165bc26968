import { syncTree } from './durable-files.ts'
import { findMadeDatabase, unpackDatabase } from './made-database.ts'

// Run as a program of its own: making a database takes several hundred megabytes, which this
// process gives back by ending.
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
// Files that the server never writes again would otherwise reach the disk when the machine sees
// fit.
await syncTree(folder)
