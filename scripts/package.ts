/**
 * What `npm pack` runs first: writes the program to `dist/program`, the bill of materials to
 * `sbom.cdx.json` and the licences to `THIRD-PARTY-NOTICES.txt`.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packDatabase } from '../src/storage/engine/made-database.ts'
import { createBillOfMaterials } from './package/bill-of-materials.ts'
import { readLock } from './package/lock.ts'
import { thirdPartyNotices } from './package/notices.ts'
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
const lock = await readLock()
await writeFile(join(root, 'sbom.cdx.json'), createBillOfMaterials(lock))
await writeFile(join(root, 'THIRD-PARTY-NOTICES.txt'), await thirdPartyNotices(lock))
