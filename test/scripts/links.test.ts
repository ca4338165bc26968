import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const projectRoot = fileURLToPath(new URL('../../', import.meta.url))
const readText = (path: string): string => readFileSync(resolve(projectRoot, path), 'utf8')
const find = (pattern: string | string[]): string[] => globSync(pattern, { cwd: projectRoot })

const documents = find(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'llms.txt'])

interface Link {
  readonly document: string
  /** Path from the project, without a fragment; the document itself for `#fragment`. */
  readonly path: string
  readonly fragment: string
}

/** The links of a document that lead to files, not to the web. */
function linksOf(document: string): readonly Link[] {
  const found = readText(document).matchAll(/\]\(([^)#:\s]*)(?:#([^)\s]*))?\)/g)
  return [...found].map(([, target = '', fragment = '']) => ({
    document,
    path: target === '' ? document : normalize(join(dirname(document), target)),
    fragment,
  }))
}

/** The fragments of a document's headings, as GitHub derives them. */
function fragmentsOf(path: string): ReadonlySet<string> {
  const text = readText(path).replaceAll(/^```[\s\S]*?^```$/gm, '')
  const slugs = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
  return new Set(slugs)
}

const links = documents.flatMap(linksOf)

test('every link between the documents leads to a file', () => {
  assert.ok(links.length > 250)
  const dead = links.filter(({ path }) => !existsSync(resolve(projectRoot, path)))
  assert.deepEqual(dead, [])
})

test('every link with a fragment leads to a heading', () => {
  const dead = links.filter(
    ({ fragment, path }) =>
      fragment !== '' && path.endsWith('.md') && !fragmentsOf(path).has(fragment),
  )
  assert.deepEqual(dead, [])
})

const { files }: { files: string[] } = JSON.parse(readText('package.json'))
const packedPaths = [
  'README.md',
  'LICENSE',
  'package.json',
  ...files.flatMap((pattern) => find(pattern)),
]

/** Whether `npm pack` takes a file or folder, by the patterns of `files` in package.json. */
const isPacked = (path: string): boolean =>
  packedPaths.some((each) => path === each || path.startsWith(`${each}/`))

test('every link within the installed package leads to a file of the package', () => {
  const packed = links.filter(({ document }) => isPacked(document))
  assert.ok(packed.length > 250)
  const dead = packed.filter(({ path }) => !isPacked(path))
  assert.deepEqual(dead, [])
})
