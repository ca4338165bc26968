/**
 * Runs at the start of `npm pack`: writes the program to `dist/program`, the bill of materials to
 * `sbom.cdx.json` and the licences to `THIRD-PARTY-NOTICES.txt`.
 */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createBillOfMaterials } from './package/bill-of-materials.ts'
import { makeDatabase } from './package/database.ts'
import { readLock } from './package/lock.ts'
import { thirdPartyNotices } from './package/notices.ts'
import { root, writeProgram } from './package/program.ts'

const program = join(root, 'dist/program')

await rm(program, { recursive: true, force: true })
await writeProgram(program)
await makeDatabase(join(program, 'made-database/empty.br'))
const lock = await readLock()
await writeFile(join(root, 'sbom.cdx.json'), createBillOfMaterials(lock))
await writeFile(join(root, 'THIRD-PARTY-NOTICES.txt'), await thirdPartyNotices(lock))
