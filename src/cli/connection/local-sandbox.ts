import { readSandboxFile, type SandboxFile } from '../../sandbox/sandbox-file.ts'
import { readConfig } from '../../service/config/config.ts'
import { Unreachable, UsageError } from '../command.ts'

/**
 * Returns the addresses and the clients of the sandbox that runs on this machine.
 * @throws UsageError in production; Unreachable when no sandbox runs.
 */
export async function findLocalSandbox(): Promise<SandboxFile> {
  const { dataDir, sandbox } = readConfig()
  if (!sandbox) throw new UsageError('Scenarios run in a sandbox only.')
  const file = await readSandboxFile(dataDir)
  const signal = AbortSignal.timeout(10_000)
  const answer = file && (await fetch(`${file.privateUrl}/readyz`, { signal }).catch(() => null))
  if (file && answer?.ok) return file
  throw new Unreachable(`No sandbox runs on ${dataDir}. Start one: npx pinfold start`)
}
