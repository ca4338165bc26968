import { PGlite } from '@electric-sql/pglite'

// Run as a program of its own: making a database takes several hundred megabytes, which this process
// gives back by ending.
const [, , folder] = process.argv
if (folder === undefined) throw new Error('The folder to make a database in is missing.')
const engine = await PGlite.create(folder)
await engine.close()
