import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { syncPath } from './durable-files.ts'

// Run as a program of its own: making a database takes several hundred megabytes, which this process
// gives back by ending.
const [, , folder] = process.argv
if (folder === undefined) throw new Error('The folder to make a database in is missing.')
const engine = await PGlite.create(folder)
await engine.close()
// Files that the server never writes again would otherwise reach the disk when the machine sees fit.
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  syncPath(join(folder, name))
}
syncPath(folder)
