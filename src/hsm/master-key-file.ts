import { randomBytes } from 'node:crypto'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { SecretKey } from './secret-key.ts'

/** Master keys that a file may hold at once: the current one, and those of a rotation. */
const keysMax = 4

/**
 * Reads the master keys of a file, one a line: 64 hexadecimal digits each. Which of them is current
 * the database says; a new one is added to the file before a rotation, the old one taken out after it.
 * @throws Error that names the file, never its content.
 */
export async function readMasterKeys(file: string): Promise<readonly SecretKey[]> {
  const lines = (await readFile(file, 'utf8')).trim().split(/\s*\n\s*/)
  if (lines.length > keysMax || !lines.every((line) => /^[0-9a-f]{64}$/i.test(line))) {
    throw new Error(`${file} must hold a master key: 64 hexadecimal digits.`)
  }
  return lines.map((line) => new SecretKey(Buffer.from(line, 'hex')))
}

/** Reads master keys, or makes the file first, which only its owner can read. For the sandbox. */
export async function readOrMakeMasterKeys(file: string): Promise<readonly SecretKey[]> {
  try {
    return await readMasterKeys(file)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await writeNewFile(file, `${randomBytes(32).toString('hex')}\n`)
    return readMasterKeys(file)
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/**
 * Durable before anything is enciphered under it, and whole or not there at all, however this process
 * ends. Of several that write at once the first is kept.
 */
async function writeNewFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
    await link(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    await handle.close()
    await unlink(draft)
  }
}
