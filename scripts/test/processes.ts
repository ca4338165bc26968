import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheFolder } from '../../test/support/folders.ts'

/** With more files in a process, the last one would run alone at the end. */
const filesMost = 8

/**
 * Writes a module for each process of a run. Files of one folder share processes, because a process
 * needs four seconds of processor time before its first test, for the program's modules and an
 * embedded PostgreSQL.
 * @param files from the root of the project.
 * @returns the modules, those with most files first.
 */
export async function writeProcesses(files: readonly string[]): Promise<readonly string[]> {
  const folder = await cacheFolder('processes')
  await mkdir(folder, { recursive: true })
  const { href } = new URL('../../test/support/run-files.ts', import.meta.url)
  const groups = Object.values(Object.groupBy(files, (file) => dirname(file)))
    .flatMap((group = []) => splitEvenly(group))
    .sort((one, other) => other.length - one.length)
  return Promise.all(
    groups.map(async (group, at) => {
      const path = join(folder, `${String(at).padStart(3, '0')}.mjs`)
      const list = JSON.stringify(group)
      await writeFile(path, `import { runFiles } from '${href}'\nrunFiles(${list})\n`)
      return path
    }),
  )
}

const splitEvenly = (files: readonly string[]): readonly (readonly string[])[] => {
  const count = Math.ceil(files.length / filesMost)
  return Array.from({ length: count }, (_, part) =>
    files.filter((_file, at) => at % count === part),
  )
}
