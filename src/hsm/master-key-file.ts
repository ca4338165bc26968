import { randomBytes } from 'node:crypto'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { KeyRefusal } from './key-strength.ts'
import { SecretKey } from './secret-key.ts'

/** Master keys that a file may hold at once: the current one, and those of a rotation. */
const keysMax = 4

/**
 * Reads the master keys of a file, one a line: 64 hexadecimal digits each. Which of them is current
 * the database says; a new one is added to the file before a rotation, the old one taken out after it.
 * @throws KeyRefusal that names the file, never its content.
 */
export async function readMasterKeys(file: string): Promise<readonly SecretKey[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new KeyRefusal(`${file} cannot be read: ${codeOf(cause)}.`, { cause })
  })
  const lines = text.trim().split(/\s*\n\s*/)
  if (lines.length > keysMax || !lines.every((line) => /^[0-9a-f]{64}$/i.test(line))) {
    throw new KeyRefusal(
      `${file} must hold one to ${keysMax} master keys, each a line of 64 hexadecimal digits.`,
    )
  }
  return lines.map((line) => new SecretKey(Buffer.from(line, 'hex')))
}

/** Reads master keys, or makes the file first, which only its owner can read. For the sandbox. */
export async function readOrMakeMasterKeys(file: string): Promise<readonly SecretKey[]> {
  try {
    return await readMasterKeys(file)
  } catch (error) {
    if (!(error instanceof KeyRefusal) || codeOf(error.cause) !== 'ENOENT') throw error
    await writeNewFile(file, `${randomBytes(32).toString('hex')}\n`)
    return readMasterKeys(file)
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

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
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await handle.close()
    await unlink(draft)
  }
}
