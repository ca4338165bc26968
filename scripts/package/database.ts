import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { packDatabase } from '../../src/storage/engine/made-database.ts'
import { root } from './program.ts'

/** Makes an empty database, and writes it to a file from which a first start unpacks it. */
export async function makeDatabase(target: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-database-'))
  try {
    // By the program that makes one without this file: it must not unpack an older one.
    await rm(target, { force: true })
    const maker = join(root, 'src/storage/engine/make-pglite.ts')
    await promisify(execFile)(process.execPath, ['--liftoff-only', maker, folder])
    await mkdir(dirname(target), { recursive: true })
    // A start that runs beside it finds the whole file or none.
    await writeFile(`${target}.new`, await packDatabase(folder))
    await rename(`${target}.new`, target)
  } finally {
    await rm(folder, { recursive: true })
  }
}
