import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, posix } from 'node:path'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { Problem } from '../domain/problem.ts'
import {
  type LinkGroup,
  type RenderedDocument,
  readLinkGroups,
  renderDocument,
} from './markdown.ts'

/** Every document that can be reached from docs/README.md, and every file that these name. */
export interface Library {
  readonly documents: ReadonlyMap<string, RenderedDocument>
  /** Pictures and sources, by their addresses. */
  readonly files: ReadonlyMap<string, LinkedFile>
  /** The lists of docs/README.md, with addresses in place of paths. */
  readonly contents: readonly LinkGroup[]
}

interface LinkedFile {
  readonly mediaType: string
  read(): Promise<Buffer>
}

/** The document that all others are found from. */
const entrance = 'docs/README.md'

/** The documents lie beside `src`; in a package, beside the `dist/program` that has it. */
const projectRoot = ['../../', '../../../../']
  .map((path) => new URL(path, import.meta.url))
  .find((folder) => existsSync(new URL(entrance, folder)))

/**
 * Reads the documents, link by link. What is in here can be fetched, nothing else: no request ever
 * names a file.
 */
export async function readLibrary(): Promise<Library> {
  const documents = new Map<string, RenderedDocument>()
  const files = new Map<string, LinkedFile>()
  let wanted: readonly string[] = [entrance]
  while (wanted.length > 0) {
    const linked = new Set<string>()
    const texts = await Promise.all(wanted.map((path) => readFile(locate(path), 'utf8')))
    for (const [index, path] of wanted.entries()) {
      // All at once would keep other calls waiting for more than a tenth of a second.
      await letOthersRun()
      const document = renderDocument(texts[index] ?? '', (href) => {
        const [target = '', fragment] = href.split('#')
        const file = posix.join(posix.dirname(path), target)
        linked.add(file)
        return fragment === undefined ? toAddress(file) : `${toAddress(file)}#${fragment}`
      })
      documents.set(toAddress(path), document)
    }
    for (const path of linked) if (!isDocument(path)) files.set(toAddress(path), linkedFile(path))
    wanted = [...linked].filter((path) => isDocument(path) && !documents.has(toAddress(path)))
  }
  return { documents, files, contents: await readContents() }
}

const isDocument = (path: string): boolean => path.endsWith('.md')

/** Finds a file of the project by its path from the root. */
export function locate(path: string): URL {
  if (!projectRoot) throw new Problem('not_found', { detail: 'The documents are not installed.' })
  return new URL(path, projectRoot)
}

/** `docs/reference/api.md` is at `/docs/reference/api`, `SECURITY.md` at `/docs/SECURITY`. */
function toAddress(path: string): string {
  if (path === 'README.md') return '/docs/README'
  // The generated documents have pages of their own.
  const [, api] = /^api\/(\w+)\.\w+\.json$/.exec(path) ?? []
  if (api !== undefined) return `/docs/api/${api}`
  const name = path.replace(/^docs\//, '').replace(/(?:(?:^|\/)README)?\.md$/, '')
  return name === '' ? '/docs' : `/docs/${name}`
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.json': 'application/json; charset=utf-8',
}

const linkedFile = (path: string): LinkedFile => ({
  mediaType: mediaTypes[extname(path)] ?? 'text/plain; charset=utf-8',
  read: () => readFile(locate(path)),
})

async function readContents(): Promise<readonly LinkGroup[]> {
  const groups = readLinkGroups(await readFile(locate(entrance), 'utf8'))
  return groups.map(({ lists, title }) => ({
    title,
    lists: lists.map(({ label, links }) => ({
      label,
      links: links.map(({ href, text }) => ({
        text,
        href: toAddress(posix.join(posix.dirname(entrance), href)),
      })),
    })),
  }))
}
