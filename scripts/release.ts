/**
 * `npm run release -- VERSION`: makes a release of what is committed, once `.ci/run` has passed on
 * it. Sets the version, dates its section of the changelog, packs the three packages, and lays them
 * with the bill of materials and their checksums into `artifacts/VERSION`; then commits and tags.
 * It sends nothing anywhere: the last lines say what is left to do.
 *
 * With `--dry-run` all of that is done to a clone that is thrown away; `--keep FOLDER` keeps what
 * would be released.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './package/program.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false }, keep: { type: 'string' } },
})
const isDry = values['dry-run']
const current = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version as string
const version = positionals[0] ?? current

const run = (folder: string, command: string, ...words: readonly string[]): string =>
  execFileSync(command, words, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })

/** Returns the reason against a release; null without one. */
function findObstacle(folder: string): string | null {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) return `${version} is no version (1.2.3).`
  if (run(folder, 'git', 'status', '--porcelain').trim() !== '')
    return 'Something is not committed.'
  if (run(folder, 'git', 'tag', '--list', `v${version}`).trim() !== '')
    return `v${version} is there.`
  const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
  if (findSection(changelog) === null)
    return `CHANGELOG.md has no section “## ${version}, unreleased”.`
  return null
}

/** Returns the section of an unreleased version, without its heading. */
function findSection(changelog: string): string | null {
  const [, after] = changelog.split(`## ${version}, unreleased\n`)
  return after?.split(/^## /m)[0]?.trim() ?? null
}

interface LockedPackage {
  version: string
  dependencies?: Record<string, string>
}

/** Sets the version everywhere, and the date where the changelog has “unreleased”. */
function setVersion(folder: string): string {
  const change = (path: string, changed: (text: string) => string) => {
    const file = join(folder, path)
    writeFileSync(file, changed(readFileSync(file, 'utf8')))
  }
  const json = (text: string, set: (content: { version: string }) => void) => {
    const content = JSON.parse(text)
    set(content)
    return `${JSON.stringify(content, null, 2)}\n`
  }
  for (const own of ['', 'packages/sdk/', 'packages/card-element/']) {
    const path = `${own}package.json`
    change(path, (text) => text.replace(`"version": "${current}"`, `"version": "${version}"`))
  }
  change('examples/client-backend/package.json', (text) =>
    text.replace(`"@pinfold/sdk": "${current}"`, `"@pinfold/sdk": "${version}"`),
  )
  change('package-lock.json', (text) =>
    json(text, (lock) => {
      lock.version = version
      const { packages } = lock as unknown as { packages: Record<string, LockedPackage> }
      for (const own of ['', 'packages/sdk', 'packages/card-element'])
        Object.assign(packages[own] ?? {}, { version })
      const { dependencies = {} } = packages['examples/client-backend'] ?? {}
      dependencies['@pinfold/sdk'] = version
    }),
  )
  // Commands with the file name of a package.
  for (const path of globSync(['README.md', 'docs/**/*.md', 'deploy/**/*', 'examples/**/*.json'], {
    cwd: folder,
  })) {
    if (/\.(md|json|service|yaml)$/.test(path)) {
      change(path, (text) =>
        text.replaceAll(
          new RegExp(
            `(pinfold(?:-sdk|-card-element)?)-${current.replaceAll('.', '\\.')}\\.tgz`,
            'g',
          ),
          `$1-${version}.tgz`,
        ),
      )
    }
  }
  const notes = findSection(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')) ?? ''
  const today = new Date().toISOString().slice(0, 10)
  change('CHANGELOG.md', (text) =>
    text.replace(`## ${version}, unreleased\n`, `## ${version}, ${today}\n`),
  )
  return notes
}

/** Writes the files of a release with their checksums. @returns the lines of SHA256SUMS. */
function makeArtifacts(folder: string, target: string, notes: string): string {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  run(folder, 'npm', 'pack', '--silent', '--pack-destination', target)
  const libraries = ['--workspace', '@pinfold/sdk', '--workspace', 'pinfold-card-element']
  run(folder, 'npm', 'pack', '--silent', ...libraries, '--pack-destination', target)
  for (const name of ['sbom.cdx.json', 'THIRD-PARTY-NOTICES.txt'])
    cpSync(join(folder, name), join(target, name))
  writeFileSync(join(target, 'NOTES.md'), `${notes}\n`)
  const names = globSync('*', { cwd: target }).sort()
  const sums = names.map((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(target, name)))
      .digest('hex')
    return `${digest}  ${name}\n`
  })
  writeFileSync(join(target, 'SHA256SUMS'), sums.join(''))
  return sums.join('')
}

/** Clones the committed files, with the installed packages as hard links. */
function cloneForTrial(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'pinfold-release-')), 'pinfold')
  run(root, 'git', 'clone', '--quiet', '--shared', root, folder)
  for (const modules of ['node_modules', 'packages/sdk/node_modules']) {
    run(root, 'cp', '--archive', '--link', join(root, modules), join(folder, modules))
  }
  return folder
}

function release(folder: string, target: string): void {
  const obstacle = findObstacle(folder)
  if (obstacle !== null) {
    console.error(obstacle)
    process.exitCode = 1
    return
  }
  const notes = setVersion(folder)
  const sums = makeArtifacts(folder, target, notes)
  const author = isDry ? ['-c', 'user.name=Trial', '-c', 'user.email=trial@localhost'] : []
  run(
    folder,
    'git',
    ...author,
    'commit',
    '--quiet',
    '--all',
    '--allow-empty',
    '--message',
    `Release ${version}`,
  )
  run(folder, 'git', ...author, 'tag', '--annotate', '--message', notes, `v${version}`)
  console.log(
    `${sums}\nv${version} is ${run(folder, 'git', 'rev-parse', `v${version}^{commit}`).trim()}.`,
  )
  console.log(
    isDry
      ? 'Nothing was changed: this was a trial, on a clone.'
      : `What is left: git push --follow-tags; publish ${relative(root, target)}.`,
  )
}

const folder = isDry ? cloneForTrial() : root
try {
  release(folder, resolve(values.keep ?? join(folder, 'artifacts', version)))
} finally {
  if (isDry) rmSync(resolve(folder, '..'), { recursive: true, force: true })
}
