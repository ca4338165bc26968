/**
 * Loaded before a test (`node --import`): stands at the one place where statements are made, and there notes
 * which are used, or puts a mutant in the place of one. The service's own code knows nothing of it.
 */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** What SQL_MUTANT holds, as JSON. */
export type SqlMutant = { readonly name: string; readonly text: string; readonly mutated: string }

type Made = { readonly name: string; readonly text: string }

const seam = 'export const statement = (name: string, text: string): Statement => ({ name, text })'
const place = /\/src\/storage\/engine\/database\.ts$/
const noteFile = process.env.SQL_NOTE_FILE
const mutant: SqlMutant | null = JSON.parse(process.env.SQL_MUTANT ?? 'null')
const noted = new Set<string>()

/** Every statement that was made in this process. */
export const made: Made[] = []

const make = (name: string, text: string): Made => {
  made.push({ name, text })
  const used = mutant?.name === name && mutant.text === text ? mutant.mutated : text
  return {
    name,
    get text() {
      if (noteFile && !noted.has(name)) {
        noted.add(name)
        appendFileSync(noteFile, `${name}\n`)
      }
      return used
    },
  }
}

Object.assign(globalThis, { makeStatement: make })

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!place.test(url)) return loaded
    const source = String(loaded.source)
    if (!source.includes(seam))
      throw new Error(`${url} makes statements in another way: mend ${import.meta.url}`)
    return {
      ...loaded,
      source: source.replace(seam, 'export const statement = globalThis.makeStatement'),
    }
  },
})
