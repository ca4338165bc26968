import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Statement } from '../../src/storage/engine/database.ts'

const program = fileURLToPath(new URL('print-declared-statements.ts', import.meta.url))

/**
 * Every statement that storage declares. Statements are noted while they are made, so that a
 * process is asked which has not loaded storage yet.
 */
export async function listDeclaredStatements(): Promise<readonly Statement[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    maxBuffer: 64 * 1024 * 1024,
  })
  return JSON.parse(stdout)
}
