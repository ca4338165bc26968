import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The test files that a change concerns. A file is changed when it differs from where this branch
 * left `main`, or when git does not know it yet. It concerns the test files of its subject, and
 * those that import it other than through the whole service or through set-up. A change that
 * concerns no test file by this rule may concern any: then all of them are returned.
 */
export function findChanged(testFiles: readonly string[]): readonly string[] {
  const changed = listChanged()
  const reached = new Map(testFiles.map((file) => [file, filesReachedFrom(file)]))
  const listConcerned = (path: string): readonly string[] => {
    if (/\.(md|txt)$/.test(path)) return testFiles.filter((file) => ofDocuments.test(file))
    const importing = testFiles.filter((file) => reached.get(file)?.has(path))
    const ofSubject = listSubjects(path)
      .map((subject) => testFiles.filter((file) => isAbout(file, subject)))
      .find((files) => files.length > 0)
    return [...importing, ...(ofSubject ?? [])]
  }
  const concerned = new Map(changed.map((path) => [path, new Set(listConcerned(path))]))
  const unknown = changed.filter((path) => concerned.get(path)?.size === 0)
  if (unknown.length > 0) {
    console.log(`All test files are run: none is known to concern ${unknown.join(', ')}.`)
    return testFiles
  }
  return testFiles.filter((file) => [...concerned.values()].some((files) => files.has(file)))
}

/** Test files that compare documents with the program. */
const ofDocuments = /^test\/(scripts|guides)\//

/**
 * Lists possible names of a file's tests: the noun of its folder, the file's own name, or the
 * folders around it, the innermost first.
 */
function listSubjects(path: string): readonly string[] {
  const noun = /^(?:src\/(?:operations|storage)|database\/functions)\/([\w-]+)\//.exec(path)?.[1]
  if (noun !== undefined) return [noun]
  const parts = path
    .replace(/^src\//, '')
    .replace(/\.\w+$/, '')
    .split('/')
  return parts.reverse().filter((part) => part !== 'routes' && part !== 'schemas')
}

const isAbout = (testFile: string, subject: string): boolean =>
  testFile
    .split('/')
    .slice(1)
    .some((part) => part.replace('.test.ts', '') === subject)

function listChanged(): string[] {
  const git = (...words: readonly string[]): string[] =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const [base = 'HEAD'] = git('merge-base', 'HEAD', 'main')
  return [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
}

const namesByFile = new Map<string, readonly string[]>()

/**
 * Lists the files that a file imports, starts or reads by a path from its own folder, recursively.
 */
function filesReachedFrom(file: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [file]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    // The service connects everything, and set-up is shared: paths through them show no relation.
    const isWiring = next.startsWith('src/service/')
    const isSetUp = next.startsWith('test/support/')
    waiting.push(...namesIn(next).filter((path) => !isWiring && !(isSetUp && /^src/.test(path))))
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
