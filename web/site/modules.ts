import { readFile } from 'node:fs/promises'
import { stripTypes } from './strip-types.ts'

/** The modules of a page by their path on the site, as browsers run them. */
export type Modules = ReadonlyMap<string, string>

const projectRoot = new URL('../../', import.meta.url)
const jose = new URL('.', import.meta.resolve('jose'))

/**
 * Reads a module and all that it imports. What is in here can be fetched, nothing else: no request
 * ever names a file.
 *
 * @param entry from the project's root: `web/demo/main.ts`.
 * @param base path on the site under which modules lie.
 */
export async function readModules(entry: string, base: string): Promise<Modules> {
  const found = new Map<string, string>()
  let wanted = [new URL(entry, projectRoot).href]
  while (wanted.length > 0) {
    const texts = await Promise.all(wanted.map((url) => readFile(new URL(url), 'utf8')))
    const stripped = await stripTypes(texts)
    for (const [index, url] of wanted.entries()) found.set(url, stripped[index] ?? '')
    const imported = wanted.flatMap((url) => importsOf(found.get(url) ?? '', url))
    wanted = [...new Set(imported)].filter((url) => !found.has(url))
  }
  return new Map(
    [...found].map(([url, text]) => [pathOf(url, base), withPaths(text, base)] as const),
  )
}

const importing = /(\bfrom\s*|^import\s*)(['"])(\.[^'"\n]+|jose)\2/gm

const importsOf = (text: string, url: string): string[] =>
  [...text.matchAll(importing)].map(([, , , specifier = '']) =>
    specifier === 'jose' ? new URL('index.js', jose).href : new URL(specifier, url).href,
  )

/** Browsers know no packages: the one that there is gets its path. Relative imports stay as they are. */
const withPaths = (text: string, base: string): string =>
  text.replaceAll(importing, (whole, before: string, quote: string, specifier: string) =>
    specifier === 'jose' ? `${before}${quote}${base}/jose/index.js${quote}` : whole,
  )

function pathOf(url: string, base: string): string {
  const isOfJose = url.startsWith(jose.href)
  const [folder, root] = isOfJose ? ['jose/', jose.href] : ['', projectRoot.href]
  return `${base}/${folder}${url.slice(root.length)}`
}
