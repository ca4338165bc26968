import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncPath } from './durable-files.ts'
import { madeDatabase, unpackDatabase } from './made-database.ts'

// Run as a program of its own: making a database takes several hundred megabytes, which this
// process gives back by ending.
const [, , folder] = process.argv
if (folder === undefined) throw new Error('The folder to make a database in is missing.')
const packed = await readFile(madeDatabase).catch(() => null)
if (packed) {
  await unpackDatabase(packed, folder)
} else {
  const { PGlite } = await import('@electric-sql/pglite')
  const engine = await PGlite.create(folder)
  await engine.close()
}
// Files that the server never writes again would otherwise reach the disk when the machine sees
// fit.
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  syncPath(join(folder, name))
}
syncPath(folder)
