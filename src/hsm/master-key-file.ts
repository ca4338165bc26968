import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
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
    if (!isMissing(error)) throw error
    await writeNewFile(file, `${randomBytes(32).toString('hex')}\n`)
    return readMasterKey(file)
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Durable before anything is enciphered under it. */
async function writeNewFile(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
