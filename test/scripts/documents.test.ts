import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { arrows } from '../../scripts/structure/arrows.ts'

const projectRoot = fileURLToPath(new URL('../../', import.meta.url))
const readText = (path: string): string => readFileSync(resolve(projectRoot, path), 'utf8')
const find = (pattern: string): string[] => globSync(pattern, { cwd: projectRoot })

/** Decisions are not among them: they may say what was once there. */
const documents = [
  ...find('*.md'),
  ...find('docs/{*,{tutorials,guides,reference,explanation}/*}.md'),
  ...[
    'llms.txt',
    'packages/sdk/README.md',
    'packages/card-element/README.md',
    'package.json',
    '.ci/run',
  ],
]

/**
 * A path of this project within a text, perhaps with wildcards; not the end of an address or a
 * longer path.
 */
const pathPattern =
  /(?<![\w/.:@-])(?:src|test|scripts|api|database|bench|docs|web|packages|examples|bin|[.]ci)\/[\w.*{},/-]*[\w*}]/g

/** Paths that a text names and nothing is at, each with its line. */
const missingPaths = (text: string): string[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(pathPattern)]
        .filter(([path]) => find(path).length === 0)
        .map(([path]) => `${index + 1}: ${path}`),
    )

for (const document of documents) {
  test(`every path that ${document} names is there`, () => {
    assert.deepEqual(missingPaths(readText(document)), [])
  })
}

/** A file by its name alone, as a document names one whose folder the reader knows. */
const namePattern = /`([\w.-]+[.](?:ts|sql))`/g

for (const document of documents.filter((path) => path.endsWith('.md'))) {
  test(`every file of the code that ${document} names is there`, () => {
    const names = [...readText(document).matchAll(namePattern)].map(([, name = '']) => name)
    const missing = names.filter(
      (name) =>
        find(`{src,test,scripts,packages,examples,web,bench,database}/**/${name}`).length === 0,
    )
    assert.deepEqual(missing, [])
  })
}

test('a path that is not there is found, wherever it stands', () => {
  const text = 'See `src/main.ts`,\n(test/none/*.test.ts), src/nowhere.\nhttps://a.example/src/none'
  assert.deepEqual(missingPaths(text), ['2: test/none/*.test.ts', '2: src/nowhere'])
})

/** The paths of the tree in ARCHITECTURE.md, which indents what is in a folder by two. */
function pathsOfTree(): string[] {
  const [, tree = ''] = /^## The house$[\s\S]*?^```\n([\s\S]*?)^```$/m.exec(
    readText('ARCHITECTURE.md'),
  ) ?? ['']
  const folders: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', name = ''] = /^( *)(\S+)/.exec(line) ?? []
    if (name === '') return []
    folders.length = indent.length / 2
    folders.push(name)
    return [folders.join('')]
  })
}

test('the house in ARCHITECTURE.md is the one that stands', () => {
  const paths = pathsOfTree()
  for (const path of paths) assert.ok(existsSync(resolve(projectRoot, path)), `there is no ${path}`)
  const rooms = Object.keys(arrows).map((room) => `src/${room}`)
  for (const room of rooms) {
    if (!existsSync(resolve(projectRoot, room))) continue
    assert.ok(paths.includes(`${room}/`), `ARCHITECTURE.md has no ${room}`)
  }
})

test('a path that ARCHITECTURE.md names as an answer leads downward, floor by floor', () => {
  const floors = [
    'src/listeners',
    'src/operations',
    'src/storage',
    'database/functions',
    'src/hsm/contract',
    'src/hsm/verbs',
    'src/crypto',
  ]
  const floorOf = (path: string) => floors.findIndex((floor) => path.startsWith(`${floor}/`)) + 1
  const [, section = ''] = readText('ARCHITECTURE.md').split('## Where is …?\n')
  const questions = section.matchAll(/^\| (Where is .*\?) \| (.*?) \|$/gm)
  const answers = [...questions].map(([, question, answer = '']) => ({
    question,
    steps: answer.split(' → ').map((step) => floorOf(/`(.*?)`/.exec(step)?.[1] ?? '')),
  }))
  assert.equal(answers.length, 7)
  for (const { question, steps } of answers) {
    assert.ok(steps.length >= 3, question)
    assert.ok(!steps.includes(0), question)
    assert.deepEqual(steps, steps.toSorted(), question)
  }
})

/** `docs/reference/api.md, "Versioning"`, as comments cite a section. */
const citation = /(docs\/[\w/-]+\.md), "([^"]+)"/g

test('every section of a document that the code cites is there', () => {
  const code = find('{src,packages,examples,web,scripts,test,database}/**/*.{ts,sql}').filter(
    (path) => !path.includes('node_modules'),
  )
  const cited = code.flatMap((path) =>
    // A comment may break the line within a heading.
    [
      ...readText(path)
        .replaceAll(/\s*\n\s*(?:\*|\/\/|--) /g, ' ')
        .matchAll(citation),
    ].map(([, document = '', heading = '']) => ({ path, document, heading })),
  )
  assert.ok(cited.length > 5)
  for (const { document, heading, path } of cited) {
    const headings = readText(document)
      .split('\n')
      .filter((line) => line.startsWith('#'))
      .map((line) => line.replace(/^#+ /, ''))
    assert.ok(headings.includes(heading), `${path}: ${document} has no section “${heading}”`)
  }
})
