/**
 * A server in this process, for commands to find as they find any other: by the lock on its data
 * directory.
 */
import { readSandboxFile, type SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { createLog } from '../../src/service/log.ts'
import { runService } from '../../src/service/run.ts'
import { freePorts } from '../support/free-ports.ts'
import {
  askToken,
  makeMigratedFolder,
  type Program,
  request,
  servedHere,
} from '../support/process.ts'

/**
 * What `startProgram` starts, but for its process, which costs as much again as all that is asked
 * of it.
 */
export type ServedProgram = Pick<
  Program,
  'baseUrl' | 'call' | 'dataDir' | 'privateUrl' | 'sandbox' | 'token'
> & {
  /** As a signal stops it: what runs is finished, and the data directory is free. */
  stop: () => Promise<void>
}

/**
 * @param dataDir of one that was stopped; without it, a new one that is removed after the tests.
 */
export const serveProgram = async ({
  dataDir,
  env = {},
}: {
  dataDir?: string
  env?: Readonly<Record<string, string>>
} = {}): Promise<ServedProgram> => {
  const folder = dataDir ?? (await makeMigratedFolder())
  const [port, privatePort] = await freePorts()
  const config = readConfig({
    DATA_DIR: folder,
    LINK_PORT: '0',
    LOG_LEVEL: 'silent',
    // Each command asks for a token, and in one process they follow each other faster than anybody
    // starts programs.
    TOKEN_RATE_PER_SECOND: '1000',
    TOKEN_RATE_BURST: '1000',
    PORT: String(port),
    PRIVATE_PORT: String(privatePort),
    ...env,
  })
  const service = await runService(config, createLog(config.logLevel)).catch((error: unknown) => {
    // Between the choice of a port and its use another process may have taken it.
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
  })
  if (service === null) return serveProgram({ dataDir: folder, env })
  const stop = async () => {
    if (servedHere.delete(stop)) await service.stop()
  }
  servedHere.add(stop)
  const sandbox: SandboxFile | null = await readSandboxFile(folder)
  if (!sandbox) throw new Error('This is no sandbox.')
  return {
    dataDir: folder,
    baseUrl: config.baseUrl,
    privateUrl: config.privateUrl,
    sandbox,
    token: (scope) => askToken(sandbox, scope),
    call: (method, path, call) => request(config.baseUrl, method, path, call),
    stop,
  }
}
