import { randomBytes } from 'node:crypto'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { SecretKey } from './secret-key.ts'

/** Reads a master key: 64 hexadecimal digits. @throws Error that names the file, never its content. */
export async function readMasterKey(file: string): Promise<SecretKey> {
  const text = (await readFile(file, 'utf8')).trim()
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw new Error(`${file} must hold a master key: 64 hexadecimal digits.`)
  }
  return new SecretKey(Buffer.from(text, 'hex'))
}

/** Reads a master key, or makes the file first, which only its owner can read. For the sandbox. */
export async function readOrMakeMasterKey(file: string): Promise<SecretKey> {
  try {
    return await readMasterKey(file)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await writeNewFile(file, `${randomBytes(32).toString('hex')}\n`)
    return readMasterKey(file)
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
