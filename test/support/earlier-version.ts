import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { shortLived } from './compiled-sources.ts'
import { makeFolder } from './process.ts'

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * A version of the program from before this one, as scripts/archive-version.ts kept it, in a folder that is removed
 * after the tests. Its packages are this version's.
 * @returns the words that start it.
 */
export const unpackVersion = async (name: string): Promise<[string, ...string[]]> => {
  const archive = await readFile(new URL(`../versions/${name}.json.br`, import.meta.url))
  const files: Record<string, string> = JSON.parse(brotliDecompressSync(archive).toString())
  const folder = await makeFolder()
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  await symlink(packages, join(folder, 'node_modules'))
  return [process.execPath, ...shortLived, join(folder, 'src/main.ts')]
}
