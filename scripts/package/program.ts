import { existsSync, globSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openStripper } from '../../web/site/modules.ts'
import { mapInPlace } from './source-map.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The programs: the service, the command line, the demo, the pages, and the parts of the SDK that
 * they import.
 */
const programs = [
  'src/**/*.ts',
  'scripts/demo.ts',
  'scripts/demo/*.ts',
  'packages/{audit,card-element}/**/*.ts',
  'packages/sdk/{client,device,webhooks}/**/*.ts',
  'examples/demo/**/*.ts',
  'web/**/*.ts',
]

/** Other files that programs read. */
const others = [
  'database/migrations/*.sql',
  'database/privileges.sql',
  'database/functions/*/*.sql',
  'src/storage/*/*.sql',
  'src/listeners/iso8583/profiles/*.json',
  'web/{audit,console,documents}/**/*.{css,html,svg}',
  'examples/demo/{page,proof}/*.{css,html}',
  'deploy/init/*',
  'deploy/container/compose.yaml',
]

/**
 * Writes the program as JavaScript, since Node strips no types in `node_modules`. Types are
 * replaced by blanks and `.ts` by `.js`, so that lines and columns in stacks are those of the
 * source. Each file has a map with its source, for debuggers and `--enable-source-maps`.
 */
export async function writeProgram(folder: string): Promise<void> {
  const sources = globSync(programs, { cwd: root }).sort()
  const texts = await Promise.all(sources.map((path) => readFile(join(root, path), 'utf8')))
  const stripper = openStripper()
  const stripped = await stripper.strip(texts).finally(() => stripper.close())
  for (const [at, path] of sources.entries()) {
    const [source = '', program = ''] = [texts[at], stripped[at]]
    await writeScript(join(folder, path), path, source, nameScripts(program, path))
  }
  // The program reports its version.
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ version, type: 'module' }))
  for (const path of globSync(others, { cwd: root })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    if (path.endsWith('.html')) {
      const page = await readFile(join(root, path), 'utf8')
      await writeFile(join(folder, path), page.replaceAll(/(\/assets\/\S+)\.ts"/g, '$1.js"'))
    } else {
      await cp(join(root, path), join(folder, path))
    }
  }
}

/** A quoted text that ends like a source's name: imported, started, or read. */
const named = /(['"])([^'"\n]*[\w-])\.ts\1/g

/**
 * Replaces the names of sources, from their own folder or from the root, by those of their scripts.
 */
function nameScripts(program: string, path: string): string {
  return program.replaceAll(named, (whole, quote: string, name: string) => {
    const folders = [dirname(join(root, path)), root]
    const isThere = folders.some((folder) => existsSync(resolve(folder, `${name}.ts`)))
    return isThere ? `${quote}${name}.js${quote}` : whole
  })
}

async function writeScript(target: string, path: string, source: string, program: string) {
  const file = target.replace(/\.ts$/, '.js')
  await mkdir(dirname(file), { recursive: true })
  // A file of types only is empty, and no file imports it.
  if (program.trim() === '') return
  const map = mapInPlace(basename(path), source, program)
  await writeFile(`${file}.map`, map)
  await writeFile(file, `${program.trimEnd()}\n//# sourceMappingURL=${basename(file)}.map\n`)
}
