/** What `npm pack` runs first: writes to `dist/program` what the package has beside the files of the repository. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packDatabase } from '../src/storage/engine/made-database.ts'
import { root, writeProgram } from './package/program.ts'

const program = join(root, 'dist/program')

async function makeDatabase(target: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-database-'))
  try {
    const maker = join(root, 'src/storage/engine/make-pglite.ts')
    await promisify(execFile)(process.execPath, ['--liftoff-only', maker, folder])
    await mkdir(target, { recursive: true })
    await writeFile(join(target, 'empty.br'), await packDatabase(folder))
  } finally {
    await rm(folder, { recursive: true })
  }
}

await rm(program, { recursive: true, force: true })
await writeProgram(program)
await makeDatabase(join(program, 'made-database'))
