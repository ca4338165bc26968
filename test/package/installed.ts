import { globSync } from 'node:fs'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root, writeProgram } from '../../scripts/package/program.ts'
import { packDatabase } from '../../src/storage/engine/made-database.ts'
import { pgliteImage } from '../support/pglite-image.ts'
import { makeFolder } from '../support/process.ts'

/**
 * A folder as `npm install ./pinfold-….tgz` leaves it, without npm: the files that `npm pack`
 * takes, and the packages that it bundles as a link to those of this project. `npm test -- --suite
 * package` does it by npm.
 */
export const installPackage = async (): Promise<{
  folder: string
  launcher: string
  /** The empty database that comes along. */
  packed: string
}> => {
  const folder = await makeFolder()
  const own = join(folder, 'node_modules/pinfold')
  await mkdir(join(own, 'dist/program/made-database'), { recursive: true })
  await writeProgram(join(own, 'dist/program'))
  const packed = join(own, 'dist/program/made-database/empty.br')
  await writeFile(packed, await packDatabase(await pgliteImage('empty')))
  const { files }: { files: readonly string[] } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  )
  const others = files.filter((pattern) => !pattern.startsWith('dist/'))
  for (const path of globSync(['package.json', 'README.md', 'LICENSE', ...others], { cwd: root })) {
    await cp(join(root, path), join(own, path), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(own, 'node_modules'))
  return { folder, launcher: join(own, 'bin/pinfold.mjs'), packed }
}
