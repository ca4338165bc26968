import { readFile } from 'node:fs/promises'
import { UsageError } from './cli-error.ts'

/**
 * What a file holds that was named on the command line.
 * @throws UsageError that names the file and nothing of its content, which may be a private key.
 */
export async function readJsonFile(path: string): Promise<object> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`${path} cannot be read.`, { cause })
  })
  const value = parsed(text)
  if (typeof value === 'object' && value !== null) return value
  throw new UsageError(`${path} must hold a JSON object.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
