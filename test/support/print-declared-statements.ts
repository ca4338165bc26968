/**
 * Prints every statement that storage declares, but those of the embedded database's own files, as
 * JSON.
 */
import { globSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Statement } from '../../src/storage/engine/database.ts'

const root = new URL('../../', import.meta.url)

/** What is never a statement of a server. */
const inProcess = /pglite|make-|durable|data-directory/

/** The one place where statements are made, and what notes each of them instead. */
const seam = 'export const statement = (name: string, text: string): Statement => ({ name, text })'
const place = /\/src\/storage\/engine\/database\.ts$/
const declared: Statement[] = []

const noteStatement = (name: string, text: string): Statement => {
  declared.push({ name, text })
  return { name, text }
}

Object.assign(globalThis, { noteStatement })

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!place.test(url)) return loaded
    const source = String(loaded.source)
    if (!source.includes(seam)) throw new Error(`${url} makes statements in another way.`)
    const noting = 'export const statement = globalThis.noteStatement'
    return { ...loaded, source: source.replace(seam, noting) }
  },
})

const files = globSync('src/storage/**/*.ts', { cwd: fileURLToPath(root) })
for (const file of files.filter((each) => !inProcess.test(each))) {
  await import(new URL(file, root).href)
}
process.stdout.write(JSON.stringify(declared))
