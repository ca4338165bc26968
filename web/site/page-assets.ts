import { readFile } from 'node:fs/promises'
import { readModules } from './modules.ts'
import { readOnce } from './read-once.ts'

/** The files that pages load, by name under the URL of the assets. */
export type PageAssets = Readonly<
  Record<string, { readonly mediaType: string; readonly text: string }>
>

/** The files from `web` whose texts make up an asset, in order, by the name of the asset. */
type Files = Readonly<
  Record<string, { readonly paths: readonly string[]; readonly mediaType: string }>
>

/** The style sheets of the console in the order of the cascade. */
const styles = [
  'colours',
  'frame',
  'parts',
  'tables',
  'forms',
  'charts',
  'home',
  'clock',
  'card',
  'approvals',
  'operation',
  'telephone',
  'print',
]

const consoleFiles: Files = {
  'console.css': {
    paths: styles.map((name) => `console/styles/${name}.css`),
    mediaType: 'text/css; charset=utf-8',
  },
  'icon.svg': { paths: ['console/icon.svg'], mediaType: 'image/svg+xml' },
}

/** Style, icon and modules of the console. */
export const readConsoleAssets = readOnce(() =>
  readPageAssets('/console/assets', 'web/console/main.ts', consoleFiles),
)

/** Those of the documents, which look as the console does. */
export const readDocumentsAssets = readOnce(() =>
  readPageAssets('/docs/assets', 'web/documents/main.ts', {
    ...consoleFiles,
    'documents.css': {
      paths: ['documents/documents.css'],
      mediaType: 'text/css; charset=utf-8',
    },
  }),
)

async function readPageAssets(base: string, entry: string, files: Files): Promise<PageAssets> {
  const modules = await readModules(entry, base)
  const read = await Promise.all(
    Object.entries(files).map(async ([name, { mediaType, paths }]) => {
      const texts = await Promise.all(
        paths.map((path) => readFile(new URL(`../${path}`, import.meta.url), 'utf8')),
      )
      return [name, { mediaType, text: texts.join('') }] as const
    }),
  )
  const scripts = [...modules].map(
    ([path, text]) =>
      [path.slice(base.length + 1), { mediaType: 'text/javascript; charset=utf-8', text }] as const,
  )
  return Object.fromEntries([...read, ...scripts])
}
