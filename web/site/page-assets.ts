import { readFile } from 'node:fs/promises'
import { readModules } from './modules.ts'
import { readOnce } from './read-once.ts'

/** The files that pages load, by name under the URL of the assets. */
export type PageAssets = Readonly<
  Record<string, { readonly mediaType: string; readonly text: string }>
>

/** Paths from `web`, by their names. */
type Files = Readonly<Record<string, { readonly path: string; readonly mediaType: string }>>

const consoleFiles: Files = {
  'console.css': { path: 'console/console.css', mediaType: 'text/css; charset=utf-8' },
  'icon.svg': { path: 'console/icon.svg', mediaType: 'image/svg+xml' },
}

/** Style, icon and modules of the console. */
export const readConsoleAssets = readOnce(() =>
  readPageAssets('/console/assets', 'web/console/main.ts', consoleFiles),
)

/** Those of the documents, which look as the console does. */
export const readDocumentsAssets = readOnce(() =>
  readPageAssets('/docs/assets', 'web/documents/main.ts', {
    ...consoleFiles,
    'documents.css': { path: 'documents/documents.css', mediaType: 'text/css; charset=utf-8' },
  }),
)

async function readPageAssets(base: string, entry: string, files: Files): Promise<PageAssets> {
  const modules = await readModules(entry, base)
  const read = await Promise.all(
    Object.entries(files).map(async ([name, { mediaType, path }]) => {
      const text = await readFile(new URL(`../${path}`, import.meta.url), 'utf8')
      return [name, { mediaType, text }] as const
    }),
  )
  const scripts = [...modules].map(
    ([path, text]) =>
      [path.slice(base.length + 1), { mediaType: 'text/javascript; charset=utf-8', text }] as const,
  )
  return Object.fromEntries([...read, ...scripts])
}
