import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

/** The modules of a page as JavaScript, by their path on the site. */
export type Modules = ReadonlyMap<string, string>

/** The base of all paths of modules. */
export const projectRoot = new URL('../../', import.meta.url)

/** The folders of the packages that pages import, by name. */
const packages: ReadonlyMap<string, string> = new Map([
  ['jose', import.meta.resolve('jose')],
  ['@noble/hashes/sha2.js', import.meta.resolve('@noble/hashes/sha2.js')],
])

/**
 * Reads a module and all of its imports. Only these can be fetched: no request names a file.
 * @param entry from the project's root: `examples/demo/page/main.ts`.
 * @param base path on the site under which modules lie.
 */
export async function readModules(entry: string, base: string): Promise<Modules> {
  const stripper = openStripper()
  try {
    const found = await readAll(new URL(entry, projectRoot).href, stripper)
    return new Map([...found].map(([url, text]) => [composePath(url, base), withPaths(text, base)]))
  } finally {
    await stripper.close()
  }
}

async function readAll(entry: string, stripper: Stripper): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  let wanted = [entry]
  while (wanted.length > 0) {
    const scripts = await readScripts(wanted, stripper)
    for (const [url, text] of scripts) found.set(url, text)
    const imported = scripts.flatMap(([url, text]) => listImports(text, url))
    wanted = [...new Set(imported)].filter((url) => !found.has(url))
  }
  return found
}

/** Reads scripts with their URLs. JavaScript has no types to strip. */
async function readScripts(urls: readonly string[], { strip }: Stripper) {
  const texts = await Promise.all(urls.map((url) => readFile(new URL(url), 'utf8')))
  const typed = texts.filter((_, index) => urls[index]?.endsWith('.ts'))
  const stripped = typed.length > 0 ? await strip(typed) : []
  const scripts = stripped.values()
  return urls.map((url, index): [string, string] => [
    url,
    (url.endsWith('.ts') ? scripts.next().value : texts[index]) ?? '',
  ])
}

const importing = /(\bfrom\s*|^import\s*)(['"])(\.[^'"\n]+|jose|@noble\/hashes\/sha2\.js)\2/gm

const listImports = (text: string, url: string): string[] =>
  [...text.matchAll(importing)].map(
    ([, , , specifier = '']) => packages.get(specifier) ?? new URL(specifier, url).href,
  )

/**
 * Replaces names of packages by paths, since browsers do not resolve them. Relative imports stay
 * unchanged.
 */
const withPaths = (text: string, base: string): string =>
  text.replaceAll(importing, (whole, before: string, quote: string, specifier: string) => {
    const url = packages.get(specifier)
    return url ? `${before}${quote}${composePath(url, base)}${quote}` : whole
  })

/** Returns the path of a module: as in the project; packages are in a separate folder. */
function composePath(url: string, base: string): string {
  const own = url.startsWith(projectRoot.href) ? url.slice(projectRoot.href.length) : null
  if (own !== null && !own.startsWith('node_modules/')) return `${base}/${own}`
  return `${base}/modules/${url.split('/node_modules/').at(-1)}`
}

/** Strips types from TypeScript until it is closed. */
export interface Stripper {
  /**
   * Returns the JavaScript of each text: types are replaced by blanks, so that all lines keep their
   * numbers.
   */
  strip(texts: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

/** Runs in a worker, since Node warns that the function is experimental. */
export function openStripper(): Stripper {
  let worker: Worker | null = null
  return {
    async strip(texts) {
      worker ??= new Worker(new URL('strip-worker.ts', import.meta.url), {
        execArgv: ['--disable-warning=ExperimentalWarning'],
      })
      const stripped = once(worker, 'message')
      worker.postMessage(texts)
      const [result] = await stripped
      return result
    },
    async close() {
      await worker?.terminate()
    },
  }
}
