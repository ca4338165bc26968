import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The test files that reach a changed file: one that differs from where this branch left `main`, or
 * that git does not know yet. What no import names may concern any test: then all of them are
 * returned.
 */
export function findChanged(testFiles: readonly string[]): readonly string[] {
  const changed = listChanged()
  const reached = new Map(testFiles.map((file) => [file, filesReachedFrom(file)]))
  const isDocument = (path: string) => /\.(md|txt)$/.test(path)
  const isReached = (path: string) => [...reached.values()].some((files) => files.has(path))
  const unknown = changed.filter((path) => !isDocument(path) && !isReached(path))
  if (unknown.length > 0) {
    console.log(`All test files are run: no import of a test reaches ${unknown.join(', ')}.`)
    return testFiles
  }
  const ofDocuments = changed.some(isDocument) ? /^test\/(scripts|guides)\// : /^$/
  return testFiles.filter(
    (file) => ofDocuments.test(file) || changed.some((path) => reached.get(file)?.has(path)),
  )
}

function listChanged(): string[] {
  const git = (...words: readonly string[]): string[] =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const [base = 'HEAD'] = git('merge-base', 'HEAD', 'main')
  return [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
}

const namesByFile = new Map<string, readonly string[]>()

/**
 * A file with all that it names, and that those name: what it imports, starts or reads by a path
 * from its own folder.
 */
function filesReachedFrom(file: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [file]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    waiting.push(...namesIn(next))
  }
  return reached
}

function namesIn(file: string): readonly string[] {
  const known = namesByFile.get(file)
  if (known) return known
  const isSource = /\.(ts|mjs|js)$/.test(file)
  const text = isSource ? readFileSync(join(root, file), 'utf8') : ''
  const paths = [...text.matchAll(/['"](\.{1,2}\/[^'"\n]+)['"]/g)].map(([, path = '']) => path)
  // A module of storage reads the statements beside it.
  const named = paths.map((path) => join(dirname(file), path))
  const found = [...named, file.replace(/\.ts$/, '.sql')].filter(isFile)
  const names = found.map((path) => relative('.', path))
  namesByFile.set(file, names)
  return names
}

const isFile = (path: string): boolean =>
  existsSync(join(root, path)) && statSync(join(root, path)).isFile()
