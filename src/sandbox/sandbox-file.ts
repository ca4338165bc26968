import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxCredentials } from './seed.ts'

/**
 * The data that integrators need to call the sandbox, for programs. A separate module, so that the
 * command line and the demo do not import the seed.
 */
export interface SandboxFile extends SandboxCredentials {
  readonly baseUrl: string
  readonly privateUrl: string
  readonly processorPath: string
  readonly tokenEndpoint: string
  /** The people of the console; none with an outside issuer. */
  readonly people: readonly SandboxSignIn[]
}

/** A person of the sandbox. Anyone with the link signs in as that person. */
interface SandboxSignIn {
  readonly name: string
  readonly role: string
  readonly signInUrl: string
}

/** Writes `sandbox.json` atomically, readable by its owner only. @returns its path. */
export async function writeSandboxFile(folder: string, content: SandboxFile): Promise<string> {
  const file = join(folder, 'sandbox.json')
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, file)
  return file
}

/**
 * Reads the file that the sandbox wrote to a data directory, or returns null when it does not
 * exist.
 */
export async function readSandboxFile(dataDir: string): Promise<SandboxFile | null> {
  const text = await readFile(join(dataDir, 'sandbox.json'), 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as SandboxFile)
}
