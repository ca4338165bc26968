import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

/** The modules of a page by their path on the site, as browsers run them. */
export type Modules = ReadonlyMap<string, string>

/** Where every path of a module begins. */
export const projectRoot = new URL('../../', import.meta.url)

/** Where each package that pages import lies, by its name in their imports. */
const packages: ReadonlyMap<string, string> = new Map([
  ['jose', import.meta.resolve('jose')],
  ['@noble/hashes/sha2.js', import.meta.resolve('@noble/hashes/sha2.js')],
])

/**
 * Reads a module and all that it imports. What is in here can be fetched, nothing else: no request
 * ever names a file.
 *
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

/** Each with its address. What is JavaScript already has no types. */
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
 * Browsers know no packages: those that there are get their paths. Relative imports stay as they
 * are.
 */
const withPaths = (text: string, base: string): string =>
  text.replaceAll(importing, (whole, before: string, quote: string, specifier: string) => {
    const url = packages.get(specifier)
    return url ? `${before}${quote}${composePath(url, base)}${quote}` : whole
  })

/**
 * The project's own modules have the paths that they have in it; those of packages lie in a folder
 * of their own.
 */
function composePath(url: string, base: string): string {
  const own = url.startsWith(projectRoot.href) ? url.slice(projectRoot.href.length) : null
  if (own !== null && !own.startsWith('node_modules/')) return `${base}/${own}`
  return `${base}/modules/${url.split('/node_modules/').at(-1)}`
}

/** Takes the types out of TypeScript, until it is closed. */
export interface Stripper {
  /**
   * The JavaScript that is in each text: every type becomes blanks, every line stays where it is.
   */
  strip(texts: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

/** In a worker: Node calls the function experimental, and would warn the operator. */
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
