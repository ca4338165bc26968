/** Every statement that storage declares, but those of the embedded database's own files. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { made } from '../../scripts/mutation/sql-seam.ts'
import type { Statement } from '../../src/storage/engine/database.ts'

const root = new URL('../../', import.meta.url)

/** What is never a statement of a server. */
const inProcess = /pglite|make-|durable|data-directory/

/** Storage must not be loaded before this module is: its statements are noted while they are made. */
export async function listDeclaredStatements(): Promise<readonly Statement[]> {
  const files = globSync('src/storage/**/*.ts', { cwd: fileURLToPath(root) })
  for (const file of files.filter((each) => !inProcess.test(each))) {
    await import(new URL(file, root).href)
  }
  return made
}
