import { readFile } from 'node:fs/promises'
import { readModules } from './modules.ts'
import { readOnce } from './read-once.ts'

/** What pages of the console load, by its name under `/console/assets/`. */
export type ConsoleAssets = Readonly<
  Record<string, { readonly mediaType: string; readonly text: string }>
>

const base = '/console/assets'
const files = { 'console.css': 'text/css; charset=utf-8', 'icon.svg': 'image/svg+xml' }

/** Style, icon and modules of the console. */
export const readConsoleAssets = readOnce(async (): Promise<ConsoleAssets> => {
  const folder = new URL('../console/', import.meta.url)
  const modules = await readModules('web/console/main.ts', base)
  const read = await Promise.all(
    Object.entries(files).map(
      async ([name, mediaType]) =>
        [name, { mediaType, text: await readFile(new URL(name, folder), 'utf8') }] as const,
    ),
  )
  const scripts = [...modules].map(
    ([path, text]) =>
      [path.slice(base.length + 1), { mediaType: 'text/javascript; charset=utf-8', text }] as const,
  )
  return Object.fromEntries([...read, ...scripts])
})
