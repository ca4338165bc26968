/** Prints every statement that storage declares, but those of the embedded database's own files, as JSON. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { made } from '../../scripts/mutation/sql-seam.ts'

const root = new URL('../../', import.meta.url)

/** What is never a statement of a server. */
const inProcess = /pglite|make-|durable|data-directory/

const files = globSync('src/storage/**/*.ts', { cwd: fileURLToPath(root) })
for (const file of files.filter((each) => !inProcess.test(each))) {
  await import(new URL(file, root).href)
}
process.stdout.write(JSON.stringify(made))
